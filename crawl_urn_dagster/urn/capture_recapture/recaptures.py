"""Reduce the m-array to the minimal sufficient statistic of the Cormack-Jolly-Seber model, with its closed forms.

Does not maximise likelihoods (see `cormack_jolly_seber`) or compute standard errors (see `jolly_seber`).

In these counts (Burnham 1991) every computation takes a number of steps proportional to the number of crawls, whatever
the number of elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawl_urn_dagster.urn.data.arguments import gaps_between

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray


class RecaptureCounts(NamedTuple):
    """Minimal sufficient statistic of the model; arrays of shape (..., n_crawls).

    Attributes
    ----------
    captured
        Elements n_t captured by the crawl.
    released
        Elements R_t captured and released by the crawl; the other captured elements are losses on capture.
    recaptured
        Elements r_t of the crawl that were captured again later.
    marked
        Elements m_t of the crawl that were captured before.
    passed
        Elements z_t captured before and after the crawl but not by it.

    References
    ----------
    Burnham, K. P. (1991). On a unified theory for release-resampling of animal populations. In Proceedings of the 1990
    Taipei Symposium in Statistics, 11-35.
    """

    captured: FloatArray
    released: FloatArray
    recaptured: FloatArray
    marked: FloatArray
    passed: FloatArray


def recapture_counts(
    sizes: npt.ArrayLike, recaptures: npt.ArrayLike, losses: npt.ArrayLike | None = None
) -> RecaptureCounts:
    """Reduce the m-array to the statistic on which the likelihood depends.

    Parameters
    ----------
    sizes
        Elements n_t of each crawl, shape (..., n_crawls).
    recaptures
        Elements r_ij captured by crawl i and next captured by crawl j, shape (..., n_crawls, n_crawls); see
        `CaptureHistoryCounts.recaptures`. Only entries above the diagonal are read.
    losses
        Elements of each crawl that were not released, in the shape of the sizes; none if None. See
        `CaptureHistoryCounts.losses`.

    Returns
    -------
    RecaptureCounts
        The statistic.

    Raises
    ------
    ValueError
        If the shapes do not match, a count is negative or not finite, more elements of a crawl are captured before
        than it contains, or more are captured again or lost.

    Examples
    --------
    >>> recapture_counts([5, 6, 7], [[0, 2, 3], [0, 0, 4], [0, 0, 0]]).passed.tolist()
    [0.0, 3.0, 0.0]
    """
    captured = np.asarray(sizes, dtype=np.float64)
    table = np.asarray(recaptures, dtype=np.float64)
    lost = np.zeros_like(captured) if losses is None else np.asarray(losses, dtype=np.float64)
    if table.ndim == 0 or table.shape != (*captured.shape, captured.shape[-1]) or lost.shape != captured.shape:
        raise ValueError(
            f"sizes has shape {captured.shape}, recaptures {table.shape} and losses {lost.shape}; "
            "expected (..., crawls), (..., crawls, crawls) and (..., crawls)"
        )
    table = np.triu(table, k=1)
    for name, counts in {"sizes": captured, "recaptures": table, "losses": lost}.items():
        invalid = ~(np.isfinite(counts) & (counts >= 0))
        if invalid.any():
            place = np.argwhere(invalid)[0].tolist()
            raise ValueError(f"{name}{place} is {counts[invalid][0]}; expected a finite number of at least 0")
    recaptured, marked = table.sum(axis=-1), table.sum(axis=-2)
    for name, counts in {"captured again or lost": recaptured + lost, "captured before": marked}.items():
        excessive = counts > captured
        if excessive.any():
            crawl = int(np.nonzero(excessive)[-1][0])
            raise ValueError(
                f"crawl {crawl} contains {captured[excessive][0]:.0f} elements, of which "
                f"{counts[excessive][0]:.0f} were {name}; expected at most its size"
            )
    # Elements captured before the crawl, and by it or after it.
    known = np.cumsum(recaptured - marked, axis=-1) + marked - recaptured
    return RecaptureCounts(captured, captured - lost, recaptured, marked, known - marked)


def closed_forms(counts: RecaptureCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return M, φ to the next crawl and p of every crawl, in the shape of the counts; NaN if not identified."""
    _, released, r, m, z = counts
    with np.errstate(divide="ignore", invalid="ignore"):
        marked = np.where(r > 0, m + z * released / r, np.nan)
        return marked, next_crawl(marked) / (marked - m + released), m / marked


