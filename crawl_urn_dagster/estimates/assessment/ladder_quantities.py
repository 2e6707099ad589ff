"""Read quantities, classes and tests from the tested ladder of models.

Does not fit or test; see `models`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crawl_urn_dagster.estimates.assessment.adjustments import (
    complement,
    over_crawls,
    over_earlier_crawls,
    over_first_captures,
    with_rule_of_three,
    without_newcomers,
)
from crawl_urn_dagster.estimates.assessment.models import RELEVANT_DEPENDENCE
from crawl_urn_dagster.estimates.assessment.result import ElementClass, Quantity
from crawl_urn_dagster.urn import Interval, Status
from crawl_urn_dagster.urn.data.normal_intervals import DETECTABLE_STANDARD_ERRORS, NORMAL_QUANTILE
from crawl_urn_dagster.urn.open_population.members import MEMBERS_BY_NAME
from crawl_urn_dagster.urn.open_population.quantities import (
    completeness_of_window,
    kappa_over_newborn_coverage,
    last_known_over_newborn_coverage,
)
from crawl_urn_dagster.urn.open_population.quantity_intervals import Course
from crawl_urn_dagster.urn.open_population.really_new import bound_really_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawl_urn_dagster.estimates.assessment.models import ModelTests, TestedLadder
    from crawl_urn_dagster.urn.goodness_of_fit.dependence import DependenceEffect
    from crawl_urn_dagster.urn.open_population.ladder import OpenPopulationFit

#: Change of the population over the window, on the log scale, that matters for the quoted numbers.
RELEVANT_GROWTH = 0.1


def variance_inflation(found: TestedLadder) -> float:
    """Return ĉ of the cells of the selected model, at least 1."""
    fit = found.ladder.selected
    return 1.0 if fit is None else max(found.tested.c_hat(fit), 1.0)


def ladder_quantities(
    found: TestedLadder, fit: OpenPopulationFit, *, one_in: int, status: Status
) -> dict[str, Quantity]:
    """Return the quantities of an adequate model of the ladder, with intervals that its ĉ inflates.

    Parameters
    ----------
    found
        The tested ladder.
    fit
        Its selected model.
    one_in
        One in this many elements was counted.
    status
        Status of the quantities.
    """
    c_hat = variance_inflation(found)
    fit = fit.inflated(c_hat)

    def quantity(source: str, of: OpenPopulationFit = fit, scale: float = 1.0) -> Quantity:
        interval = Interval(*(scale * end for end in of.intervals[source]))
        return Quantity(scale * of.estimates[source], interval, status=status)

    quantities = {
        "completeness": over_earlier_crawls(
            over_crawls(quantity("completeness"), fit.courses["completeness_by_crawl"]),
            completeness_of_window(fit.classes),
        ),
        "population": _population(fit, one_in, status),
    }
    growing = _growing_sibling(found, fit)
    if growing is not None:
        quantities["growth"] = quantity("growth", growing.inflated(c_hat))
    sizes = found.tested.histories.elements @ found.tested.histories.seen
    exposed = float(sizes[:-1].sum())
    survival = over_crawls(quantity("mean_survival"), fit.courses["survival_by_gap"])
    quantities["survival"] = complement(with_rule_of_three(complement(survival), exposed))
    quantities["gone"] = with_rule_of_three(over_crawls(quantity("gone"), fit.courses["gone_by_gap"]), exposed)
    quantities["newcomers"] = with_rule_of_three(
        _not_negative(quantity("newcomers", scale=one_in)), (len(sizes) - 1) / one_in
    )
    quantities["really_new"] = without_newcomers(
        over_first_captures(quantity("really_new"), bound_really_new(fit.classes)), quantities["newcomers"]
    )
    if "kappa" not in fit.intervals:
        return quantities
    if not fit.estimates.get("kappa"):
        quantities["core_limit"] = Quantity(fit.intervals["kappa"].high, None, status=status)
        return quantities
    inner = _hull(found, fit, "kappa", c_hat)
    outer = kappa_over_newborn_coverage(inner, fit.classes)
    quantities["kappa"] = Quantity(fit.estimates["kappa"], outer, inner, "newborn_coverage", status)
    core_share = _hull(found, fit, "core_share", c_hat)
    quantities["core_share"] = Quantity(fit.estimates["core_share"], core_share, status=status)
    return quantities


def _not_negative(quantity: Quantity) -> Quantity:
    value, interval = quantity.value, quantity.interval
    if value is None or interval is None:
        return quantity
    return quantity._replace(value=max(value, 0.0), interval=Interval(max(interval.low, 0.0), max(interval.high, 0.0)))


def _population(fit: OpenPopulationFit, one_in: int, status: Status) -> Quantity:
    """Return the known elements of the last crawl, or of the crawl before it if those of the last are unknown."""
    inner, outer = fit.courses["known_eligible_by_crawl"], _known_eligible(fit)
    last = -1 if np.isfinite([inner.low[-1], inner.high[-1]]).all() else -2
    value, *ends = (one_in * float(end[last]) for end in (inner.estimate, outer.low, outer.high, inner.low, inner.high))
    if ends[:2] == ends[2:]:
        return Quantity(value, Interval(*ends[:2]), status=status)
    return Quantity(value, Interval(*ends[:2]), Interval(*ends[2:]), "newborn_coverage", status)


def _known_eligible(fit: OpenPopulationFit) -> Course:
    """Return the known elements by crawl, with the last interval over the coverage of new elements."""
    known = fit.courses["known_eligible_by_crawl"]
    if MEMBERS_BY_NAME[fit.model].trend == "fluctuating":
        return known
    less, more = last_known_over_newborn_coverage(fit.classes)
    low, high = known.low.copy(), known.high.copy()
    low[-1], high[-1] = low[-1] + less, high[-1] + more
    return known._replace(low=low, high=high)


def _growing_sibling(found: TestedLadder, fit: OpenPopulationFit) -> OpenPopulationFit | None:
    """Return the model with growth that a model is a special case of, or the model itself if its population changes."""
    member = MEMBERS_BY_NAME[fit.model]
    if member.trend != "constant":
        return fit
    candidates = found.ladder.candidates
    return next((one for one in candidates if member.is_special_case_of(MEMBERS_BY_NAME[one.model])), None)


def _hull(found: TestedLadder, fit: OpenPopulationFit, name: str, c_hat: float) -> Interval:
    """Return the interval over every model of the same core that the data support as much as the selected one."""
    own = next(found.ladder.delta_qaicc(one) for one in found.ladder.candidates if one.model == fit.model)
    intervals = [
        one.inflated(c_hat).intervals[name]
        for one in found.ladder.candidates
        if one.classes[0].name == fit.classes[0].name
        and one.estimates.get(name)
        # With too few captures for the criterion, no other model has support.
        and (one.model == fit.model or found.ladder.delta_qaicc(one) <= own)
    ]
    return Interval(min(low for low, _ in intervals), max(high for _, high in intervals))


def is_tested_enough(found: TestedLadder) -> bool:
    """Whether dependence, transience and growth that matter would have been found with probability 0.8."""
    fit = found.ladder.selected
    if fit is None:
        return False
    seen = [effect.smallest_detectable(variance_inflation(found)) for effect in found.tested.tests(fit).dependence]
    return max(seen) <= RELEVANT_DEPENDENCE and smallest_growth(found) <= RELEVANT_GROWTH


def smallest_growth(found: TestedLadder) -> float:
    """Return the growth over the window that would be found with probability 0.8, on the log scale."""
    growing = _growth_test(found)
    if growing is None:
        return np.inf
    low, high = growing.inflated(variance_inflation(found)).intervals["growth"]
    return DETECTABLE_STANDARD_ERRORS * (high - low) / (2 * NORMAL_QUANTILE) * (found.tested.histories.n_crawls - 1)


def _growth_test(found: TestedLadder) -> OpenPopulationFit | None:
    """Return the fit with growth of the selected model, or of a core and shell; None if it has no interval."""
    fit = found.ladder.selected
    sibling = None if fit is None else _growing_sibling(found, fit)
    core_shell = (one for one in found.ladder.candidates if one.model == "core_shell_growing")
    growing = sibling or next(core_shell, None)
    return growing if growing is not None and "growth" in growing.intervals else None


def ladder_classes(found: TestedLadder, fit: OpenPopulationFit) -> tuple[ElementClass, ...]:
    """Return the classes of a model of the ladder, as means over the crawls, with the intervals of an only shell."""
    fit = fit.inflated(variance_inflation(found))
    sizes = sum(one.eligible * one.coverage for one in fit.classes)
    known = [one.eligible * (1 - (1 - one.coverage) * one.never_before) for one in fit.classes]
    classes = []
    for one, known_of_class in zip(fit.classes, known, strict=True):
        survival, coverage = float(one.survival.mean()), float(one.coverage.mean())
        classes.append(
            ElementClass(
                one.name,
                {
                    "share_of_crawl": float((one.eligible * one.coverage / sizes).mean()),
                    "share_of_living": float((known_of_class / sum(known)).mean()),
                    "survival": survival,
                    "mean_life": np.inf if survival == 1 else 1 / (1 - survival),
                    "mean_run": np.inf if coverage == 1 else 1 / (1 - coverage),
                    "mean_absence": 1 / coverage if 0 < coverage < 1 else np.nan,
                },
                _only_shell_intervals(fit) if one.name == "shell" else {},
            )
        )
    return tuple(classes)


def _only_shell_intervals(fit: OpenPopulationFit) -> dict[str, Interval]:
    """Return the intervals of the only shell of a model, whose survival and coverage are those of all shells."""
    survival, coverage = fit.intervals["survival"], fit.intervals["coverage"]
    absence = Interval(*(1 / end if end else np.inf for end in reversed(coverage)))
    return {"survival": survival, "mean_absence": absence}


def population_rows(
    found: TestedLadder, fit: OpenPopulationFit, labels: Sequence[str], one_in: int
) -> list[dict[str, Any]]:
    """Return the rows of table `population`."""
    known, completeness = _known_eligible(fit), fit.courses["completeness_by_crawl"]
    histories = found.tested.histories
    sizes = histories.elements @ histories.seen
    # The share of the last crawl follows from the same assumption as its known elements.
    inner = fit.courses["known_eligible_by_crawl"]
    share = Course(
        completeness.estimate,
        completeness.standard_error,
        completeness.low * inner.high / known.high,
        np.minimum(completeness.high * inner.low / known.low, 1.0),
    )
    return [
        {
            "crawl": labels[crawl],
            "elements": int(one_in * sizes[position]),
            **_columns("population", known, position, one_in),
            **_columns("completeness", share, position),
        }
        for position, crawl in enumerate(found.crawls)
    ]


def _columns(name: str, course: Course, position: int, scale: float = 1.0) -> dict[str, float]:
    columns = {name: course.estimate, f"{name}_low": course.low, f"{name}_high": course.high}
    return {column: scale * float(values[position]) for column, values in columns.items()}


def candidate_rows(found: TestedLadder) -> list[dict[str, Any]]:
    """Return the rows of table `candidate_models` for the ladder."""
    return [
        {
            "model": fit.model,
            "stage": fit.stage,
            "log_likelihood": fit.log_likelihood,
            "n_parameters": fit.n_parameters,
            "criterion": found.ladder.delta_qaicc(fit),
            **_test_columns(found.tested.known_tests(fit)),
            "selected": found.ladder.is_adequate and fit is found.ladder.selected,
        }
        for fit in found.ladder.candidates
    ]


def _test_columns(tests: ModelTests | None) -> dict[str, Any]:
    """Return the results of the tests of a model; none if it was not tested."""
    if tests is None:
        return {}
    return {
        "variance_inflation": tests.cells.c_hat,
        "misplaced": tests.cells.misplaced_excess,
        "dependence": tests.dependence.trap_dependence.effect,
        "transience": tests.dependence.transience.effect,
        "adequate": tests.is_adequate,
    }


def test_rows(found: TestedLadder, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of table `adequacy_tests` for the best model of the ladder, and its crawls."""
    rows: list[dict[str, Any]] = [
        {"test": "outlying_crawl", "subject": labels[crawl], "verdict": "fails"} for crawl in found.set_aside
    ]
    if found.scope_break is not None:
        rows.append({"test": "scope_break", "subject": labels[found.scope_break], "verdict": "fails"})
    fit = found.ladder.selected
    if fit is None:
        return rows
    dependence, cells = found.tested.tests(fit)
    for name, effect in zip(("dependence", "transience"), dependence, strict=True):
        rows.append({"test": name, "subject": fit.model, **_effect_columns(effect)})
    rows.append(
        {
            "test": "cells",
            "subject": fit.model,
            "effect": cells.misplaced_excess,
            "p_value": cells.p_value,
            "verdict": "fails" if cells.has_failed else "holds" if cells.is_tested else "not_tested",
        }
    )
    seen = smallest_growth(found)
    rows.append(
        {
            "test": "population_trend",
            "subject": fit.model,
            **_growth_columns(found),
            "smallest_seen": seen if np.isfinite(seen) else None,
            "relevant": RELEVANT_GROWTH,
            "verdict": "holds" if seen <= RELEVANT_GROWTH else "too_weak" if np.isfinite(seen) else "not_tested",
        }
    )
    return rows


def _growth_columns(found: TestedLadder) -> dict[str, Any]:
    growing = _growth_test(found)
    if growing is None:
        return {}
    gaps = found.tested.histories.n_crawls - 1
    low, high = growing.intervals["growth"]
    return {
        "effect": gaps * growing.estimates["growth"],
        "effect_low": gaps * low,
        "effect_high": gaps * high,
        "se": gaps * (high - low) / (2 * NORMAL_QUANTILE),
    }


def _effect_columns(effect: DependenceEffect) -> dict[str, Any]:
    if not effect.is_tested:
        return {"verdict": "not_tested"}
    seen = effect.smallest_detectable()
    verdict = "fails" if effect.has_failed else "holds" if seen <= RELEVANT_DEPENDENCE else "too_weak"
    return {
        "effect": effect.effect,
        "effect_low": effect.effect - NORMAL_QUANTILE * effect.se,
        "effect_high": effect.effect + NORMAL_QUANTILE * effect.se,
        "se": effect.se,
        "smallest_seen": seen,
        "relevant": RELEVANT_DEPENDENCE,
        "verdict": verdict,
    }
