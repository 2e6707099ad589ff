"""Set aside the crawls of sources whose files only a run reads, and record them for the next listing.

Does not read files; see `count_files` and `columnar_index`.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar

from pydantic import PrivateAttr

from crawl_urn_dagster.sources.common_crawl.per_crawl_files import unpublished_finding
from crawl_urn_dagster.sources.errors import DamagedError, SourceError
from crawl_urn_dagster.sources.formats.quarantine import Failure, quarantined_crawls
from crawl_urn_dagster.sources.input_files import InputFile
from crawl_urn_dagster.sources.interface import Captures, Listing, PresenceSource, Quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import DatedCrawl
    from crawl_urn_dagster.sources.transport.files import Files

T = TypeVar("T")

# A crawl whose files cannot be fetched is tried again after a day.
_TRIED_AGAIN_SECONDS = 86_400
# So many crawls that cannot be found before any other are an outage, and each takes up to the deadline.
_OUTAGE = 3


class FailedFileError(Exception):
    """Raised when a file of a crawl cannot be read, with its description."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.error))
        self.failure = failure


@contextmanager
def attributing(location: str, errors: type[SourceError] = SourceError) -> Iterator[None]:
    """Attribute errors of a source, or damaged content only, to a file.

    Raises
    ------
    FailedFileError
        If one of these errors is raised.
    """
    try:
        yield
    except errors as error:
        raise FailedFileError(Failure.while_fetching(location, error)) from error


class RunReadSource(PresenceSource):
    """A source whose listing names the crawls and whose files are read by a run.

    A run that cannot read a file of a crawl records it, under the revision of the crawl and the identity of the file,
    and reads the other crawls. Listings set the crawl aside until the revision or the file changes.
    """

    _quarantine: Quarantine = PrivateAttr(default="none")

    def with_quarantine(self, quarantine: Quarantine) -> Self:
        """Return a source that sets unreadable crawls aside."""
        source = self.model_copy()
        source._quarantine = quarantine
        return source

    def _identity(self, files: Files, location: str) -> str:
        """Return a text that changes when a file is replaced; it may be requested, but not downloaded."""
        raise NotImplementedError

    def _find(self, find: Callable[[str], T], failed: dict[str, Failure]) -> Callable[[str], T | None]:
        """Return a function that finds the files of a crawl; for a crawl to set aside, it adds to `failed`."""
        found = 0

        def find_or_set_aside(crawl: str) -> T | None:
            nonlocal found
            try:
                result = find(crawl)
            except FailedFileError as error:
                failure = error.failure
                is_outage = len(failed) + 1 >= _OUTAGE and not found
                if is_outage or not failure.is_allowed(self._quarantine):
                    raise failure.error from error
                failed[crawl] = failure._replace(crawl=crawl)
                return None
            found += 1
            return result

        return find_or_set_aside

    def _listing(
        self,
        files: Files,
        crawls: Sequence[DatedCrawl],
        published: Mapping[str, InputFile],
        revisions: Mapping[str, str],
        *,
        failed: Mapping[str, Failure],
        other_inputs: Sequence[InputFile],
    ) -> Listing:
        """Return the listing of published crawls without those that cannot be read.

        Raises
        ------
        SourceError
            The first failure, if more than half of the crawls cannot be read.
        """
        recorded = {crawl: found for crawl in published if (found := self._recorded(files, crawl, revisions[crawl]))}
        set_aside = {**failed, **recorded}
        if 2 * len(set_aside) > len(published.keys() | set_aside):
            raise next(iter(set_aside.values())).error
        readable = [crawl for crawl in crawls if crawl.crawl in published and crawl.crawl not in set_aside]
        labels = [crawl.crawl for crawl in readable]
        return Listing(
            tuple(readable),
            (
                *(published[label] for label in labels),
                *(failure.input for failure in set_aside.values()),
                *other_inputs,
            ),
            {label: revisions[label] for label in labels},
            findings=unpublished_finding([crawl.crawl for crawl in crawls], published.keys() | set_aside),
            quarantined=quarantined_crawls(set_aside, crawls, crawls),
        )

    def _captures_or_failure(
        self, files: Files, crawl: str, revision: Callable[[], str], captures: Iterator[Captures]
    ) -> Iterator[Captures]:
        """Yield the captures of a crawl; if a file cannot be read, record that and set the crawl aside."""
        try:
            yield from captures
        except FailedFileError as error:
            failure = error.failure
            if not failure.is_allowed(self._quarantine):
                raise failure.error from error
            files.report(f"{crawl} is set aside: {failure.error}")
            try:
                self._record(files, crawl, revision(), failure)
            except FailedFileError:  # The crawl is not listed any more, so the next listing finds the reason.
                raise failure.error from error
            yield Captures.set_aside(crawl)

    def _record_key(self, crawl: str) -> str:
        # Another version of the package may read the file.
        return repr(("failed crawl", version("crawl-urn-dagster"), self.model_dump_json(), crawl))

    def _record(self, files: Files, crawl: str, revision: str, failure: Failure) -> None:
        location = failure.input.location
        with suppress(SourceError):  # A file without identity is tried again after a day.
            failure = failure._replace(input=InputFile(location, 0, self._hash(self._identity(files, location))))
        content = json.dumps(
            {"kind": failure.kind, "location": location, "sha256": failure.input.sha256, "message": str(failure.error)}
        )

        def write(target: Path) -> None:
            target.write_text(content, encoding="utf-8")

        earlier = files.derived(self._record_key(crawl), revision)
        if earlier:
            earlier.unlink()
        files.derive(self._record_key(crawl), revision, write)

    def _recorded(self, files: Files, crawl: str, revision: str) -> Failure | None:
        """Return the recorded failure of a crawl, unless it is void: the file has changed, or is due again."""
        path = files.derived(self._record_key(crawl), revision) if self._quarantine != "none" else None
        if path is None:
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        location = found["location"]
        damaged = found["kind"] == "damaged"
        identity = InputFile(location, 0, found["sha256"])
        failure = Failure(found["kind"], (DamagedError if damaged else SourceError)(found["message"]), identity, crawl)
        is_due = not damaged and time.time() > path.stat().st_mtime + _TRIED_AGAIN_SECONDS
        if is_due or not failure.is_allowed(self._quarantine):
            return None
        with suppress(SourceError):  # It still cannot be fetched.
            return failure if self._hash(self._identity(files, location)) == identity.sha256 else None
        return failure

    @staticmethod
    def _hash(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()
