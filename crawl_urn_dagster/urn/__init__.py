"""Model longitudinal crawls as urns: counts, curves, fits, tests, monitoring and simulation.

Needs numpy and scipy only. Does not read files or tables; see `sources`, `observables` and `estimates`.
"""

from crawl_urn_dagster.urn.capture_recapture.comparator import Comparator
from crawl_urn_dagster.urn.capture_recapture.comparators import comparators
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import jolly_seber
from crawl_urn_dagster.urn.capture_recapture.mixtures import fit_core_and_shell, fit_two_classes
from crawl_urn_dagster.urn.curves.model import CoreShellUrn, Urn
from crawl_urn_dagster.urn.curves.revisit import RevisitDelayUrn
from crawl_urn_dagster.urn.curves.shells import BetaShellUrn, CoreTwoShellsUrn
from crawl_urn_dagster.urn.data.counting_error import CountingError
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.data.histories import (
    CaptureHistoryCounts,
    count_cells,
    recaptures_from_unions,
    unions_from_recaptures,
)
from crawl_urn_dagster.urn.fits.containment import fit_containment_core_shell, fit_containment_log_linear
from crawl_urn_dagster.urn.fits.discovery import (
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    fit_discovery_increments,
    invert_discovery_tail,
)
from crawl_urn_dagster.urn.fits.histories import fit_histories
from crawl_urn_dagster.urn.fits.joint import fit_joint
from crawl_urn_dagster.urn.fits.mean_curves import fit_curves, fit_revisit_delay, fit_urn
from crawl_urn_dagster.urn.goodness_of_fit.adequacy import check_core, check_increments, lack_of_fit
from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import compare_likelihoods, cross_validate
from crawl_urn_dagster.urn.goodness_of_fit.violation import Violation, apply_violation_rule, first_returns
from crawl_urn_dagster.urn.monitoring.regimes import find_regimes
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
from crawl_urn_dagster.urn.results.result import (
    NO_POINT_ESTIMATE_STATUSES,
    UNREPORTED_STATUSES,
    Clock,
    FitKind,
    FitResult,
    Interval,
    Status,
)
from crawl_urn_dagster.urn.simulation import simulate, simulate_revisit_delay
from crawl_urn_dagster.urn.uncertainty.bootstrap import Bootstrap, bootstrap_joint, refit

__all__ = [
    "NO_POINT_ESTIMATE_STATUSES",
    "UNREPORTED_STATUSES",
    "BetaShellUrn",
    "Bootstrap",
    "CaptureHistoryCounts",
    "Clock",
    "Comparator",
    "CoreShellUrn",
    "CoreTwoShellsUrn",
    "CountingError",
    "Counts",
    "FitKind",
    "FitResult",
    "Interval",
    "Reason",
    "ReasonCode",
    "RevisitDelayUrn",
    "Status",
    "Urn",
    "Violation",
    "apply_violation_rule",
    "bootstrap_joint",
    "check_core",
    "check_increments",
    "comparators",
    "compare_likelihoods",
    "count_cells",
    "cross_validate",
    "find_regimes",
    "first_returns",
    "fit_containment_core_shell",
    "fit_containment_log_linear",
    "fit_core_and_shell",
    "fit_cormack_jolly_seber",
    "fit_curves",
    "fit_discovery_core_shell",
    "fit_discovery_homogeneous",
    "fit_discovery_increments",
    "fit_histories",
    "fit_joint",
    "fit_revisit_delay",
    "fit_two_classes",
    "fit_urn",
    "invert_discovery_tail",
    "jolly_seber",
    "lack_of_fit",
    "recaptures_from_unions",
    "refit",
    "simulate",
    "simulate_revisit_delay",
    "unions_from_recaptures",
]
