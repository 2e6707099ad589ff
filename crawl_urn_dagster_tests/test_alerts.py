"""Alerts on a real instance, to a real HTTP receiver."""

import http.server
import json
import threading

import dagster as dg
import pytest

from crawl_urn_dagster.alerts import AlertError, alert_payload, post_alert
from crawl_urn_dagster.build import build_defs
from crawl_urn_dagster.outcomes import FailedCheck, Outcome
from crawl_urn_dagster_tests.collections_for_tests import (
    avoiding_histories,
    histories,
    presence_collection,
    tables_collection,
)
from crawl_urn_dagster_tests.line import Line

pytestmark = pytest.mark.slow


class Receiver:
    """A webhook that keeps what it was sent, and answers from a list of statuses, then 200."""

    def __init__(self):
        self.received, self.answers = [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.received.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook/s3cret"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def tick(line, webhook, status):
    """Evaluate the collection's alert sensor on the run that just ended, as the daemon does."""
    defs = build_defs([line.collection], home=line.home.path.parent, webhook=webhook)
    name = f"{line.collection.name}_alert_on_{status}"
    sensor = defs.resolve_sensor_def(name)
    run = line.instance.get_runs(limit=1)[0]
    kind = dg.DagsterEventType.RUN_SUCCESS if status == "success" else dg.DagsterEventType.RUN_FAILURE
    (record,) = line.instance.get_records_for_run(run.run_id, of_type=kind).records
    with dg.build_run_status_sensor_context(
        sensor_name=name,
        dagster_event=record.event_log_entry.dagster_event,
        dagster_instance=line.instance,
        dagster_run=run,
    ) as context:
        return sensor(context), run


PAYLOAD = alert_payload(
    "demo", "run-1", "demo_update", Outcome((FailedCheck("demo/drift", "kappa_drift", "WARN", "κ moved"),), ())
)


def test_a_finding_is_posted_once_with_its_reason(tmp_path, receiver):
    line = Line(presence_collection(tmp_path, avoiding_histories(), name="avoiding"), tmp_path)
    line.run()
    _, run = tick(line, receiver.url, "failure")
    (payload,) = receiver.received
    assert payload["run_id"] == run.run_id
    assert payload["errors"] == []
    headline = next(check for check in payload["failed_checks"] if check["check"] == "headline_fit")
    assert headline["severity"] == "ERROR"
    assert "model_violation" in headline["description"]
    assert "headline_fit" in payload["text"]


def test_warnings_of_a_run_that_succeeded_are_posted(tmp_path, receiver):
    line = Line(tables_collection(tmp_path, histories(12), pairs=False), tmp_path)
    line.run()
    expected = {check.check for check in line.outcome.failed_checks}
    assert "discovery_curve_core_shell_exact_per_crawl" in expected  # twelve crawls do not identify it
    tick(line, receiver.url, "success")
    (payload,) = receiver.received
    assert {check["check"] for check in payload["failed_checks"]} == expected


def test_an_error_is_posted_as_one(tmp_path, receiver):
    collection = presence_collection(tmp_path)
    (tmp_path / "listed.csv.gz").unlink()
    line = Line(collection, tmp_path)
    line.run()
    tick(line, receiver.url, "failure")
    (payload,) = receiver.received
    assert "listed.csv.gz" in payload["errors"][0]
    assert payload["text"].startswith("listed: 1 errors, 0 failed checks")


def test_without_an_address_the_sensor_says_so(tmp_path):
    line = Line(presence_collection(tmp_path, avoiding_histories(), name="avoiding"), tmp_path)
    line.run()
    skipped, _ = tick(line, None, "failure")
    assert skipped.skip_message == "No webhook address is set."


def test_a_busy_receiver_is_tried_again(receiver):
    receiver.answers = [503, 429]
    post_alert(receiver.url, PAYLOAD)
    assert receiver.received == [json.loads(json.dumps(PAYLOAD))]


@pytest.mark.parametrize("status", [400, 404, 410])
def test_an_alert_that_is_not_taken_raises_without_the_address(receiver, status):
    receiver.answers = [status]
    with pytest.raises(AlertError, match=rf"run run-1 was not taken: the receiver answered {status}") as raised:
        post_alert(receiver.url, PAYLOAD)
    assert "s3cret" not in str(raised.value)


def test_a_receiver_out_of_reach_raises_without_the_address(receiver):
    receiver.close()
    with pytest.raises(AlertError, match="was not delivered: ConnectionError") as raised:
        post_alert(receiver.url, PAYLOAD)
    assert "s3cret" not in str(raised.value)
    assert raised.value.__suppress_context__
