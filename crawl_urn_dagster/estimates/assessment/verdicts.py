"""Name and word every verdict on a collection, once.

Does not decide which verdict holds; see `decision`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.urn import Status
from crawl_urn_dagster.urn.results.codes import Code

if TYPE_CHECKING:
    from collections.abc import Mapping


class VerdictName(Code):
    """Overall result of the tests of a collection.

    Examples
    --------
    >>> VerdictName("sound") is VerdictName.SOUND
    True
    """

    SOUND = "sound"
    NOT_TESTED_ENOUGH = "not_tested_enough"
    NO_CORE_NEEDED = "no_core_needed"
    UNEVEN_NO_CORE = "uneven_no_core"
    CORE_MISSED = "core_missed"
    UNEVEN_SHELL = "uneven_shell"
    POPULATION_CHANGES = "population_changes"
    POPULATION_FLUCTUATES = "population_fluctuates"
    LONG_LIVED_PART = "long_lived_part"
    TEMPORARY_ABSENCE = "temporary_absence"
    REVISIT_AVOIDANCE = "revisit_avoidance"
    INCONCLUSIVE = "inconclusive"
    NOT_IDENTIFIED = "not_identified"
    CORE_NOT_PERMANENT = "core_not_permanent"
    MISFIT = "misfit"
    ORDER_MATTERS = "order_matters"
    NO_URN = "no_urn"
    NOT_FITTED = "not_fitted"
    TOO_SHORT = "too_short"


class Quotable(str, Enum):
    """Whether the numbers of a collection may be quoted.

    Examples
    --------
    >>> VERDICTS[VerdictName.MISFIT].quotable.value
    'no'
    """

    YES = "yes"
    WITH_RESERVATION = "yes, with a reservation"
    NO = "no"


class _Wording(NamedTuple):
    """Answer, status of the numbers and sentences of a verdict; the sentences may quote numbers by name."""

    quotable: Quotable
    status: Status
    meaning: str


_YES, _RESERVED, _NO = Quotable.YES, Quotable.WITH_RESERVATION, Quotable.NO

VERDICTS: Mapping[VerdictName, _Wording] = {
    VerdictName.SOUND: _Wording(
        _YES,
        Status.OK,
        "The urn model fits, and its tests would have found a departure that matters. Quote the estimates with their "
        "confidence intervals.",
    ),
    VerdictName.NO_CORE_NEEDED: _Wording(
        _YES,
        Status.OK,
        "One class of elements explains the collection; no permanent core is needed.",
    ),
    VerdictName.UNEVEN_NO_CORE: _Wording(
        _YES,
        Status.OK,
        "Two classes of elements explain the collection; no permanent core is needed.",
    ),
    VerdictName.NOT_TESTED_ENOUGH: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "No test refutes the model, but the tests could have missed a departure that matters. Quote the estimates "
        "as provisional.",
    ),
    VerdictName.CORE_MISSED: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "Crawls miss elements of the core at times. The core's fraction allows for this.",
    ),
    VerdictName.UNEVEN_SHELL: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "The elements of the shell differ: the collection needs a core and several shells. The core's fraction allows "
        "for this; a single shell coverage or shell survival does not describe the collection.",
    ),
    VerdictName.POPULATION_CHANGES: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "The population grows or shrinks steadily. The core's fraction holds for the middle of the period.",
    ),
    VerdictName.POPULATION_FLUCTUATES: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "The size of the population varies from crawl to crawl. The core's fraction is the mean over the period.",
    ),
    VerdictName.LONG_LIVED_PART: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "The longest-lived part loses elements, so the collection has no permanent core.",
    ),
    VerdictName.TEMPORARY_ABSENCE: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "Elements that one crawl captures are captured again by the next more often than others: absence comes in "
        "runs. The numbers come from a model with temporary absence. The urn of independent draws is refuted.",
    ),
    VerdictName.REVISIT_AVOIDANCE: _Wording(
        _RESERVED,
        Status.QUALIFIED,
        "Elements that one crawl captures are captured again by the next less often than others: the crawler avoids "
        "recent fetches. The numbers come from a model that allows for it. The urn of independent draws is refuted.",
    ),
    VerdictName.INCONCLUSIVE: _Wording(
        _RESERVED,
        Status.NOT_IDENTIFIED,
        "The data do not determine the core well enough for a single number. Quote its fraction of the urn and its "
        "share of a crawl by their confidence intervals only. The other numbers may be quoted.",
    ),
    VerdictName.NOT_IDENTIFIED: _Wording(
        _RESERVED,
        Status.NOT_IDENTIFIED,
        "The data do not determine every parameter. More crawls are needed, or capture histories if there are none.",
    ),
    VerdictName.CORE_NOT_PERMANENT: _Wording(
        _NO,
        Status.REFUTED,
        "Elements leave the core or are sometimes missed, so there is no permanent core of the fitted size.",
    ),
    VerdictName.ORDER_MATTERS: _Wording(
        _NO,
        Status.REFUTED,
        "Whether a crawl captures an element depends on whether the previous crawl did, in a way that no fitted model "
        "describes. Use first returns, crawl sizes and overlaps.",
    ),
    VerdictName.MISFIT: _Wording(
        _NO,
        Status.REFUTED,
        "Every fitted model departs from the data by more than sampling explains. Check the failed tests, and changes "
        "to seeds, scope or crawl size.",
    ),
    VerdictName.NO_URN: _Wording(
        _NO,
        Status.MODEL_VIOLATION,
        "The urn model with constant coverage does not fit this collection, so its parameters cannot be quoted. Use "
        "first returns, crawl sizes and the fits of model revisit_delay, which allow for a crawler that avoids recent "
        "fetches.",
    ),
    VerdictName.NOT_FITTED: _Wording(
        _NO,
        Status.NOT_CONVERGED,
        "The search did not converge. Check for crawls that differ from all others.",
    ),
    VerdictName.TOO_SHORT: _Wording(
        _NO,
        Status.TOO_FEW_POINTS,
        "There are too few crawls to test a model.",
    ),
}


@dataclass(frozen=True)
class Verdict:
    """Overall result of the tests of a collection.

    Attributes
    ----------
    name
        One of `VerdictName`.
    meaning
        Meaning of the verdict and recommended action, as sentences.
    """

    name: VerdictName
    meaning: str

    @property
    def quotable(self) -> Quotable:
        """Whether the numbers may be quoted."""
        return VERDICTS[self.name].quotable

    @property
    def status(self) -> Status:
        """Status of the numbers."""
        return VERDICTS[self.name].status


def are_curves_unreported(name: VerdictName) -> bool:
    """Return whether nothing may be concluded from the selected fit of the curves.

    Examples
    --------
    >>> are_curves_unreported(VerdictName.MISFIT), are_curves_unreported(VerdictName.SOUND)
    (True, False)
    """
    return VERDICTS[name].quotable is Quotable.NO or name is VerdictName.INCONCLUSIVE


def state_verdict(name: VerdictName, *findings: str) -> Verdict:
    """Return a verdict with the sentences of its findings after its meaning."""
    return Verdict(name, " ".join(filter(None, [VERDICTS[name].meaning, *findings])))
