"""Fit the open-population model of Cormack, Jolly and Seber to the m-array by maximum likelihood.

Does not search (see `maximum_likelihood`), distinguish classes of elements (see `mixtures`) or compute closed forms
(see `jolly_seber`).

The homogeneous urn is this model: survival φ over a gap δ is α^δ, and the capture probability p is the coverage c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.special import xlog1py, xlogy

from crawl_urn_dagster.urn.capture_recapture.recaptures import (
    RecaptureCounts,
    closed_forms,
    gaps_of,
    never_seen_again,
    never_seen_again_gradient,
    recapture_counts,
    smallest_gap,
)
from crawl_urn_dagster.urn.optimise.maximum_likelihood import fit_at, maximise, nothing_estimated
from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
from crawl_urn_dagster.urn.results.result import FitKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.optimise.maximum_likelihood import MaximumLikelihoodFit
    from crawl_urn_dagster.urn.results.result import Clock

Structure = Literal["constant", "crawl", "stratum"]

# Closed forms may be 0 or more than 1, where no search can start.
_START = (0.001, 0.999)


def fit_cormack_jolly_seber(
    sizes: npt.ArrayLike,
    recaptures: npt.ArrayLike,
    *,
    times: npt.ArrayLike | None = None,
    survival: Structure = "constant",
    coverage: Structure = "constant",
    losses: npt.ArrayLike | None = None,
    dispersion: float = 1.0,
    clock: Clock = "crawl",
) -> MaximumLikelihoodFit:
    """Maximise the likelihood of the m-array.

    ln L = Σ T_(t+1) ln φ_t + m_t ln p_t + z_t ln(1-p_t) + (R_t - r_t) ln χ_t over the crawls, with T_t = m_t + z_t and
    the probability of no later capture χ_t = 1 - φ_t + φ_t (1-p_(t+1)) χ_(t+1), where χ of the last crawl is 1. The
    constant of the multinomial is left out.

    Parameters
    ----------
    sizes, recaptures
        Arguments of `recapture_counts`: without leading axes, or with one axis of strata.
    times
        Times of the crawls, shape (n_crawls,), not decreasing; one unit apart if None.
    survival, coverage
        ``constant``; ``crawl`` for one value per gap or crawl; ``stratum`` for one value per stratum.
    losses
        Elements of each crawl that were not released, in the shape of the sizes; none if None. The likelihood is
        conditional on the R_t elements that were.
    dispersion
        Variance inflation factor ĉ, at least 1. Standard errors are multiplied by its square root.
    clock
        Unit of the times.

    Returns
    -------
    FitResult
        Estimates ``alpha``, survival per unit of time, and ``coverage``. A name ends in the number of the crawl or of
        the stratum, counted from 0. Survival is from that crawl to the next one, and the first crawl has no coverage.
        If both vary by crawl, survival over the last gap and coverage of the last crawl are not identified separately.
        The details are `MaximumLikelihoodDetails`.

    Raises
    ------
    ValueError
        If counts are impossible (see `recapture_counts`), the times decrease or have a different length, a structure
        is unknown, or the dispersion is less than 1.

    References
    ----------
    Lebreton, J.-D., Burnham, K. P., Clobert, J. and Anderson, D. R. (1992). Modeling survival and testing biological
    hypotheses using marked animals. Ecological Monographs 62, 67-118.

    Examples
    --------
    >>> fit = fit_cormack_jolly_seber([100, 80, 90], [[0, 40, 12], [0, 0, 32], [0, 0, 0]])
    >>> round(fit.alpha, 3), round(fit.coverage, 3)
    (0.7, 0.571)
    """
    if not dispersion >= 1:
        raise ValueError(f"dispersion is {dispersion}; expected at least 1")
    counts = recapture_counts(sizes, recaptures, losses)
    gaps = gaps_of(times, counts.captured.shape[-1])
    strata = counts.captured.reshape(-1, gaps.size + 1).shape[0]
    counts = RecaptureCounts(*(array.reshape(strata, gaps.size + 1) for array in counts))
    alpha_names, alpha_index = _parameters("alpha", survival, strata, range(gaps.size))
    coverage_names, coverage_index = _parameters("coverage", coverage, strata, range(1, gaps.size + 1))
    names = alpha_names + coverage_names
    trials = int(counts.released[:, :-1].sum())
    kind = FitKind("recaptures", "cormack_jolly_seber", "exact", clock)
    if not counts.recaptured.any():
        return nothing_estimated(kind, names, trials, Reason(ReasonCode.NO_RECAPTURES))

    unit = smallest_gap(gaps)
    exponents = gaps / unit
    index = np.stack([alpha_index, coverage_index + len(alpha_names)])

    def differentiated(parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values, shape (...), and derivatives by α and p of every stratum and gap, shape (..., cells)."""
        alpha, p = np.moveaxis(parameters[..., index], -3, 0)
        value, by_phi, by_p = _log_likelihood(counts, alpha**exponents, p)
        slopes = np.stack([by_phi * exponents * alpha ** (exponents - 1), by_p], axis=-3)
        return value, slopes.reshape(*parameters.shape[:-1], index.size)

    def log_likelihood(parameters: FloatArray) -> tuple[float, FloatArray]:
        value, slopes = differentiated(parameters)
        return float(value), np.bincount(index.ravel(), weights=slopes, minlength=len(names)).astype(np.float64)

    cells = csr_array((np.ones(index.size), (np.arange(index.size), index.ravel())), shape=(index.size, len(names)))

    def gradients(parameters: FloatArray) -> FloatArray:
        return np.asarray(differentiated(parameters)[1] @ cells)

    best = maximise(log_likelihood, [_start(counts, exponents, index, len(names))], trials, gradients=gradients)
    powers = np.append(np.full(len(alpha_names), 1 / unit), np.ones(len(coverage_names)))
    return fit_at(
        log_likelihood,
        best,
        kind=kind,
        parameters=names,
        sample_size=trials,
        powers=powers,
        dispersion=dispersion,
        gradients=gradients,
    )


