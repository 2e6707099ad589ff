"""Delivery of alerts to HTTP receivers."""

import logging

import pytest

from crawl_urn_dagster.orchestration.alerts.delivery import AlertError, deliver
from crawl_urn_dagster.orchestration.alerts.records import Alert
from crawl_urn_dagster_tests.orchestration.alerts.evaluating import run_check, set_drift, tick

pytestmark = pytest.mark.slow


def test_refused_alert_is_sent_later_to_that_target_only(tabled, receiver, other, caplog):
    set_drift(tabled, 0.0)
    assert run_check(tabled, "drift", "kappa_drift")
    assert tick(tabled, other.address) == "No new event."  # other targets received it
    set_drift(tabled, 0.5)
    assert run_check(tabled, "drift", "kappa_drift")
    caplog.set_level(logging.DEBUG)
    receiver.answers = [503]
    targets = (receiver.address, other.address)
    with pytest.raises(
        AlertError, match=r"target 1 of 2 \(JSON\) did not accept the alert 'tabled: kappa_drift failed'"
    ) as raised:
        tick(tabled, *targets)
    assert (len(receiver.received), len(other.received)) == (0, 1)
    assert tick(tabled, *targets) == "Sent 1 alert."
    assert tick(tabled, *targets) == "No new event."
    assert (len(receiver.received), len(other.received)) == (1, 1)
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("apprise")
    )


def test_unreachable_target_raises_without_its_url(tabled, receiver):
    receiver.close()
    alert = Alert("crawl_urn/tabled/test", "title", "body", "warning")
    with pytest.raises(AlertError, match=r"target 1 of 1 .* did not accept") as raised:
        deliver(tabled.instance, [receiver.address], [alert])
    assert "s3cret" not in str(raised.value)


def test_invalid_target_does_not_block_others(tabled, receiver, other):
    wrong = "https://chat.example.org/s3cret"
    alerts = [Alert(f"crawl_urn/tabled/mistyped/{number}", f"title {number}", "body", "warning") for number in (1, 2)]
    with pytest.raises(AlertError, match=r"^alerts, target 2 of 2: not a valid Apprise URL") as raised:
        deliver(tabled.instance, [receiver.address, wrong], alerts)
    assert "s3cret" not in str(raised.value)
    assert deliver(tabled.instance, [receiver.address, other.address], alerts) == 2
    assert receiver.titles == other.titles == ["title 1", "title 2"]
    with pytest.raises(AlertError, match="target 2 of 2: not a valid Apprise URL"):
        tick(tabled, receiver.address, wrong)  # also without a new event


def test_refusing_target_does_not_block_others(tabled, receiver, other):
    alerts = [Alert(f"crawl_urn/tabled/refused/{number}", f"title {number}", "body", "warning") for number in (1, 2)]
    receiver.answers = [503]
    with pytest.raises(AlertError, match=r"^alerts, target 1 of 2 \(JSON\) did not accept the alert 'title 1'"):
        deliver(tabled.instance, [receiver.address, other.address], alerts)
    assert (receiver.titles, other.titles) == ([], ["title 1", "title 2"])
    deliver(tabled.instance, [receiver.address, other.address], alerts)
    assert receiver.titles == other.titles == ["title 1", "title 2"]
