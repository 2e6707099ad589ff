"""All that is estimated of a collection in one go: from observables to tables of fits and what to think of them.

Here: the order of fits, limits, choice and diagnosis, and table `kappa_profile`. Not here: any of these, each of which
has a module of its own, or estimators that need the histories alone (`capture_recapture`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crawl_urn_dagster.estimates.diagnosis import diagnosis_table
from crawl_urn_dagster.estimates.fitting import fit_all, judge_violation
from crawl_urn_dagster.estimates.headline import choose_headline
from crawl_urn_dagster.estimates.intervals import with_limits
from crawl_urn_dagster.estimates.richer_models import model_tables
from crawl_urn_dagster.estimates.tables import operator_terms_table, parameters_table
from crawl_urn_dagster.observables.schema import KAPPA_PROFILE
from crawl_urn_dagster.urn.fits.joint import JointFit, profile_kappa

if TYPE_CHECKING:
    from crawl_urn_dagster.urn import CaptureHistoryCounts, Clock, CountingError, Counts

_PROFILED = np.linspace(0, 0.95, 20)


def estimate_tables(
    crawls: pd.DataFrame,
    containment: pd.DataFrame | None,
    discovery_curve: pd.DataFrame | None,
    histories: CaptureHistoryCounts | None,
    *,
    clock: Clock,
    error: CountingError,
) -> dict[str, pd.DataFrame]:
    """Tables `parameters` and all that come with it, by name.

    Parameters
    ----------
    crawls, containment, discovery_curve
        Tables of the contract; a source may lack one of the last two.
    histories
        Capture-history counts of the same crawls, None where the source has none.
    clock
        Of the headline and what follows from it.
    error
        How the elements were counted.
    """
    observables = (crawls, containment, discovery_curve)
    in_all = None if histories is None else histories.in_all
    fitted = with_limits(fit_all(*observables, error), *observables, in_all=in_all)
    chosen = choose_headline([one.fit for one in fitted], clock=clock)
    headline = next(one for one in fitted if one.fit is chosen)
    counts = {fit.clock: fit.counts for fit, *_ in fitted if isinstance(fit, JointFit)}
    verdicts = judge_violation(*observables)
    models = model_tables(
        crawls,
        counts.get("crawl"),
        histories,
        fitted,
        next((verdict for verdict in verdicts if verdict.violated), None),
        clock=clock,
        one_in=error.one_in,
    )
    return {
        "parameters": parameters_table(fitted, chosen, crawls, more=models.parameters),
        "operator_terms": operator_terms_table(fitted, chosen, crawls),
        "diagnosis": diagnosis_table(fitted, headline, verdicts, in_all),
        "model_comparison": models.model_comparison,
        "revisit_regimes": models.revisit_regimes,
        "kappa_profile": _kappa_profile_table(counts.get(clock), clock),
    }


def _kappa_profile_table(counts: Counts | None, clock: Clock) -> pd.DataFrame:
    """Table `kappa_profile`, empty where no joint fit is possible; of each observable alone where there are both."""
    if counts is None or len(counts.sizes) < 3:
        return pd.DataFrame(columns=list(KAPPA_PROFILE.column_names))
    unknown = np.full_like(counts.unions, np.nan)
    alone = {"containment": replace(counts, unions=unknown), "discovery_curve": replace(counts, intersections=unknown)}
    known = {
        name: part
        for name, part in alone.items()
        if np.isfinite(part.intersections).any() or np.isfinite(part.unions).any()
    }
    parts = {"joint": counts, **known} if len(known) > 1 else known
    frames = [
        pd.DataFrame(profile_kappa(part, _PROFILED)._asdict()).assign(projection=name, clock=clock)
        for name, part in parts.items()
    ]
    return pd.concat(frames, ignore_index=True)[list(KAPPA_PROFILE.column_names)]
