"""The urn model of longitudinal crawls: counts, curves, fits, simulation. Needs numpy and scipy only.

Here: the public names. Not here: tables, files, or anything that knows where numbers are from.
"""

from crawl_urn_dagster.urn.capture_recapture.closed_populations import chapman, petersen, schnabel, schumacher_eschmeyer
from crawl_urn_dagster.urn.capture_recapture.comparator import Comparator
from crawl_urn_dagster.urn.capture_recapture.comparators import comparators, heaps
from crawl_urn_dagster.urn.capture_recapture.cormack_jolly_seber import fit_cormack_jolly_seber
from crawl_urn_dagster.urn.capture_recapture.jolly_seber import JollySeber, PerCrawl, jolly_seber
from crawl_urn_dagster.urn.capture_recapture.mixtures import fit_core_and_shell, fit_two_classes
from crawl_urn_dagster.urn.capture_recapture.recaptures import (
    RecaptureCounts,
    gaps_of,
    never_seen_again,
    never_seen_again_gradient,
    recapture_counts,
    smallest_gap,
)
from crawl_urn_dagster.urn.capture_recapture.unseen_elements import chao1, chao2, good_turing
from crawl_urn_dagster.urn.curves.conversions import core_share_from_kappa, kappa_from_core_share, urn_from_tail
from crawl_urn_dagster.urn.curves.model import DAYS_PER_YEAR, Asymptote, CoreShellUrn, Fates, Form, OperatorTerms, Urn
from crawl_urn_dagster.urn.curves.revisit import (
    Regime,
    RevisitDelayUrn,
    find_regimes,
    fit_revisit_delay,
    simulate_revisit_delay,
)
from crawl_urn_dagster.urn.curves.shells import BetaShellUrn, CoreTwoShellsUrn, CrawlShares, UrnFit, fit_curves, fit_urn
from crawl_urn_dagster.urn.data.block_means import block_mean
from crawl_urn_dagster.urn.data.counting_error import CountingError
from crawl_urn_dagster.urn.data.counts import Counts
from crawl_urn_dagster.urn.data.histories import (
    CaptureHistoryCounts,
    HistoryCells,
    count_cells,
    recaptures_from_unions,
    unions_from_recaptures,
)
from crawl_urn_dagster.urn.fits.curves import (
    ESTIMATES,
    Clock,
    Fit,
    fit_containment_core_shell,
    fit_containment_log_linear,
    fit_discovery_core_shell,
    fit_discovery_homogeneous,
    fit_discovery_increments,
    invert_discovery_tail,
    mean_by,
    no_fit,
)
from crawl_urn_dagster.urn.fits.histories_likelihood import Estimate, HistoriesFit, fit_histories
from crawl_urn_dagster.urn.fits.joint import JointFit, fit_joint
from crawl_urn_dagster.urn.fits.status import STATUSES, UNSAID, WITHHELD
from crawl_urn_dagster.urn.goodness_of_fit.adequacy import (
    CoreTest,
    Increments,
    LackOfFit,
    check_core,
    check_increments,
    lack_of_fit,
)
from crawl_urn_dagster.urn.goodness_of_fit.model_comparison import ComparedModel, compare_likelihoods, cross_validate
from crawl_urn_dagster.urn.goodness_of_fit.violation import (
    FirstReturns,
    Rule,
    Violation,
    apply_violation_rule,
    first_returns,
)
from crawl_urn_dagster.urn.optimise.maximum_likelihood import Estimates
from crawl_urn_dagster.urn.simulation import SimulatedHistories, simulate
from crawl_urn_dagster.urn.uncertainty.bootstrap import Bootstrap, Interval, bootstrap_joint, intervals_of, refit

__all__ = [
    "DAYS_PER_YEAR",
    "ESTIMATES",
    "STATUSES",
    "UNSAID",
    "WITHHELD",
    "Asymptote",
    "BetaShellUrn",
    "Bootstrap",
    "CaptureHistoryCounts",
    "Clock",
    "Comparator",
    "ComparedModel",
    "CoreShellUrn",
    "CoreTest",
    "CoreTwoShellsUrn",
    "CountingError",
    "Counts",
    "CrawlShares",
    "Estimate",
    "Estimates",
    "Fates",
    "FirstReturns",
    "Fit",
    "Form",
    "HistoriesFit",
    "HistoryCells",
    "Increments",
    "Interval",
    "JointFit",
    "JollySeber",
    "LackOfFit",
    "OperatorTerms",
    "PerCrawl",
    "RecaptureCounts",
    "Regime",
    "RevisitDelayUrn",
    "Rule",
    "SimulatedHistories",
    "Urn",
    "UrnFit",
    "Violation",
    "apply_violation_rule",
    "block_mean",
    "bootstrap_joint",
    "chao1",
    "chao2",
    "chapman",
    "check_core",
    "check_increments",
    "comparators",
    "compare_likelihoods",
    "core_share_from_kappa",
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
    "gaps_of",
    "good_turing",
    "heaps",
    "intervals_of",
    "invert_discovery_tail",
    "jolly_seber",
    "kappa_from_core_share",
    "lack_of_fit",
    "mean_by",
    "never_seen_again",
    "never_seen_again_gradient",
    "no_fit",
    "petersen",
    "recapture_counts",
    "recaptures_from_unions",
    "refit",
    "schnabel",
    "schumacher_eschmeyer",
    "simulate",
    "simulate_revisit_delay",
    "smallest_gap",
    "unions_from_recaptures",
    "urn_from_tail",
]
