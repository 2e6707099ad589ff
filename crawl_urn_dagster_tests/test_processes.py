"""Test calls in several processes."""

import os

from crawl_urn_dagster.processes import PROCESSES, call_each


def _process(number):
    return number, os.getpid()


def test_calls_in_processes_keep_their_order(monkeypatch):
    monkeypatch.setenv(PROCESSES, "2")
    found = call_each(_process, [(number,) for number in range(8)])
    assert [number for number, _ in found] == list(range(8))
    assert os.getpid() not in {process for _, process in found}


def test_few_calls_stay_in_this_process(monkeypatch):
    monkeypatch.setenv(PROCESSES, "2")
    assert call_each(_process, [(1,), (2,)]) == [(1, os.getpid()), (2, os.getpid())]
