"""The urn model of longitudinal crawls: counts, curves, fits, simulation. Needs numpy and scipy only.

Here: the public names. Not here: tables, files, or anything that knows where numbers are from.
"""

from crawl_urn_dagster.urn.fits import (
    STATUSES,
    WITHHELD,
    Clock,
    Fit,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    fit_discovery_increments,
    invert_discovery_tail,
    mean_by,
)
from crawl_urn_dagster.urn.histories import (
    CaptureHistoryCounts,
    recaptures_from_unions,
    unions_from_recaptures,
)
from crawl_urn_dagster.urn.model import (
    Asymptote,
    CoreShellUrn,
    Fates,
    Form,
    OperatorTerms,
    Urn,
    core_share_from_kappa,
    kappa_from_core_share,
    urn_from_tail,
)
from crawl_urn_dagster.urn.simulate import SimulatedHistories, simulate
from crawl_urn_dagster.urn.violation import FirstReturns, Rule, Violation, block_mean, first_returns, judge

__all__ = [
    "STATUSES",
    "WITHHELD",
    "Asymptote",
    "CaptureHistoryCounts",
    "Clock",
    "CoreShellUrn",
    "Fates",
    "FirstReturns",
    "Fit",
    "Form",
    "OperatorTerms",
    "Rule",
    "SimulatedHistories",
    "Urn",
    "Violation",
    "block_mean",
    "core_share_from_kappa",
    "first_returns",
    "fit_containment_core_shell",
    "fit_containment_log_linear",
    "fit_discovery_core_shell",
    "fit_discovery_homogeneous",
    "fit_discovery_increments",
    "invert_discovery_tail",
    "judge",
    "kappa_from_core_share",
    "mean_by",
    "recaptures_from_unions",
    "simulate",
    "unions_from_recaptures",
    "urn_from_tail",
]
