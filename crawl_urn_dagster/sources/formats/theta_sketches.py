"""Read crawls from theta sketches of Apache DataSketches, one file per crawl, and write such sketches.

A sketch keeps the hashes of all elements of a crawl that are below its threshold θ, so sketches of several crawls are a
coordinated sample of elements. Does not count; see `observables`.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote, unquote

from pydantic import PrivateAttr

from crawl_urn_dagster.sources.calendar import check_label, check_starts, date_crawls, fetch_calendar, select_crawls
from crawl_urn_dagster.sources.errors import SourceError
from crawl_urn_dagster.sources.formats.crawl_in_path import crawl_in_path, label_of_file
from crawl_urn_dagster.sources.input_files import fingerprint
from crawl_urn_dagster.sources.interface import Captures, Listing, PresenceSource, Sample
from crawl_urn_dagster.sources.transport.locations import Location  # noqa: TC001 - the type of a field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from crawl_urn_dagster.sources.calendar import Selection
    from crawl_urn_dagster.sources.input_files import LocalFile
    from crawl_urn_dagster.sources.transport.files import Files

#: Ending of the sketches that `ThetaWriter` writes.
ENDING = ".theta"
# Hashes and θ have 63 bits.
_HASHES = 2**63
_EMPTY_BYTES = 8
_COMPACT = 3
_FAMILIES = {1: "alpha", 2: "updatable theta", 7: "HyperLogLog", 8: "quantiles", 9: "tuple", 15: "KLL", 16: "CPC"}
_BIG_ENDIAN = 1
_SEED_HASH = slice(6, 8)


class Sketch(NamedTuple):
    """A theta sketch.

    Attributes
    ----------
    keys
        Keys of 64 bits of the retained elements, shape (n,): hash h of 63 bits as 2 h - 2^63, so the lowest part of the
        hashes is the lowest part of the keys.
    theta
        Threshold as a fraction of all hashes, in (0, 1].
    seed_hash
        Hash of the seed of the hash function.
    """

    keys: npt.NDArray[np.int64]
    theta: float
    seed_hash: int

    @property
    def one_in(self) -> int:
        """Smallest whole k for which the sketch has all elements of the lowest k-th part of the keys."""
        return math.ceil(1 / self.theta)


def parse_sketch(data: bytes, location: str) -> Sketch:
    """Parse a compact theta sketch, or its text in base64.

    Raises
    ------
    SourceError
        When the library datasketches is not installed, or the data are not a compact theta sketch.
    """
    import numpy as np

    library = _library()
    data = _decoded(data)
    if len(data) < _EMPTY_BYTES or not 1 <= data[0] & 0x3F <= 4 or not 1 <= data[1] <= 4:
        raise SourceError(f"{location}: is not a sketch of Apache DataSketches; expected a compact theta sketch")
    if data[2] != _COMPACT:
        kind = _FAMILIES.get(data[2], f"family {data[2]}")
        raise SourceError(f"{location}: is a sketch of the kind {kind}, expected compact theta; convert it")
    if data[5] & _BIG_ENDIAN:
        raise SourceError(f"{location}: is a sketch in big-endian order, expected little-endian; convert it")
    found = int.from_bytes(data[_SEED_HASH], "little")
    # The seed is only needed to add elements, and the library refuses sketches of another seed.
    own = library.update_theta_sketch(lg_k=5).get_seed_hash().to_bytes(2, "little")
    try:
        sketch = library.compact_theta_sketch.deserialize(data[: _SEED_HASH.start] + own + data[_SEED_HASH.stop :])
        hashes = np.fromiter(sketch, dtype=np.uint64, count=sketch.num_retained)
        theta = int(sketch.theta64)
    except (ValueError, IndexError, RuntimeError, MemoryError) as error:
        raise SourceError(f"{location}: is a damaged theta sketch: {error}; write it again") from error
    if not 0 < theta <= _HASHES or not np.all((hashes > 0) & (hashes < theta)):
        raise SourceError(f"{location}: is a damaged theta sketch: hashes are not below θ; write it again")
    keys = ((hashes << np.uint64(1)) ^ np.uint64(_HASHES)).view(np.int64)
    # The library writes 2^63 - 1 for θ = 1.
    return Sketch(keys, 1.0 if theta >= _HASHES - 1 else theta / _HASHES, found)


def _decoded(data: bytes) -> bytes:
    """Return the bytes of base64 if the data are that, as SQL tools export binary values."""
    if data[2:3] == bytes([_COMPACT]):
        return data
    try:
        return base64.b64decode(data.strip(), validate=True)
    except binascii.Error:
        return data


def _library() -> Any:
    try:
        import datasketches
    except ImportError as error:
        raise SourceError("theta sketches need datasketches; install crawl-urn-dagster[theta]") from error
    return datasketches


class ThetaWriter:
    """Sketch the elements of one crawl.

    Parameters
    ----------
    lg_k
        Base-2 logarithm of the number of elements that the sketch keeps, from 5 to 26.
    """

    def __init__(self, lg_k: int) -> None:
        self._sketch = _library().update_theta_sketch(lg_k=lg_k)

    def add(self, elements: npt.NDArray[np.object_]) -> None:
        """Add elements; repeated elements do not change the sketch."""
        update = self._sketch.update
        for element in elements:
            update(element)

    def compact(self) -> bytes:
        """Return the compact sketch of at most 2 to the power of `lg_k` elements."""
        self._sketch.trim()
        data: bytes = self._sketch.compact().serialize()
        return data

    @property
    def one_in(self) -> int:
        """Inverse of the sampling fraction, rounded up."""
        return math.ceil(1 / float(self._sketch.theta))


def file_name(crawl: str) -> str:
    """Return the name of the sketch of a crawl."""
    return f"{quote(crawl, safe=' +')}{ENDING}"


class ThetaSketchesSource(PresenceSource):
    """Theta sketches of crawls, one file per crawl, as Apache DataSketches writes them in the compact form.

    The collection needs `sample_one_in`: the part of the hashes of which every sketch has all elements.

    Parameters
    ----------
    path
        One file, a folder, a glob, or an address. A file holds one sketch, binary or as base64; its crawl is stated by
        the names of its path, see `crawl_in_path`.
    calendar
        Start of each crawl: CSV with columns ``id, from``. None: labels are dates or Common Crawl ids.

    References
    ----------
    Dasgupta, Lang, Rhodes and Thaler, "A framework for estimating stream expression cardinalities", ICDT 2016.

    Apache DataSketches, "Theta sketch framework", https://datasketches.apache.org/docs/Theta/ThetaSketchFramework.html.

    Examples
    --------
    >>> from crawl_urn_dagster.sources import ThetaSketchesSource
    >>> ThetaSketchesSource(path="sketches/*.theta", calendar="sketches/crawls.csv").has_texts
    False
    """

    location_fields: ClassVar[tuple[str, ...]] = ("path", "calendar")
    has_texts: ClassVar[bool] = False

    type: Literal["theta_sketches"] = "theta_sketches"
    path: Location
    calendar: Location | None = None
    _sample: Sample | None = PrivateAttr(default=None)

    def list_crawls(self, files: Files, selection: Selection) -> Listing:
        """List the selected crawls; their sketches must have one hash function."""
        calendar, inputs = fetch_calendar(files, self.calendar)
        by_crawl = self._files_by_crawl(files)
        crawls = select_crawls(date_crawls(by_crawl, where=self.path, calendar=calendar), selection, self.path)
        check_starts(crawls, self.path)
        sketches = {crawl.crawl: _read(by_crawl[crawl.crawl]) for crawl in crawls}
        self._check_seeds(sketches)
        return Listing(
            tuple(crawls),
            (*(by_crawl[crawl].input for crawl in sketches), *inputs),
            {crawl: fingerprint((by_crawl[crawl].input,)) for crawl in sketches},
            {crawl: len(sketch.keys) for crawl, sketch in sketches.items()},
            {"sketches_least_sample_one_in": max(sketch.one_in for sketch in sketches.values())},
        )

    def with_sample(self, sample: Sample) -> Self:
        """Return a source that checks whether its sketches have all elements of a sample."""
        source = self.model_copy()
        source._sample = sample
        return source

    def captures(self, files: Files, crawls: Sequence[str]) -> Iterator[Captures]:
        """Read the keys of some crawls.

        Raises
        ------
        SourceError
            When a sketch does not have all elements of the sample.
        """
        by_crawl = self._files_by_crawl(files)
        one_in = 1 if self._sample is None else self._sample.one_in
        sketches = {crawl: _read(by_crawl[crawl]) for crawl in crawls}
        needed = max((sketch.one_in for sketch in sketches.values()), default=1)
        if needed > one_in:
            widest = max(sketches, key=lambda crawl: sketches[crawl].one_in)
            raise SourceError(
                f"{by_crawl[widest].input.location}: has θ = {sketches[widest].theta:.6g}, so it has all elements of a "
                f"sample of one in {needed:,}, but sample_one_in is {one_in:,}; set sample_one_in: {needed}"
            )
        for crawl, sketch in sketches.items():
            keys: npt.NDArray[Any] = sketch.keys
            yield Captures(crawl, keys, complete=True)

    def _files_by_crawl(self, files: Files) -> dict[str, LocalFile]:
        known = fetch_calendar(files, self.calendar)[0] or {}
        raw = files.fetch_all(self.path)
        locations = [local.input.location for local in raw]
        by_crawl: dict[str, LocalFile] = {}
        for local in raw:
            location = local.input.location
            label = crawl_in_path(self.path, location, locations, known=known)
            crawl = check_label(unquote(label_of_file(self.path, location, label)), location)
            if crawl in by_crawl:
                raise SourceError(
                    f"{by_crawl[crawl].input.location} and {location}: are both sketches of crawl {crawl}, expected "
                    "one per crawl; write their union, or remove one"
                )
            by_crawl[crawl] = local
        return by_crawl

    def _check_seeds(self, sketches: dict[str, Sketch]) -> None:
        """Reject sketches of different seeds, whose hashes have nothing in common."""
        crawls: dict[int, str] = {}
        for crawl, sketch in sketches.items():
            crawls.setdefault(sketch.seed_hash, crawl)
        if len(crawls) > 1:
            found = " and ".join(f"{seed:#06x} ({crawl})" for seed, crawl in list(crawls.items())[:2])
            raise SourceError(
                f"{self.path}: sketches have hash functions of different seeds: found the seed hashes {found}; write "
                "all sketches with one seed"
            )


def _read(local: LocalFile) -> Sketch:
    return parse_sketch(local.path.read_bytes(), local.input.location)