def _start(
    counts: RecaptureCounts, exponents: FloatArray, index: npt.NDArray[np.intp], n_parameters: int
) -> FloatArray:
    """Average the closed forms over the gaps and strata of each parameter; 0.5 if none is identified."""
    _, phi, p = closed_forms(counts)
    with np.errstate(divide="ignore"):
        cells = np.stack([np.minimum(phi[:, :-1], 1) ** (1 / exponents), p[:, 1:]])
    known = np.isfinite(cells)
    n_known = np.bincount(index[known], minlength=n_parameters)
    sums = np.bincount(index[known], weights=cells[known], minlength=n_parameters)
    return np.where(n_known > 0, sums / np.maximum(n_known, 1), 0.5).clip(*_START)


def _log_likelihood(
    counts: RecaptureCounts, phi: FloatArray, p: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-likelihood, shape (...), and its derivatives by φ and p of every gap, in their shape."""
    marked, passed = counts.marked[..., 1:], counts.passed[..., 1:]
    survived, never = marked + passed, counts.released - counts.recaptured
    chi = never_seen_again(phi, p)
    value = xlogy(survived, phi) + xlogy(marked, p) + xlog1py(passed, -p) + xlogy(never, chi)[..., :-1]
    by_phi, by_p = never_seen_again_gradient(never, phi, p, chi)
    return np.asarray(value.sum(axis=(-2, -1))), by_phi + survived / phi, by_p + marked / p - passed / (1 - p)


def _parameters(name: str, structure: Structure, strata: int, crawls: range) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return the names of the parameters of a structure, and the index of the parameter of each stratum and gap."""
    shape = (strata, len(crawls))
    if structure == "constant":
        return [name], np.zeros(shape, dtype=np.intp)
    if structure == "crawl":
        return [f"{name}_{crawl}" for crawl in crawls], np.broadcast_to(np.arange(len(crawls)), shape)
    if structure == "stratum":
        return [f"{name}_{stratum}" for stratum in range(strata)], np.broadcast_to(np.arange(strata)[:, None], shape)
    raise ValueError(f"the structure of {name} is {structure!r}; expected 'constant', 'crawl' or 'stratum'")
