"""Assess collections whose captures depend on the previous crawl by models with temporary absence.

Does not fit; see `urn.state_space`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.estimates.assessment.adjustments import (
    complement,
    over_earlier_crawls,
    over_first_captures,
    with_rule_of_three,
    without_newcomers,
)
from crawl_urn_dagster.estimates.assessment.result import ElementClass, Quantity
from crawl_urn_dagster.urn import Interval, Status
from crawl_urn_dagster.urn.open_population.really_new import NEWBORN_COVERAGE, ReallyNew
from crawl_urn_dagster.urn.state_space.core_test import CoreVerdict
from crawl_urn_dagster.urn.state_space.family import fit_family, projections, quantities
from crawl_urn_dagster.urn.state_space.prediction import LAST_FOUR, hold_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crawl_urn_dagster.urn import CaptureHistoryCounts
    from crawl_urn_dagster.urn.state_space.family import Family
    from crawl_urn_dagster.urn.state_space.intervals import Quantity as Derived
    from crawl_urn_dagster.urn.state_space.prediction import PredictionScore

    FloatArray = npt.NDArray[np.float64]

#: Stage of the models with memory, after the ladder's.
STAGE = 4
# Largest root mean square by which the mean containment curve may be missed, in crawl sizes.
_LARGEST_MISS = 0.05
# A collection without a permanent core fails no test.
_CORE_VERDICTS = {CoreVerdict.ACCEPTED: "holds", CoreVerdict.TOO_FEW_CRAWLS: "too_weak"}
# Ratio of the longest to the shortest gap above which gaps are uneven.
_UNEVEN = 2.0
_COLUMNS = {
    "share": "share_of_crawl",
    "known_share": "share_of_living",
    "survival": "survival",
    "mean_life": "mean_life",
    "mean_run": "mean_run",
    "mean_absence": "mean_absence",
}


@dataclass(frozen=True, eq=False)
class MemoryModel:
    """The selected model with memory, and how well it predicts crawls that it was not fitted to.

    Attributes
    ----------
    family
        Fits of all members.
    derived
        Quantities of the selected member.
    scores
        Predictions of the last third of the crawls, by the model and by the last four crawls; empty if there are too
        few crawls.
    miss
        Root mean square by which the mean containment curve is missed, in crawl sizes.
    """

    family: Family
    derived: Sequence[Derived]
    scores: Sequence[PredictionScore]
    miss: float

    @property
    def model(self) -> str:
        """Name of the selected member."""
        return self.family.selected.model

    @property
    def memory(self) -> float:
        """Mean difference of the capture probabilities after a fetch and after a miss, by share of a crawl."""
        mixture = self.family.selected.mixture
        return sum(share * one.memory for one, share in zip(mixture.classes, mixture.shares, strict=True))

    @property
    def gain(self) -> float | None:
        """Log-loss of the last four crawls minus that of the model, one crawl ahead; None if not compared."""
        losses = {score.model: score.log_loss for score in self.scores if score.ahead == 1}
        return losses[LAST_FOUR] - losses[self.model] if losses else None

    @property
    def is_adequate(self) -> bool:
        """Whether the search converged, the model predicts better than the last four crawls, and fits containment."""
        gain = self.gain
        return self.family.selected.converged and gain is not None and gain > 0 and self.miss < _LARGEST_MISS

    @property
    def core_verdict(self) -> CoreVerdict | None:
        """Result of the test for a permanent core; None without one."""
        return None if self.family.core is None else self.family.core.verdict


def uneven_gaps(times: FloatArray) -> FloatArray | None:
    """Return the gaps between crawls in units of their mean; None if the longest is at most twice the shortest."""
    gaps = np.diff(times)
    is_uneven = len(gaps) > 0 and (gaps > 0).all() and gaps.max() > _UNEVEN * gaps.min()
    return np.asarray(gaps / gaps.mean()) if is_uneven else None


def fit_memory(histories: CaptureHistoryCounts, gaps: FloatArray | None, *, seed: int) -> MemoryModel | None:
    """Fit the models with memory, and compare the selected one with predictions and with the containment curve.

    Parameters
    ----------
    histories
        Capture histories of the assessed crawls.
    gaps
        Gaps between crawls in units of their mean; None: equal gaps.
    seed
        Seed of starts and draws.
    """
    family = fit_family(histories, gaps=gaps, seed=seed)
    if family is None:
        return None
    selected = family.selected
    return MemoryModel(
        family,
        quantities(family, seed=seed),
        hold_out(histories, [selected.model], gaps=gaps, seed=seed),
        projections(selected.mixture, histories, gaps).containment,
    )


def memory_quantities(found: MemoryModel, *, one_in: int, status: Status) -> dict[str, Quantity]:
    """Return the quantities of an adequate model with memory; see `ladder_quantities`."""
    overall = [one for one in found.derived if one.class_name is None]
    whole = {one.name: one for one in overall if one.horizon is None}
    alive = next(one for one in overall if one.name == "alive_share" and one.horizon == 1)
    population = found.family.population
    low, high = population.limits()
    exposed = float(population.sizes[:-1].sum())
    result = {
        "completeness": over_earlier_crawls(
            _quantity(whole["completeness"], status), population.completeness_of_window
        ),
        "population": Quantity(
            one_in * float(population.eligible[-1]),
            Interval(one_in * float(low[-1]), one_in * float(high[-1])),
            status=status,
        ),
        "growth": _quantity(whole["growth"], status, np.log),
        "survival": complement(with_rule_of_three(complement(_quantity(whole["survival"], status)), exposed)),
        "gone": with_rule_of_three(complement(_quantity(alive, status)), exposed),
        "newcomers": with_rule_of_three(
            _quantity(whole["newcomers_per_crawl"], status, lambda value: one_in * value),
            (len(population.sizes) - 1) / one_in,
        ),
    }
    result["really_new"] = without_newcomers(
        over_first_captures(_quantity(whole["really_new"], status), _bound_really_new(found)), result["newcomers"]
    )
    if found.core_verdict is CoreVerdict.ACCEPTED:
        result |= _core(found, status)
    return result


def _quantity(one: Derived, status: Status, of: Any = float) -> Quantity:
    """Return a derived quantity, or that it is not reported."""
    if one.withheld is not None:
        return Quantity(None, status=Status.NOT_IDENTIFIED, reason_code=one.withheld.value)
    return Quantity(float(of(one.estimate)), Interval(float(of(one.low)), float(of(one.high))), status=status)


def _bound_really_new(found: MemoryModel) -> ReallyNew:
    """Return the ends if new elements are available less often than others, or at once; see `bound_really_new`."""
    mixture = found.family.analysis.mixture
    lowest = mixture.really_new_of_window(len(found.family.population.sizes), min(NEWBORN_COVERAGE))
    return ReallyNew(lowest, mixture.really_new(), mixture.really_new(np.inf))


def _core(found: MemoryModel, status: Status) -> dict[str, Quantity]:
    """Return the share of a permanent core: of a crawl, and of the urn over the state in which newcomers enter."""
    core = {one.name: one for one in found.derived if one.class_name == "core"}
    known, eligible = core["known_share"], core["eligible_share"]
    if known.withheld or eligible.withheld:
        return {"core_share": _quantity(core["share"], status)}
    outer = Interval(min(known.low, eligible.low), max(known.high, eligible.high))
    inner = Interval(known.low, known.high)
    return {
        "kappa": Quantity(known.estimate, outer, inner, "entrants", status),
        "core_share": _quantity(core["share"], status),
    }


def memory_classes(found: MemoryModel) -> tuple[ElementClass, ...]:
    """Return the classes of the selected model, without the numbers that should not be quoted."""
    classes = []
    for element in found.family.selected.mixture.classes:
        known = {
            _COLUMNS[one.name]: one
            for one in found.derived
            if one.class_name == element.name and one.name in _COLUMNS and one.withheld is None
        }
        estimates: Mapping[str, float] = {name: one.estimate for name, one in known.items()}
        intervals = {name: Interval(one.low, one.high) for name, one in known.items()}
        classes.append(ElementClass(element.name, estimates, intervals))
    return tuple(classes)


def memory_population(found: MemoryModel, labels: Sequence[str], one_in: int) -> list[dict[str, Any]]:
    """Return the rows of table `population`."""
    population = found.family.population
    rows = []
    ends = population.limits()
    for label, eligible, low, high, size in zip(labels, population.eligible, *ends, population.sizes, strict=True):
        if not eligible > 0:
            continue
        rows.append(
            {
                "crawl": label,
                "elements": int(one_in * size),
                "population": one_in * float(eligible),
                "population_low": one_in * float(low),
                "population_high": one_in * float(high),
                "completeness": float(size / eligible),
                "completeness_low": float(size / high),
                "completeness_high": min(float(size / low), 1.0) if low > 0 else 1.0,
            }
        )
    return rows


def memory_candidates(found: MemoryModel, *, is_selected: bool) -> list[dict[str, Any]]:
    """Return the rows of table `candidate_models`."""
    fits = found.family.candidates.values()
    least = min(fit.bic for fit in fits)
    return [
        {
            "model": fit.model,
            "stage": STAGE,
            "log_likelihood": fit.log_likelihood,
            "n_parameters": fit.n_parameters,
            "criterion": fit.bic - least,
            "adequate": found.is_adequate if fit.model == found.model else None,
            "selected": is_selected and fit.model == found.model,
        }
        for fit in fits
    ]


def memory_tests(found: MemoryModel) -> list[dict[str, Any]]:
    """Return the rows of table `adequacy_tests`: prediction, containment, and the permanent core."""
    gain, core = found.gain, found.core_verdict
    rows: list[dict[str, Any]] = [
        {
            "test": "prediction",
            "subject": found.model,
            "effect": gain,
            "verdict": "not_tested" if gain is None else "holds" if gain > 0 else "fails",
        },
        {
            "test": "containment",
            "subject": found.model,
            "effect": found.miss,
            "relevant": _LARGEST_MISS,
            "verdict": "holds" if found.miss < _LARGEST_MISS else "fails",
        },
    ]
    if core is not None and found.family.core is not None:
        rows.append(
            {
                "test": "core",
                "subject": found.family.core.fit.model,
                "effect": min(found.family.core.differences.values()),
                "smallest_seen": found.family.core.resolution,
                "verdict": _CORE_VERDICTS.get(core, "absent"),
            }
        )
    return rows
