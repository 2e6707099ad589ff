"""Fits and the violation rule on real crawls.

Expected values are from earlier analyses of the same data, with the reported digits.
"""

import json

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.urn import (
    apply_violation_rule,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    recaptures_from_unions,
)
from crawl_urn_dagster.urn.fits.least_squares import mean_by


def mean_curve(unions):
    """Return the arguments of a discovery fit per crawl, from U(i..j), NaN where a window is unknown."""
    start, end = np.nonzero(np.triu(np.isfinite(unions), k=1))
    t, ratio, _ = mean_by(end - start, unions[start, end] / unions[start, start])
    return np.arange(len(unions)), np.zeros(len(t), dtype=int), t, ratio


def pairs_of(shared):
    """Return lag and containment of every pair, from intersections with sizes on the diagonal."""
    i, j = np.triu_indices(len(shared), k=1)
    return j - i, shared[i, j] / shared[i, i]


def mean_containment(shared):
    return mean_by(*pairs_of(shared))[:2]


@pytest.fixture(scope="module")
def us_gov(shared_reference):
    """Intersections and unions of 39 lists of US-government hosts."""
    reference = json.loads((shared_reference / "us_gov_hosts.json").read_text())
    unions = np.zeros((39, 39))
    for start, row in enumerate(reference["union_from_start"]):
        unions[start, start:] = row
    return np.array(reference["intersection"]), unions


def test_us_government_hosts_have_a_core_by_containment(us_gov):
    fit = fit_containment_core_shell(*mean_containment(us_gov[0]), form="exact", clock="crawl")
    assert (fit.core_share, fit.kappa) == pytest.approx((0.484, 0.447), abs=5e-4)
    # 1.5 % of the shell leave per crawl, too few within 38 lags to distinguish it from the core.
    assert fit.status == "not_identified"


def test_us_government_hosts_lose_no_shell_by_discovery(us_gov):
    fit = fit_discovery_core_shell(*mean_curve(us_gov[1]), clock="crawl")
    assert (fit.status, fit.alpha) == ("at_bound", 1)


@pytest.mark.parametrize(("rule", "table"), [("first_returns", 1), ("containment", 0)])
def test_us_government_hosts_do_not_violate_the_rule(us_gov, rule, table):
    counts = recaptures_from_unions(us_gov[1]) if rule == "first_returns" else us_gov[table]
    assert apply_violation_rule(rule, np.diagonal(us_gov[0]), counts).violated is False


def test_german_academic_web(shared_data):
    pairs = pd.read_csv(shared_data / "gaw" / "gaw_pairs_2012-2018.csv")
    pairs = pairs[pairs["crawl_i"] >= "2013-12"]
    crawls = sorted({*pairs["crawl_i"], *pairs["crawl_j"]})
    lag = pairs["crawl_j"].map(crawls.index) - pairs["crawl_i"].map(crawls.index)
    containment = pairs["intersection_est"] / pairs["unique_urls_i"]
    assert len(pairs) == 45

    # The containments were read off a heat map, with errors of at most 0.01. The mean curve has 9 points.
    reported = {"alpha": 0.714, "coverage": 0.595, "core_share": 0.096, "kappa": 0.059}
    mean = fit_containment_core_shell(*mean_by(lag, containment)[:2], form="exact", clock="crawl")
    every = fit_containment_core_shell(lag, containment, form="exact", clock="crawl")
    for fit, tolerance in [(mean, 0.01), (every, 0.002)]:
        assert {name: getattr(fit, name) for name in reported} == pytest.approx(reported, abs=tolerance)
    assert mean.status == "ok"


