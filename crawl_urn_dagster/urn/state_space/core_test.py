"""Test whether a core that never dies and is never missed describes histories as well as its relaxations.

The *sure* relaxation lets the core die, the *permanent* one lets it be absent, and one more Markov class lets it do
both. Does not estimate the core; see `intervals`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawl_urn_dagster.urn.results.codes import Code
from crawl_urn_dagster.urn.state_space.fitting import MODELS, StateSpaceFit, fit_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawl_urn_dagster.urn.state_space.likelihood import Observations

_LARGEST_DIFFERENCE = 2.0
_CLEAR_DIFFERENCE = 10.0
_LEAST_CRAWLS = 20


class CoreVerdict(Code):
    """Outcome of the test for a permanent core.

    Examples
    --------
    >>> CoreVerdict("accepted") is CoreVerdict.ACCEPTED
    True
    """

    #: The core is as good as its relaxations.
    ACCEPTED = "accepted"
    #: The most stable elements die.
    DIES = "dies"
    #: The most stable elements are missed.
    IS_MISSED = "is_missed"
    #: The most stable elements die and are missed, or no class resembles a core.
    NO_CORE = "no_core"
    #: There are fewer than 20 crawls, and a fit without a core is nearly as good.
    TOO_FEW_CRAWLS = "too_few_crawls"


class CoreTest(NamedTuple):
    """Test for a permanent core.

    Attributes
    ----------
    verdict
        Outcome.
    fit
        Best fit with a core.
    differences
        BIC minus that of the core, by the kind of the class in its place: ``sure``, ``permanent`` and ``markov``.
        Relaxations are absent if a Markov class is clearly better than the core.
    resolution
        Loss per crawl below which a class cannot be distinguished from a core, 1 divided by the number of crawls.
    """

    verdict: CoreVerdict
    fit: StateSpaceFit
    differences: Mapping[str, float]
    resolution: float


def check_permanent_core(candidates: Mapping[str, StateSpaceFit], data: Observations, *, seed: int) -> CoreTest | None:
    """Test the best candidate with a core against its relaxations.

    Parameters
    ----------
    candidates
        Fits by model, at least one of them without a core.
    data
        Sufficient statistic that was fitted.
    seed
        Seed of the fits of the relaxations.

    Returns
    -------
    CoreTest or None
        None if no candidate has a core.
    """
    with_core = [fit for fit in candidates.values() if "core" in fit.layout.kinds]
    if not with_core:
        return None
    fit = min(with_core, key=lambda candidate: candidate.bic)
    rest = fit.layout.kinds[1:]
    without = min(candidate.bic for candidate in candidates.values() if "core" not in candidate.layout.kinds) - fit.bic

    def difference(kind: str) -> float:
        model = next(name for name, kinds in MODELS.items() if kinds == (kind, *rest))
        relaxed = candidates.get(model) or fit_model(model, data, seed=seed)
        return relaxed.bic - fit.bic

    differences = {"markov": difference("markov")}
    if min(differences["markov"], without) >= -_LARGEST_DIFFERENCE:
        differences.update({kind: difference(kind) for kind in ("sure", "permanent")})
    return CoreTest(_verdict(fit, differences, without), fit, differences, 1 / fit.n_crawls)


def _verdict(fit: StateSpaceFit, differences: Mapping[str, float], without: float) -> CoreVerdict:
    worse = {kind for kind, difference in differences.items() if difference < -_LARGEST_DIFFERENCE}
    if "markov" in worse or worse >= {"sure", "permanent"}:
        return CoreVerdict.NO_CORE
    if worse:
        return CoreVerdict.DIES if "sure" in worse else CoreVerdict.IS_MISSED
    if without < -_LARGEST_DIFFERENCE:
        return CoreVerdict.NO_CORE
    if fit.n_crawls < _LEAST_CRAWLS and without < _CLEAR_DIFFERENCE:
        return CoreVerdict.TOO_FEW_CRAWLS
    return CoreVerdict.ACCEPTED
