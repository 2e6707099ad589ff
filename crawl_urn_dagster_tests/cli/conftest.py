"""One run of the command, shared by the tests of this folder, and the command in this process."""

import os

import pytest
from click.testing import CliRunner

from crawl_urn_dagster.cli.main import main
from crawl_urn_dagster.figures import files
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster.processes import PROCESSES
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.command import configure, crawl_urn
from crawl_urn_dagster_tests.sharing import make_once
from crawl_urn_dagster_tests.unflushed.sitecustomize import draw_nothing

N_CRAWLS, URN = 10, 1_000


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run the command in this process, in an empty folder and with empty figures, and restore the environment."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("CRAWL_URN", "DAGSTER")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "draw", draw_nothing)
    monkeypatch.setenv(PROCESSES, "1")
    yield lambda *arguments, **values: CliRunner().invoke(main, [str(one) for one in arguments], env=values)
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def command_run(tmp_path_factory, worker_id):
    """The folder and result of one run of two collections: a list that the model fits, and counts that it does not fit.

    Nine of the ten crawls of the first were ingested before, and the second has a figure of an earlier update. All test
    processes share the run.
    """
    return make_once(tmp_path_factory, worker_id, "command", _run)


def _run(folder):
    fitting = presence_collection(folder, histories(N_CRAWLS, urn=URN), name="fitting", owners=["team:crawling"])
    avoiding = tables_collection(folder, avoiding_histories(N_CRAWLS, urn=URN), name="avoiding")
    home = CollectionHome(folder=str(folder / "home"), collection=fitting.name)
    revisions = fitting.source.list_crawls(home.files, fitting.selection).revisions
    earlier = list(revisions)[:-1]
    written = home.presence.write(
        fitting.source.captures(home.files, earlier), {crawl: revisions[crawl] for crawl in earlier}
    )
    assert len(list(written)) == N_CRAWLS - 1
    stale = CollectionHome(folder=home.folder, collection=avoiding.name).figures
    stale.mkdir(parents=True)
    for suffix in files.SUFFIXES:
        (stale / f"core_shell_fits{suffix}").write_bytes(b"of an earlier update")
    return crawl_urn("run", "--collections", configure(folder, fitting, avoiding), "--home", "home", cwd=folder)