def next_crawl(values: FloatArray) -> FloatArray:
    """Return the values of the next crawl, NaN at the last crawl."""
    return np.concatenate([values[..., 1:], np.full_like(values[..., :1], np.nan)], axis=-1)


def never_seen_again(phi: FloatArray, p: FloatArray) -> FloatArray:
    """Return the probability χ that an element eligible at a crawl is never captured after it.

    Parameters
    ----------
    phi
        Survival over each gap, in [0, 1], shape (..., n_gaps).
    p
        Coverage of the crawl that ends each gap, in [0, 1], shape (..., n_gaps).

    Returns
    -------
    ndarray
        χ of each crawl, shape (..., n_gaps + 1); 1 at the last crawl.

    Examples
    --------
    >>> import numpy as np
    >>> never_seen_again(np.array([0.5, 0.5]), np.array([0.4, 0.4])).round(3).tolist()
    [0.74, 0.8, 1.0]
    """
    return not_captured_after(1 - phi, phi * (1 - p))


def not_captured_after(dead: FloatArray, missed: FloatArray) -> FloatArray:
    """Return `never_seen_again` from the probabilities of its two causes.

    Parameters
    ----------
    dead, missed
        Probability, over each gap, that the element dies, and that it survives and the next crawl misses it, shape
        (..., n_gaps). Both may be complex, to carry derivatives.
    """
    dead, missed = np.moveaxis(dead, -1, 0), np.moveaxis(missed, -1, 0)
    chi = [np.ones(dead.shape[1:], dtype=np.result_type(dead, missed))]
    for k in range(len(dead) - 1, -1, -1):
        chi.append(dead[k] + missed[k] * chi[-1])
    return np.stack(chi[::-1], axis=-1)


def never_seen_again_gradient(
    weights: FloatArray, phi: FloatArray, p: FloatArray, chi: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Differentiate ``sum(weights * log(chi))`` by phi and by p.

    Parameters
    ----------
    weights
        Shape (..., n_gaps + 1).
    phi, p
        Arguments of `never_seen_again`.
    chi
        Result of `never_seen_again`, more than 0.

    Returns
    -------
    by_phi, by_p : ndarray
        Derivatives, shape (..., n_gaps).
    """
    # The effect of a change of χ at a crawl on the sum, including the effect through the crawls before it.
    survived, missed, direct = (np.moveaxis(values, -1, 0) for values in (phi, 1 - p, weights / chi))
    by_chi = [direct[0]]
    for k in range(1, len(survived)):
        by_chi.append(direct[k] + by_chi[-1] * survived[k - 1] * missed[k - 1])
    before, after = np.stack(by_chi, axis=-1)[..., : len(survived)], chi[..., 1:]
    return before * ((1 - p) * after - 1), -before * phi * after


def gaps_of(times: npt.ArrayLike | None, n_crawls: int) -> FloatArray:
    """Return the gaps between crawls, shape (n_crawls - 1,); each is 1 if `times` is None.

    Raises
    ------
    ValueError
        If the times decrease or are NaN, or their number is not `n_crawls`.
    """
    calendar = np.arange(n_crawls) if times is None else np.asarray(times, dtype=np.float64)
    if calendar.shape != (n_crawls,):
        raise ValueError(f"times has shape {calendar.shape}; expected ({n_crawls},), one time per crawl")
    return gaps_between(calendar)


def smallest_gap(gaps: FloatArray) -> float:
    """Return the smallest gap above 0, or 1 if all gaps are 0.

    In this unit of time, survival is neither close to 0 nor flat, whatever the unit of the times is.
    """
    return float(gaps[gaps > 0].min()) if gaps.any() else 1.0
