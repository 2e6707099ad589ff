"""Decide from the findings of a collection which verdict holds: one table, first row that holds.

Neither fits nor tests; see `evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName

if TYPE_CHECKING:
    from collections.abc import Callable

#: Fewest crawls that allow a test of the model.
FEWEST_CRAWLS = 5
#: Widest interval of kappa that is quoted as a number.
WIDEST_KAPPA = 0.1


@dataclass(frozen=True)
class Findings:
    """Findings on a collection, without the crawls that were set aside.

    Attributes
    ----------
    n_crawls
        Number of crawls of the selected period.
    model
        The simplest adequate model; None: no model is adequate.
    dependence_fails
        Whether the best model without memory leaves dependence between captures of successive crawls.
    memory
        Under an adequate model with memory, the difference of the capture probabilities after a fetch and after a miss;
        None without such a model.
    is_tested_enough
        Whether the tests would have found a relevant departure with probability 0.8.
    kappa_width
        Width of the 95 % interval of kappa; None for models without a core.
    """

    n_crawls: int
    model: str | None = None
    dependence_fails: bool = False
    memory: float | None = None
    is_tested_enough: bool = False
    kappa_width: float | None = None

    @property
    def is_wide(self) -> bool:
        """Whether the interval of kappa is too wide to quote a number."""
        return self.kappa_width is not None and self.kappa_width > WIDEST_KAPPA


def _is_one_of(*models: str) -> Callable[[Findings], bool]:
    return lambda found: found.model in models


_RULES: tuple[tuple[Callable[[Findings], bool], VerdictName], ...] = (
    (lambda found: found.n_crawls < FEWEST_CRAWLS, VerdictName.TOO_SHORT),
    (lambda found: found.memory is not None and found.memory > 0, VerdictName.TEMPORARY_ABSENCE),
    (lambda found: found.memory is not None, VerdictName.REVISIT_AVOIDANCE),
    (lambda found: found.model is None and found.dependence_fails, VerdictName.ORDER_MATTERS),
    (lambda found: found.model is None, VerdictName.MISFIT),
    (
        lambda found: not found.is_tested_enough and found.model in {"homogeneous", "two_shells_no_core"},
        VerdictName.NOT_TESTED_ENOUGH,
    ),
    (_is_one_of("homogeneous"), VerdictName.NO_CORE_NEEDED),
    (_is_one_of("two_shells_no_core"), VerdictName.UNEVEN_NO_CORE),
    (lambda found: found.is_wide, VerdictName.INCONCLUSIVE),
    (_is_one_of("core_missed"), VerdictName.CORE_MISSED),
    (_is_one_of("core_two_shells", "core_three_shells"), VerdictName.UNEVEN_SHELL),
    (
        _is_one_of(
            "homogeneous_growing",
            "core_shell_growing",
            "two_shells_no_core_growing",
            "core_missed_growing",
            "core_two_shells_growing",
            "long_lived_growing",
        ),
        VerdictName.POPULATION_CHANGES,
    ),
    (_is_one_of("core_shell_fluctuating", "core_two_shells_fluctuating"), VerdictName.POPULATION_FLUCTUATES),
    (_is_one_of("long_lived", "long_lived_two_shells"), VerdictName.LONG_LIVED_PART),
    (lambda found: not found.is_tested_enough, VerdictName.NOT_TESTED_ENOUGH),
    (_is_one_of("core_shell"), VerdictName.SOUND),
)


def decide(found: Findings) -> VerdictName:
    """Return the verdict on a collection: that of the first rule that holds.

    Raises
    ------
    ValueError
        When the model has no rule.

    Examples
    --------
    >>> decide(Findings(24, "core_shell", is_tested_enough=True, kappa_width=0.02)).value
    'sound'
    >>> decide(Findings(24, "core_shell", is_tested_enough=False, kappa_width=0.02)).value
    'not_tested_enough'
    """
    for holds, name in _RULES:
        if holds(found):
            return name
    raise ValueError(f"no rule covers the model {found.model!r}; expected a model of the ladder")
