"""Fit results with given numbers, for tests of what follows from a fit.

Does not fit anything.
"""

import numpy as np
import pandas as pd

from crawl_urn_dagster.urn import FitKind, FitResult, Reason, ReasonCode, Status
from crawl_urn_dagster.urn.results.result import LeastSquaresDetails

CRAWLS = pd.DataFrame({"crawl": ["a", "b", "c"], "elements": [90, 100, 110]})
EXPLANATION = "because of it."
_CORE_ESTIMATES = {"kappa": 0.4, "core_share": 0.526}


def fit(projection, model="core_shell", form="exact", *, status="ok", clock="crawl", **estimates):
    """Return a fit of ten points with a residual of 0.001 each."""
    values = {**(_CORE_ESTIMATES if model == "core_shell" else {}), "alpha": 0.75, "coverage": 0.6, **estimates}
    details = LeastSquaresDetails(
        abscissa=np.arange(10.0),
        observed=np.full(10, 0.001),
        fitted=np.zeros(10),
        response=np.full((4, 10), np.nan),
        response_names=("kappa", "core_share", "alpha", "coverage"),
    )
    reasons = () if status == "ok" else (Reason(ReasonCode.MODEL_VIOLATION, {"explanation": EXPLANATION}),)
    kind = FitKind(projection, model, form, clock)
    return FitResult(kind=kind, estimates=values, status=Status(status), details=details, reasons=reasons)


CONTAINMENT = fit("containment")
CONTAINMENT_PAPER = fit("containment", form="paper")
CONTAINMENT_HOMOGENEOUS = fit("containment", "homogeneous")
DISCOVERY = fit("discovery_curve")
DISCOVERY_HOMOGENEOUS = fit("discovery_curve", "homogeneous")
JOINT, JOINT_HOMOGENEOUS = fit("joint"), fit("joint", "homogeneous")
