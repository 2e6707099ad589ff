"""Ingests crawls and counts their histories in processes that are killed at random moments; prints what came of it.

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
    """Elements of a crawl, others in each revision."""
    low = 2_000 * CRAWLS.index(crawl) + 500 * revision
    return np.array([f"https://example.org/{number}" for number in range(low, low + 10_000)], dtype=object)


def work(folder, revision):
    """Bring a folder to a revision, doing again only what is not done."""
    presence = PresenceFolder(folder / "presence")
    outdated = presence.outdated(dict.fromkeys(CRAWLS, str(revision)), 1)
    captures = ((crawl, elements(crawl, revision), True) for crawl in outdated)
    list(presence.write(captures, dict.fromkeys(outdated, str(revision))))
    # As crawls arrive: some are looked up, then a base is written again.
    for some in range(4, len(CRAWLS) + 1):
        counts = KeptHistories(folder / "state").count(presence.read_all(CRAWLS[:some]), memory_bytes=2**20)
    return counts


def digest(folder, revision):
    """Everything that came out, as a hash."""
    counts = work(folder, revision)
    order = np.lexsort(counts.seen.T)
    contents = [partition.content for partition in PresenceFolder(folder / "presence").read_all(CRAWLS)]
    text = json.dumps([contents, counts.seen[order].tolist(), counts.elements[order].tolist()])
    return hashlib.sha256(text.encode()).hexdigest()


def observe(folder):
    """Fail unless every file that is there under its final name is whole."""
    presence, state = PresenceFolder(folder / "presence"), folder / "state"
    for path in presence.folder.glob("[!.]*"):
        partition = presence.read(path.stem)
        keys = read_keys(partition, LOWEST_KEY, 2**63 - 1)
        assert hashlib.sha256(keys).hexdigest() == partition.content, f"{path} is not whole"
    if (state / "manifest.json").exists():
        held = KeptHistories(state)._read_manifest()
        assert held.rows > 0, "the manifest names files that are not whole"


def forked(job):
    """Run a job in a process of its own; return its number."""
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


def ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main(folder, kills):
    rng = random.Random(1)
    element_keys(["a"])  # loads pandas here, so that no child spends its life on that
    (folder / "calm").mkdir()
    started = time.monotonic()
    assert ended_well(forked(lambda: work(folder / "calm", 0)))
    longest = time.monotonic() - started
    killed = 0
    for attempt in range(20 * kills):
        revision = attempt // 10
        child = forked(lambda revision=revision: work(folder, revision))
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        killed += not ended_well(child)
        assert ended_well(forked(lambda: observe(folder)))
        if killed >= kills:
            break
    last = attempt // 10
    (folder / "fresh").mkdir()
    found = digest(folder, last)
    partial = [str(path) for name in ("presence", "state") for path in (folder / name).glob(".*partial")]
    print(json.dumps({"killed": killed, "equal": found == digest(folder / "fresh", last), "partial": partial}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
