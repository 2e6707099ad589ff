"""A model of one's own: a shell that decays as a stretched exponential, fitted to containment beside our fits."""

import dagster as dg
import numpy as np
import pandas as pd
from scipy.optimize import curve_fit


def stretched(lag, core_share, coverage, alpha, stretch):
    """Containment g(d) = mu + (1 - mu) c alpha^(d^beta); beta = 1 is the urn of core and shell."""
    return core_share + (1 - core_share) * coverage * alpha ** (lag**stretch)


def fit_stretched(containment: pd.DataFrame) -> pd.DataFrame:
    """Fit by least squares to all pairs; limits from leaving out one crawl after the other (jackknife).

    Parameters
    ----------
    containment
        Table of the contract.

    Returns
    -------
    Columns ``parameter, estimate, estimate_low, estimate_high, status``.
    """

    def fit(pairs: pd.DataFrame) -> np.ndarray:
        start, bounds = (0.3, 0.5, 0.8, 1.0), ([0, 0, 0, 0.2], [1, 1, 1, 3])
        return curve_fit(stretched, pairs["lag_crawls"], pairs["containment"], start, bounds=bounds)[0]

    crawls = pd.unique(containment[["crawl_i", "crawl_j"]].to_numpy().ravel())
    estimate = fit(containment)
    without = np.array(
        [fit(containment[(containment[["crawl_i", "crawl_j"]] != crawl).all(axis=1)]) for crawl in crawls]
    )
    se = np.sqrt((len(crawls) - 1) / len(crawls) * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    at_bound = np.isclose(estimate[:3], [[0], [1]], atol=1e-6).any()
    return pd.DataFrame(
        {
            "parameter": ["core_share", "coverage", "alpha", "stretch"],
            "estimate": estimate,
            "estimate_low": estimate - 1.96 * se,
            "estimate_high": estimate + 1.96 * se,
            "status": "at_bound" if at_bound else "ok",
        }
    )


def stretched_asset(name: str) -> dg.AssetsDefinition:
    """Asset of a collection of that name, made after its table `containment`."""

    @dg.asset(
        key=[name, "stretched_shell"],
        deps=[[name, "containment"]],
        group_name=name,
        required_resource_keys={f"{name}_home"},
        pool=f"{name}_duckdb",  # one step at a time has the collection's DuckDB file open
    )
    def stretched_shell(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        home = getattr(context.resources, f"{name}_home")
        table = fit_stretched(home.observables.read("containment"))
        table.to_csv(home.path / "stretched_shell.csv", index=False)
        estimates = table.set_index("parameter")["estimate"]
        return dg.MaterializeResult(metadata={key: float(value) for key, value in estimates.items()})

    return stretched_shell
