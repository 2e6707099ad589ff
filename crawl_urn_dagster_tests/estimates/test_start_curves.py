import numpy as np

from crawl_urn_dagster.estimates.start_curves import CURVE_MODELS, fit_mean_curves, jackknife, start_curves
from crawl_urn_dagster.urn.data.block_means import block_mean
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn

COUNTS = collection_data(urn(24, core=400, shell=600, alpha=0.75, coverage=0.6, seed=3)).counts("crawl")


def test_curves_start_at_every_crawl():
    curves = start_curves(COUNTS)
    first = curves.is_containment & (curves.lag == 1)
    expected = COUNTS.intersections[np.arange(23), np.arange(1, 24)] / COUNTS.sizes[:-1]
    np.testing.assert_allclose(curves.ratios[:-1, first][:, 0], expected)
    assert np.isnan(curves.ratios[-1, first]).all()
    np.testing.assert_allclose(curves.mean[first], expected.mean())
    assert curves.up_to(3).lag.tolist() == [1, 2, 3, 1, 2, 3]


def test_jackknife_has_the_error_of_independent_blocks():
    values = np.random.default_rng(5).normal(size=(400, 1))
    spread = jackknife(values)
    se = float(np.std(spread.deviations, axis=0)[0])
    # 100 blocks: the standard error has a relative error of 0.07, and 0.09 by the differences of neighbours.
    np.testing.assert_allclose(se, block_mean(values[:, 0])[1], rtol=0.35)
    assert spread.freedom == 99
    assert jackknife(values[:4]) is None


def test_fit_without_replicates_has_intervals_by_the_jackknife():
    fit = fit_mean_curves("beta_shell", COUNTS, None)
    assert fit.kind.projection == "curves"
    assert fit.intervals["alpha"].low < 0.75 < fit.intervals["alpha"].high
    assert "beta_shell" in CURVE_MODELS
