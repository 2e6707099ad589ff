"""Published estimates, and the dippers, that several tests of capture-recapture use."""

import json

import numpy as np
import pytest

from crawl_urn_dagster.urn import CaptureHistoryCounts
from crawl_urn_dagster_tests.urn.capture_recapture.m_arrays import m_array


@pytest.fixture(scope="session")
def reference(shared_reference):
    """Published estimates by data set."""
    return json.loads((shared_reference / "capture_recapture.json").read_text())


@pytest.fixture(scope="session")
def dipper_reference(reference):
    return reference["dipper"]


@pytest.fixture(scope="session")
def dippers(shared_data):
    """Sizes and recaptures of females and of males."""
    rows = [line.split() for line in (shared_data / "capture_recapture" / "dipper.txt").read_text().splitlines()]
    tables = []
    for sex in ("Female", "Male"):
        seen = np.array([[mark == "1" for mark in history] for history, of in rows if of == sex])
        tables.append(m_array(CaptureHistoryCounts(seen, np.ones(len(seen), dtype=np.int64))))
    sizes, recaptures = (np.stack(arrays) for arrays in zip(*tables, strict=True))
    return sizes, recaptures


@pytest.fixture(scope="session")
def all_dippers(dippers):
    return tuple(array.sum(axis=0) for array in dippers)
