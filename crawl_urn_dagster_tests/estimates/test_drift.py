import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.estimates.drift import drift_table
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.observables.tables import containment_table, crawls_table, discovery_curve_table
from crawl_urn_dagster_tests.collections_for_tests import (
    COVERAGE,
    histories,
    labels,
    pairs_frame,
    windows_frame,
)

WINDOW = 12
URN = 20_000
# sd of a window's kappa at this size, from 60 simulated pairs of windows: 0.0036/sqrt(2).
KAPPA_SD_OF_DIFFERENCE = 0.0036


def two_windows(kappa_before=0.4, kappa_after=0.4, coverage_after=COVERAGE):
    """Two unrelated urns one after the other: only pairs within a window are ever compared."""
    before = histories(WINDOW, urn=URN, kappa=kappa_before, seed=1).counts()
    after = histories(WINDOW, urn=URN, kappa=kappa_after, coverage=coverage_after, seed=2).counts()
    n = 2 * WINDOW
    intersections = np.zeros((n, n), dtype=np.int64)
    intersections[:WINDOW, :WINDOW] = before.intersections()
    intersections[WINDOW:, WINDOW:] = after.intersections()
    names = labels(n)
    crawls = crawls_table(
        pd.DataFrame(
            {
                "crawl": names,
                "started_at": pd.to_datetime(names),
                "elements": np.diagonal(intersections),
                "dated_by": "label",
            }
        )
    )
    return crawls, containment_table(crawls, pairs_frame(intersections, n))


def judged(crawls, containment, discovery_curve=None, **settings):
    values = {"clock": "crawl", "window_crawls": WINDOW, "threshold": 0.05, "withheld_reason": None, **settings}
    return drift_table(crawls, containment, discovery_curve, **values).set_index("parameter")


def test_nothing_moved():
    table = judged(*two_windows())
    assert table["drifted"].tolist() == [False] * 4
    assert table.loc["kappa", "difference"] == pytest.approx(0, abs=4 * KAPPA_SD_OF_DIFFERENCE)
    assert table["last_crawl"].unique().tolist() == [labels(24)[-1]]
    assert table["since_crawl"].unique().tolist() == [labels(24)[12]]


def test_a_core_that_shrank_is_found():
    table = judged(*two_windows(kappa_after=0.3))
    assert table.loc["kappa", "drifted"]
    assert table.loc["kappa", "difference"] == pytest.approx(-0.1, abs=4 * KAPPA_SD_OF_DIFFERENCE)
    assert table.loc["kappa", "statistic"] == -table.loc["kappa", "difference"]


def test_the_threshold_decides():
    assert not judged(*two_windows(kappa_after=0.3), threshold=0.2).loc["kappa", "drifted"]


def test_a_change_of_coverage_is_not_one_of_the_core():
    table = judged(*two_windows(coverage_after=0.8))
    assert not table.loc["kappa", "drifted"]
    assert table.loc["coverage", "drifted"]


def test_columns_are_those_of_the_contract():
    table = judged(*two_windows()).reset_index()
    assert set(table.columns) <= set(TABLES["drift"].column_names)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"window_crawls": 13}, "two windows of 13 crawls need 26 crawls; there are 24"),
        ({"withheld_reason": "model_violation: it rises"}, "model_violation: it rises"),
    ],
)
def test_what_cannot_be_judged_has_no_value_and_a_reason(settings, reason):
    table = judged(*two_windows(), **settings)
    assert table["reason"].unique().tolist() == [reason]
    assert "drifted" not in table


def test_windows_whose_fit_is_not_identified_are_not_judged():
    counts = histories(24).counts()
    crawls, _ = two_windows()
    windows = windows_frame(counts.unions(), 24).rename(
        columns={"start": "start_crawl", "end": "end_crawl", "union": "distinct_elements"}
    )
    positions = {name: k for k, name in enumerate(labels(24))}
    windows["window_crawls"] = windows["end_crawl"].map(positions) - windows["start_crawl"].map(positions) + 1
    table = judged(crawls, None, discovery_curve_table(crawls, windows))
    assert "is not_identified" in table.loc["kappa", "reason"]
    assert table.loc["kappa", "reason"].startswith(f"the fit of {labels(24)[0]} to {labels(24)[11]}")


def test_an_urn_without_a_core_is_judged_too():
    table = judged(*two_windows(kappa_before=0.0, kappa_after=0.0))
    assert table["reason"].isna().all()
    assert not table.loc["kappa", "drifted"]
