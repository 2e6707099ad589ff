"""What the status of a fit means, and the sentences that say why a fit has it.

Here: the statuses, and the rules and sentences that fits of curves, counts and histories share. Not here: the fits,
or whether any urn can hold (`violation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: Statuses of a fit, in order of precedence. No fit returns ``model_violation``; see `violation`.
STATUSES = ("model_violation", "too_few_points", "not_converged", "at_bound", "not_identified", "ok")
#: Statuses of which no number may be shown and no curve drawn.
WITHHELD = ("model_violation", "too_few_points", "not_converged")
#: Statuses of which no number is said, at most between which limits it is, nor anything that follows from it.
UNSAID = (*WITHHELD, "not_identified")

#: A parameter is not identified when it can move by `PARAMETER_MOVE` while no fitted point moves farther than this,
#: in crawl sizes.
FITTED_MOVE = 0.01
#: What it means that a parameter is at a bound of a ``part``, the urn or its shell.
AT_BOUND = {
    ("kappa", 0): "the homogeneous urn suffices",
    ("kappa", 1): "all elements belong to the core",
    ("alpha", 0): "nothing survives from one crawl to the next",
    ("alpha", 1): "nothing leaves the {part} within the window",
    ("coverage", 0): "a crawl samples a vanishing part of the {part}",
    ("coverage", 1): "every crawl samples the whole {part}",
}


def is_all_core(reason: object) -> bool:
    """Whether the reason of a fit, if it has one, says that there is no shell whose survival or coverage could be."""
    return isinstance(reason, str) and AT_BOUND["kappa", 1] in reason


class Alternative(NamedTuple):
    """The best fit with one parameter held elsewhere.

    Attributes
    ----------
    name
        The parameter that was held.
    parameters
        All of them, by name.
    fitted
        Shape (points,), in units of a crawl.
    """

    name: str
    parameters: Mapping[str, float]
    fitted: FloatArray


def too_few(found: str, n_parameters: int) -> str:
    """Say that what was found is not enough for so many parameters."""
    return f"{found}; {n_parameters} parameters need at least {n_parameters + 1}."


def at_bound(name: str, bound: float, meaning: str = "") -> str:
    """Say that a parameter is at a bound, and what that means."""
    return f"{name} is at its bound {bound:.0f}: {meaning}." if meaning else f"{name} is at its bound {bound:.0f}."


def judge_search(
    bounds: Sequence[str], openness: str | None, *, converged: bool, sought: str = "least squares"
) -> tuple[str, str | None]:
    """Status of what a search found, and the reasons; a fit at a bound may leave another parameter open.

    Parameters
    ----------
    bounds
        Sentences on parameters at a bound, as of `at_bound`.
    openness
        Why a parameter is not identified; None when none is open.
    converged
        Whether the search settled.
    sought
        What was searched for.
    """
    if not converged:
        return "not_converged", f"The search for the {sought} did not settle; this is the best it found."
    status = "at_bound" if bounds else "not_identified" if openness else "ok"
    return status, " ".join([*bounds, *filter(None, [openness])]) or None


def describe_openness(
    fit_leaves: str,
    parameters: Mapping[str, float],
    fitted: FloatArray,
    alternatives: Iterable[Alternative],
    misses: float,
) -> str | None:
    """Say which parameter can move while the fitted points hardly do, if one can.

    Hardly is less than the fit's own misses: what a model cannot resolve does not tell its parameters apart.

    Parameters
    ----------
    fit_leaves
        How the sentence begins, such as "The joint fit leaves".
    parameters, fitted
        The fit, as in `Alternative`.
    alternatives
        Other fits; the first that fits alike is told, and those after it are not looked at.
    misses
        Root mean square of the fit's residuals, in units of a crawl.
    """
    for name, others, other_fitted in alternatives:
        moved = float(abs(other_fitted - fitted).max())
        if moved <= max(FITTED_MOVE, misses):
            rest = " and ".join(f"{other} {value:.3f}" for other, value in others.items() if other != name)
            return (
                f"{fit_leaves} {name} open: at {others[name]:.3f} instead of {parameters[name]:.3f}, with {rest}, "
                f"no fitted point moves by more than {moved:.4f} of a crawl."
            )
    return None
