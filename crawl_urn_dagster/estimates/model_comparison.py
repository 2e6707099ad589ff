"""Compare urns: table `model_comparison`.

Does not fit the urns; see `fits` and `start_curves`.

If there are capture histories, urns are compared by their likelihood. Otherwise they are compared by how well they
predict the curves of start crawls that were left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.start_curves import CURVE_MODELS, curve_fitter, start_curves
from crawl_urn_dagster.observables.schema import MODEL_COMPARISON
from crawl_urn_dagster.urn import compare_likelihoods, cross_validate
from crawl_urn_dagster.urn.data.block_means import BLOCK
from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import ComparedModel
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode, explain, join_codes
from crawl_urn_dagster.urn.results.result import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.estimates.start_curves import StartCurves
    from crawl_urn_dagster.urn import Clock
    from crawl_urn_dagster.urn.fits.histories import HistoriesFit
    from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import InformationCriterion

_CRITERIA: tuple[InformationCriterion, ...] = ("aicc", "bic")


def model_comparison_table(data: CollectionData, histories_fits: Sequence[HistoriesFit], clock: Clock) -> pd.DataFrame:
    """Return table `model_comparison`.

    Parameters
    ----------
    data
        The collection.
    histories_fits
        Fits of its capture histories; empty without histories.
    clock
        Clock of these fits.
    """
    rows: list[dict[str, Any]] = []
    if histories_fits:
        compared = [row for criterion in _CRITERIA for row in compare_likelihoods(histories_fits, criterion)]
        rows += [{"clock": clock, **_row(row)} for row in compared]
    counts = data.counts("crawl")
    if counts is not None and data.histories is None:
        rows += [{"clock": "crawl", **_row(row)} for row in _cross_validated(start_curves(counts))]
    return pd.DataFrame(rows, columns=list(MODEL_COMPARISON.column_names))


def _row(compared: ComparedModel) -> dict[str, Any]:
    row = compared._asdict()
    reasons = row.pop("reasons")
    return {**row, "status": compared.status.value, "reason": explain(reasons), "reason_code": join_codes(reasons)}


def _cross_validated(curves: StartCurves) -> list[ComparedModel]:
    """Compare by prediction; with too few crawls, return rows that state this reason."""
    n = curves.ratios.shape[-2]
    short = curves.up_to(max(min(n // 2, n - 3 * BLOCK - 1), 1))
    near = {model: curve_fitter(model, short)(short.mean) for model in CURVE_MODELS}
    if np.isfinite(short.ratios).any(axis=-1).sum() >= 4 * BLOCK:
        return cross_validate(short.ratios, {model: curve_fitter(model, short, fit) for model, fit in near.items()})
    reason = Reason(ReasonCode.TOO_FEW_START_CRAWLS, {"needed": 4 * BLOCK, "found": n})
    return [
        ComparedModel(
            model=model,
            projection=fit.kind.projection,
            n_parameters=fit.details.n_parameters,
            criterion="cross_validation",
            value=None,
            delta=None,
            at_bound=fit.status is Status.AT_BOUND,
            identified=fit.details.is_identified,
            status=fit.status,
            reasons=(reason,),
            preferred=False,
        )
        for model, fit in near.items()
    ]
