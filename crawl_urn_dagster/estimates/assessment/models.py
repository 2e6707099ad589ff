"""Test every model of the ladder against the capture histories, and select the simplest adequate one.

Does not fit models (see `urn.open_population`) or decide on the verdict (see `decision`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.urn.goodness_of_fit.cells import CellComparison, compare_cells, expected_cells, observed_cells
from crawl_urn_dagster.urn.goodness_of_fit.dependence import (
    Dependence,
    DependenceTables,
    count_tables,
    dependence_effects,
    expected_tables,
)
from crawl_urn_dagster.urn.goodness_of_fit.outlying_crawls import find_outlying_crawls
from crawl_urn_dagster.urn.goodness_of_fit.scope_break import expected_runs, find_scope_break, observed_runs
from crawl_urn_dagster.urn.open_population.ladder import Ladder, climb

if TYPE_CHECKING:
    from crawl_urn_dagster.urn import CaptureHistoryCounts
    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.goodness_of_fit.scope_break import ScopeBreak
    from crawl_urn_dagster.urn.open_population.ladder import OpenPopulationFit

#: Log odds ratio of dependence that matters for the quoted numbers.
RELEVANT_DEPENDENCE = 0.3
# A dependence this large is memory: no model of independent draws with more classes removes it.
_MEMORY = 0.5
_FEWEST_CRAWLS_OF_A_SIDE = 5


class ModelTests(NamedTuple):
    """Tests of one model."""

    dependence: Dependence
    cells: CellComparison

    @property
    def dependence_fails(self) -> bool:
        """Whether captures of successive crawls depend on each other beyond the model."""
        return self.dependence.trap_dependence.has_failed

    @property
    def is_adequate(self) -> bool:
        """Whether no test refutes the model by a relevant effect."""
        return not (self.dependence_fails or self.dependence.transience.has_failed or self.cells.has_failed)


@dataclass(frozen=True, eq=False)
class TestedHistories:
    """Capture histories with their observed tables, and the tests of each model so far.

    Attributes
    ----------
    histories
        Capture histories of the assessed crawls.
    """

    histories: CaptureHistoryCounts
    _tests: dict[str, ModelTests] = field(default_factory=dict)

    @cached_property
    def tables(self) -> DependenceTables:
        """Observed tables of dependence and transience."""
        return count_tables(self.histories)

    @cached_property
    def cells(self) -> FloatArray:
        """Observed elements by first capture, last capture and captures."""
        return observed_cells(self.histories)

    def tests(self, fit: OpenPopulationFit) -> ModelTests:
        """Return the tests of a fitted model."""
        if fit.model not in self._tests:
            effects = dependence_effects(self.tables, expected_tables(fit.classes))
            cells = compare_cells(
                self.cells, expected_cells(fit.classes), fit.n_parameters, n_crawls=self.histories.n_crawls
            )
            self._tests[fit.model] = ModelTests(effects, cells)
        return self._tests[fit.model]

    def known_tests(self, fit: OpenPopulationFit) -> ModelTests | None:
        """Return the tests of a fitted model; None if it was not tested because another has far more support."""
        return self._tests.get(fit.model)

    def is_adequate(self, fit: OpenPopulationFit) -> bool:
        """Whether no test refutes a fitted model."""
        return self.tests(fit).is_adequate

    def c_hat(self, fit: OpenPopulationFit) -> float:
        """Return the variance inflation of a fitted model by its cells; 1 if they are not tested."""
        cells = self.tests(fit).cells
        return cells.c_hat if cells.is_tested else 1.0

    def has_memory(self, fit: OpenPopulationFit) -> bool:
        """Whether captures depend on the previous crawl by more than any mixture without memory explains."""
        effect = self.tests(fit).dependence.trap_dependence
        return effect.has_failed and abs(effect.effect) > _MEMORY


@dataclass(frozen=True, eq=False)
class TestedLadder:
    """The ladder of models on the assessed crawls.

    Attributes
    ----------
    tested
        Capture histories of these crawls, with tests.
    ladder
        Fitted models.
    crawls
        Indices of the assessed crawls.
    set_aside
        Indices of crawls that were left out because they differ from all others, most outlying first.
    scope_break
        Index of the first crawl after a change of scope, if only one side was assessed.
    """

    tested: TestedHistories
    ladder: Ladder
    crawls: tuple[int, ...]
    set_aside: tuple[int, ...]
    scope_break: int | None = None


def climb_tested(histories: CaptureHistoryCounts) -> TestedLadder:
    """Set outlying crawls aside, fit the ladder, and fit it again to the longer side of a break of scope.

    Parameters
    ----------
    histories
        Capture histories of all crawls, at least 5.
    """
    set_aside = tuple(int(crawl) for crawl in find_outlying_crawls(histories).crawls)
    crawls = tuple(crawl for crawl in range(histories.n_crawls) if crawl not in set_aside)
    whole = _climb(histories.select_crawls(crawls))
    found = _break_of(*whole)
    if found is None or found.crawl is None:
        return TestedLadder(*whole, crawls, set_aside)
    side = crawls[found.longer_side]
    if len(side) < _FEWEST_CRAWLS_OF_A_SIDE:
        return TestedLadder(*whole, crawls, set_aside)
    return TestedLadder(*_climb(histories.select_crawls(side)), side, set_aside, crawls[found.crawl])


def _climb(histories: CaptureHistoryCounts) -> tuple[TestedHistories, Ladder]:
    tested = TestedHistories(histories)
    return tested, climb(histories, tested.is_adequate, tested.c_hat, tested.has_memory)


def _break_of(tested: TestedHistories, ladder: Ladder) -> ScopeBreak | None:
    """Compare the histories with a core and shell without a break; None if they could not be fitted."""
    core_shell = next((fit for fit in ladder.candidates if fit.model == "core_shell"), None)
    if core_shell is None:
        return None
    has_memory = ladder.selected is not None and tested.has_memory(ladder.selected)
    runs = observed_runs(tested.histories), expected_runs(core_shell.classes)
    return find_scope_break(*runs, with_steps=not has_memory)
