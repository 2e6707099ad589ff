"""Estimate elements that were never captured, and the new fraction of a crawl, from capture frequencies.

Does not estimate abundance from recaptures; see `closed_populations`. The bias of each estimator in an urn is in
`comparator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawl_urn_dagster.urn.capture_recapture.comparator import Comparator, comparator, from_unseen
from crawl_urn_dagster.urn.data.normal_intervals import logit_interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray


def chao1(frequencies: npt.ArrayLike) -> Comparator:
    """Estimate captured and not captured elements, S + (n-1)/n f₁²/(2 f₂), where n is the number of captures.

    Without f₂, (n-1)/n f₁(f₁-1)/2 elements were not captured. The variance is from Chao (1987) or, without f₂,
    from SpadeR (Chao et al. 2016). The confidence interval is log-normal in the elements not captured.

    Parameters
    ----------
    frequencies
        Elements f_k captured exactly k times, shape (k + 1,). f_0 is not read.

    Returns
    -------
    Comparator
        Estimate with its confidence interval.

    Raises
    ------
    ValueError
        If a frequency is negative.

    References
    ----------
    Chao, A. (1984). Nonparametric estimation of the number of classes in a population. Scandinavian Journal of
    Statistics 11, 265-270.

    Chao, A. (1987). Estimating the population size for capture-recapture data with unequal catchability. Biometrics
    43, 783-791.

    Examples
    --------
    >>> round(chao1([0, 5, 2, 1]).estimate, 2)
    13.73
    """
    f = _frequencies(frequencies)
    return _chao("chao1", f, float(f @ np.arange(f.size)))


def chao2(frequencies: npt.ArrayLike, n_crawls: int) -> Comparator:
    """Estimate captured and not captured elements as `chao1` does, with crawls in place of captures.

    Parameters
    ----------
    frequencies
        Elements f_k captured by exactly k crawls, shape (k + 1,). f_0 is not read.
    n_crawls
        Number of crawls, at least 1.

    Returns
    -------
    Comparator
        Estimate with its confidence interval.

    Raises
    ------
    ValueError
        If a frequency is negative.

    References
    ----------
    Chao, A. (1987). Estimating the population size for capture-recapture data with unequal catchability. Biometrics
    43, 783-791.

    Examples
    --------
    >>> round(chao2([0, 5, 2, 1], n_crawls=3).estimate, 2)
    12.17
    """
    return _chao("chao2", _frequencies(frequencies), n_crawls)


def good_turing(frequencies: npt.ArrayLike) -> tuple[Comparator, Comparator]:
    """Estimate the sample coverage, and the new fraction of a crawl, which is 1 minus the sample coverage.

    The sample coverage is the probability that a capture is of an element captured before. Its estimate is
    1 - f₁/n · (n-1) f₁/((n-1) f₁ + 2 f₂) over the n captures, with f₁ - 1 in place of f₁ and 1 in place of f₂ in the
    last factor if f₂ is 0 (Chao and Jost 2012). The variance is (f₁(1-f₁/n) + 2 f₂)/n² (Esty 1983). Confidence
    intervals are symmetric on the logit scale. See `chao1` for parameters and errors.

    References
    ----------
    Good, I. J. (1953). The population frequencies of species and the estimation of population parameters. Biometrika
    40, 237-264.

    Esty, W. W. (1983). A normal limit law for a nonparametric estimator of the coverage of a random sample. Annals of
    Statistics 11, 905-912.

    Chao, A. and Jost, L. (2012). Coverage-based rarefaction and extrapolation: standardizing samples by completeness
    rather than size. Ecology 93, 2533-2547.

    Examples
    --------
    >>> sample_coverage, new = good_turing([0, 5, 2, 1])
    >>> round(sample_coverage.estimate, 3), round(new.estimate, 3)
    (0.612, 0.388)
    """
    f = _frequencies(frequencies)
    n, (_, f1, f2) = float(f @ np.arange(f.size)), (float(count) for count in f[:3])
    once, twice = (f1, f2) if f2 else (f1 - 1, 1.0)
    factor = (n - 1) * once / ((n - 1) * once + 2 * twice) if once > 0 else 1.0
    new = f1 / n * factor if n else np.nan
    known = 0 < f1 < n
    se = float(np.sqrt(f1 * (1 - f1 / n) + 2 * f2)) / n if known else np.nan
    reason = None if known else f"{f1:.0f} of {n:.0f} captures are of elements captured only once."
    low, high = (float(end) for end in logit_interval(np.array(new), np.array(se)))
    return (
        comparator("good_turing_coverage", 1 - new, se, 1 - high, 1 - low, reason=reason),
        comparator("good_turing_new_fraction", new, se, low, high, reason=reason),
    )


def _chao(estimator: str, f: FloatArray, n: float) -> Comparator:
    seen, (_, f1, f2) = float(f[1:].sum()), (float(count) for count in f[:3])
    factor = (n - 1) / n if n else 0.0
    if f2 > 0:
        ratio = f1 / f2
        unseen = factor * f1 * ratio / 2
        variance = f2 * (factor * ratio**2 / 2 + factor**2 * (ratio**3 + ratio**4 / 4))
    else:
        unseen = factor * f1 * (f1 - 1) / 2
        variance = unseen + factor**2 * f1 * (2 * f1 - 1) ** 2 / 4
        variance -= factor**2 * f1**4 / 4 / (seen + unseen) if seen else 0.0
    reason = f"With f_1 = {f1:.0f} and f_2 = {f2:.0f}, the estimate of elements not captured is 0, without an error."
    return from_unseen(estimator, seen, unseen, variance, reason=reason)


def _frequencies(frequencies: npt.ArrayLike) -> FloatArray:
    """Check the frequencies f_k, and pad them to f_2."""
    f = np.asarray(frequencies, dtype=np.float64)
    if f.size and f.min() < 0:
        raise ValueError(f"f_{f.argmin()} is {f.min():.0f}; expected numbers of elements of at least 0")
    return np.append(f, np.zeros(max(3 - f.size, 0)))
