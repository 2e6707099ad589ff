"""Ingest and counting survive being killed at any moment."""

import json
import os
import subprocess
import sys

import pytest

KILLS = 60


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by fork, which this system does not have")
def test_result_is_the_same_after_kills_at_random_moments(tmp_path):
    command = [sys.executable, "-W", "ignore", "-m", "crawl_urn_dagster_tests.observables.killed"]
    done = subprocess.run([*command, str(tmp_path), str(KILLS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"killed": KILLS, "equal": True, "partial": []}