@pytest.fixture(scope="module")
def edu(shared_data):
    """Intersections (sizes on the diagonal) and unions of the URLs under .edu in 65 crawls, and labels."""
    pairs = pd.read_csv(shared_data / "edu_hll" / "edu_url_pairs_hll.csv")
    windows = pd.read_csv(shared_data / "edu_hll" / "edu_url_discovery_hll.csv")
    crawls = sorted(windows["start"].unique())
    unions = np.full((65, 65), np.nan)
    unions[windows["start"].map(crawls.index), windows["end"].map(crawls.index)] = windows["union"]
    shared = np.diag(np.diagonal(unions))
    shared[pairs["crawl_i"].map(crawls.index), pairs["crawl_j"].map(crawls.index)] = pairs["intersection"]
    return shared, unions, crawls


def test_edu_urls_to_2016_are_a_homogeneous_urn(edu):
    shared, unions, crawls = edu
    n = crawls.index("CC-MAIN-2016-50") + 1
    shared, unions = shared[:n, :n], unions[:n, :n]
    containment = fit_containment_log_linear(*pairs_of(shared), clock="crawl")
    discovery = fit_discovery_homogeneous(*mean_curve(unions), clock="crawl")
    for fit in (containment, discovery):
        assert fit.status == "ok"
        assert fit.alpha == pytest.approx(0.96, abs=0.01)
        assert fit.coverage == pytest.approx(0.845, abs=0.015)
    for fit in (
        fit_containment_core_shell(*mean_containment(shared), form="exact", clock="crawl"),
        fit_discovery_core_shell(*mean_curve(unions), clock="crawl"),
    ):
        assert (fit.status, fit.kappa) == ("at_bound", 0)
    assert apply_violation_rule("containment", np.diagonal(unions), shared).violated is False
    assert apply_violation_rule("first_returns", np.diagonal(unions), recaptures_from_unions(unions)).violated is False


def test_edu_urls_to_2019_violate_the_urn(edu):
    shared, unions, _ = edu
    _, g = mean_containment(shared)
    assert g[:2] == pytest.approx([0.416, 0.539], abs=5e-4)
    verdict = apply_violation_rule("containment", np.diagonal(unions), shared)
    assert verdict.violated is True
    assert verdict.difference == pytest.approx(0.12, abs=0.01)


def test_edu_urls_since_2017_violate_the_urn(edu):
    shared, unions, crawls = edu
    since = slice(crawls.index("CC-MAIN-2017-13"), None)
    sizes = np.diagonal(unions)[since]
    assert apply_violation_rule("containment", sizes, shared[since, since]).violated is True
    assert apply_violation_rule("first_returns", sizes, recaptures_from_unions(unions)[since, since]).violated is True


@pytest.fixture(scope="module")
def published_urls(shared_data):
    """U(i..j) of the windows of 1 to 12 crawls that Common Crawl publishes, 2020-2025."""
    table = pd.read_csv(shared_data / "common_crawl_statistics" / "url_last_n_crawls.csv", index_col="crawl")
    table = table.loc["CC-MAIN-2020-05":"CC-MAIN-2025-51"]
    assert len(table) == 51
    unions = np.full((51, 51), np.nan)
    for length, column in table.items():
        ends = np.arange(int(length) - 1, 51)
        unions[ends - int(length) + 1, ends] = column.to_numpy()[ends]
    return unions


def test_published_urls_by_least_squares(published_urls):
    curve = mean_curve(published_urls)
    fit = fit_discovery_homogeneous(*curve, clock="crawl")
    assert (fit.alpha, fit.coverage) == pytest.approx((0.969, 0.112), abs=5e-4)
    misfit = fit.details.fitted - fit.details.observed
    assert (misfit.min(), misfit.max()) == pytest.approx((-0.11, 0.08), abs=5e-3)
    core_shell = fit_discovery_core_shell(*curve, clock="crawl")
    assert (core_shell.status, core_shell.kappa) == ("at_bound", 0)


def test_published_urls_violate_the_urn(published_urls):
    verdict = apply_violation_rule("first_returns", np.diagonal(published_urls), recaptures_from_unions(published_urls))
    assert verdict.violated is True
    assert verdict.difference == pytest.approx(0.12, abs=0.005)
