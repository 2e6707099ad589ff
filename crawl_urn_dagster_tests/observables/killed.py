"""Ingest crawls and count their histories in processes that are killed at random moments, and print the result.

``python -m crawl_urn_dagster_tests.observables.killed FOLDER KILLS``
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from crawl_urn_dagster.observables import kept_histories
from crawl_urn_dagster.observables.kept_histories import KeptHistories
from crawl_urn_dagster.observables.keys import LOWEST_KEY, element_keys
from crawl_urn_dagster.observables.presence import PresenceFolder, read_keys

kept_histories._ROWS_PER_BLOCK = 2**11
CRAWLS = [f"c{number}" for number in range(8)]


def elements(crawl, revision):
    """Return the elements of a crawl, which differ between revisions."""
    low = 2_000 * CRAWLS.index(crawl) + 500 * revision
    return np.array([f"https://example.org/{number}" for number in range(low, low + 10_000)], dtype=object)


def work(folder, revision):
    """Bring a folder to a revision; completed steps are not repeated."""
    presence = PresenceFolder(folder / "presence")
    outdated = presence.outdated(dict.fromkeys(CRAWLS, str(revision)), 1)
    captures = ((crawl, elements(crawl, revision), True) for crawl in outdated)
    list(presence.write(captures, dict.fromkeys(outdated, str(revision))))
    # Crawls arrive one by one: some are looked up, then a new base is written.
    for some in range(4, len(CRAWLS) + 1):
        counts = KeptHistories(folder / "state").count(presence.read_all(CRAWLS[:some]), memory_bytes=2**20)
    return counts


def digest(folder, revision):
    """Return a hash of all partitions and counts."""
    counts = work(folder, revision)
    order = np.lexsort(counts.seen.T)
    contents = [partition.content for partition in PresenceFolder(folder / "presence").read_all(CRAWLS)]
    text = json.dumps([contents, counts.seen[order].tolist(), counts.elements[order].tolist()])
    return hashlib.sha256(text.encode()).hexdigest()


def observe(folder):
    """Fail unless every file under its final name is complete."""
    presence, state = PresenceFolder(folder / "presence"), folder / "state"
    for path in presence.folder.glob("[!.]*"):
        partition = presence.read(path.stem)
        keys = read_keys(partition, LOWEST_KEY, 2**63 - 1)
        assert hashlib.sha256(keys).hexdigest() == partition.content, f"{path} is not complete"
    if (state / "manifest.json").exists():
        held = KeptHistories(state)._read_manifest()
        assert held.rows > 0, "the manifest names incomplete files"


def forked(job):
    """Run a job in a child process and return its process id."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            job()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def exited_with_0(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main(folder, kills):
    rng = random.Random(1)
    element_keys(["a"])  # Loads pandas before the forks, so children spend their time on the work.
    (folder / "calm").mkdir()
    started = time.monotonic()
    assert exited_with_0(forked(lambda: work(folder / "calm", 0)))
    longest = time.monotonic() - started
    killed = 0
    for attempt in range(20 * kills):
        revision = attempt // 10
        child = forked(lambda revision=revision: work(folder, revision))
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        killed += not exited_with_0(child)
        assert exited_with_0(forked(lambda: observe(folder)))
        if killed >= kills:
            break
    last = attempt // 10
    (folder / "fresh").mkdir()
    found = digest(folder, last)
    partial = [str(path) for name in ("presence", "state") for path in (folder / name).glob(".*partial")]
    print(json.dumps({"killed": killed, "equal": found == digest(folder / "fresh", last), "partial": partial}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
