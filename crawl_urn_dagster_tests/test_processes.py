"""Test calls in several processes."""

import os

import pytest

from crawl_urn_dagster import processes
from crawl_urn_dagster.processes import PROCESSES, call_each, call_together, start_ahead


@pytest.fixture(scope="module")
def two_processes():
    """This process and another one, which is started once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PROCESSES, "2")
        patch.setattr(processes, "_pool", None)
        start_ahead("json")
        yield
        processes._pool.shutdown()


def _process(number):
    return number, os.getpid()


def _fail_elsewhere(process):
    if os.getpid() != process:
        raise ValueError("in another process")


def _end_elsewhere(process):
    if os.getpid() != process:
        os._exit(1)


def test_calls_in_processes_keep_their_order(two_processes):
    found = call_each(_process, [(number,) for number in range(200)])
    assert [number for number, _ in found] == list(range(200))
    assert os.getpid() in {process for _, process in found}
    assert len({process for _, process in found}) == 2


def test_several_functions_return_results_in_order(two_processes):
    assert call_together([(max, (1, 3)), (min, (4, 2)), (pow, (2, 3))]) == [3, 2, 8]


def test_error_of_another_process_is_raised(two_processes):
    with pytest.raises(ValueError, match="in another process"):
        call_each(_fail_elsewhere, [(os.getpid(),)] * 200)


def test_process_that_ended_is_replaced(two_processes):
    with pytest.raises(processes.BrokenProcessPool):
        call_each(_end_elsewhere, [(os.getpid(),)] * 200)
    start_ahead()
    assert len({process for _, process in call_each(_process, [(number,) for number in range(200)])}) == 2


def test_few_calls_stay_in_this_process(monkeypatch):
    monkeypatch.setenv(PROCESSES, "2")
    monkeypatch.setattr(processes, "_pool", None)
    assert call_each(_process, [(1,), (2,)]) == [(1, os.getpid()), (2, os.getpid())]
