"""New-crawl sensors on a real instance, with a real HTTP source."""

import functools
import http.server
import threading

import dagster as dg
import pytest

from crawl_urn_dagster.collection import Collection
from crawl_urn_dagster.sensors import MAX_ATTEMPTS
from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster_tests.collections_for_tests import histories, pairs_frame
from crawl_urn_dagster_tests.line import Line

pytestmark = pytest.mark.slow


class Source:
    """A pair table behind an HTTP address; it can be republished, and go down."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
        handler.log_message = lambda *_: None
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/pairs.csv"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def publish(self, n_crawls, seed=7):
        counts = histories(n_crawls, seed=seed).counts()
        partial = self.folder / "partial"
        pairs_frame(counts.intersections(), n_crawls).to_csv(partial, index=False)
        partial.replace(self.folder / "pairs.csv")

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def source(tmp_path):
    source = Source(tmp_path / "www")
    yield source
    source.close()


@pytest.fixture
def line(tmp_path, source):
    collection = Collection.model_validate(
        {
            "name": "remote",
            "granularity": "other",
            "source": {"type": "observable_tables", "pairs": source.url},
        }
    )
    return Line(collection, tmp_path)


def tick(line):
    """What the sensor asks for: a run request, or the reason why not."""
    sensor = line.defs.resolve_sensor_def("remote_new_crawl")
    with dg.build_sensor_context(
        instance=line.instance, resources={"remote_home": line.home}, definitions=line.defs
    ) as context:
        result = sensor.evaluate_tick(context)
    return result.run_requests[0] if result.run_requests else result.skip_message


def launch(line, request):
    """Run what was requested, with the request's tags, as the daemon does."""
    return line.run(tags=request.tags)


def test_what_was_never_materialised_is_new(line, source):
    source.publish(8)
    request = tick(line)
    assert request.run_key.endswith("-1")
    assert launch(line, request).success


def test_nothing_new_is_skipped_with_what_is_there(line, source):
    source.publish(8)
    launch(line, tick(line))
    assert tick(line).startswith("Nothing new: 8 crawls to 2020-07-20, content ")


def test_a_new_crawl_and_a_revision_are_each_requested_once(line, source):
    source.publish(8)
    launch(line, tick(line))
    source.publish(9)
    request = tick(line)
    launch(line, request)
    assert len(line.home.observables.read("crawls")) == 9
    assert isinstance(tick(line), str)

    source.publish(9, seed=8)
    revision = tick(line)
    assert revision.run_key != request.run_key
    launch(line, revision)
    assert isinstance(tick(line), str)


def test_content_that_comes_back_is_new_again_under_another_key(line, source):
    keys = []
    for seed in (7, 8, 7):
        source.publish(8, seed=seed)
        request = tick(line)
        keys.append(request.run_key)
        launch(line, request)
    assert len(set(keys)) == 3


def test_a_failed_run_is_asked_for_again_and_then_left_to_a_person(line, source, tmp_path):
    source.publish(8)
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "remote").write_text("a file where the folder should be")
    keys = []
    for _ in range(MAX_ATTEMPTS):
        request = tick(line)
        keys.append(request.run_key)
        assert not launch(line, request).success
    assert len(set(keys)) == MAX_ATTEMPTS
    assert f"but {MAX_ATTEMPTS} runs of it failed" in tick(line)

    (tmp_path / "home" / "remote").unlink()
    assert line.run().success  # by hand
    assert tick(line).startswith("Nothing new")


def test_a_run_under_way_is_waited_for(line, source):
    source.publish(8)
    job = line.defs.resolve_job_def("remote_update")
    run = line.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert run.run_id in tick(line)


def test_a_collection_that_is_violated_is_not_asked_for_again(tmp_path, source):
    counts_of = histories(12).counts()
    pairs = pairs_frame(counts_of.intersections(), 12)
    lag_one = (pairs["crawl_j"].astype("datetime64[s]") - pairs["crawl_i"].astype("datetime64[s]")).dt.days == 28
    pairs.loc[lag_one, "intersection"] //= 10
    pairs.to_csv(source.folder / "pairs.csv", index=False)
    collection = Collection.model_validate(
        {
            "name": "remote",
            "granularity": "other",
            "source": {"type": "observable_tables", "pairs": source.url},
        }
    )
    line = Line(collection, tmp_path)
    assert not launch(line, tick(line)).success
    assert line.outcome.errors == ()
    assert tick(line).startswith("Nothing new")


def test_an_outage_is_an_error_and_not_a_skip(line, source):
    source.publish(8)
    launch(line, tick(line))
    source.close()
    with pytest.raises((OSError, SourceError), match=r"pairs\.csv"):
        tick(line)


def test_a_source_that_publishes_nonsense_is_an_error(line, source):
    (source.folder / "pairs.csv").write_text("<html>maintenance</html>")
    with pytest.raises(SourceError, match=r"pairs\.csv"):
        tick(line)
