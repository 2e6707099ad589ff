"""Estimators of closed populations and their kin, each with how it fails in an urn that turns over.

Here: abundance, unseen elements, sample coverage and growth from capture histories, as comparators to the urn. Not
here: open populations (`cormack_jolly_seber`, `mixtures`).

N is the elements eligible at one time, M those in a crawl, K those of the core; α is the survival of the rest from
crawl to crawl, c its coverage, c̄ = 1 - c; ν∞ is the long-run new fraction of a crawl, (1 - K/M)(1-α)/(1-α c̄).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.stats import chi2, t

from crawl_urn_dagster.urn.data.normal_intervals import NORMAL_QUANTILE, logit_interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts, FloatArray

_CLOSED = (
    "no element begins or stops being eligible between the crawls, and all are equally likely to be captured in a crawl"
)
_BY_LAG = (
    "elements stop being eligible and are replaced: at a lag of D crawls it estimates M²/(K + (M - K) c α^D), which is "
    "N α^(-D) where there is no core"
)
_GROWING = "counts every element captured before as still eligible, so it grows with the number of crawls"
_UNSEEN = (
    "targets all elements that were eligible in the window, not N, and gives about 1/(2 α c̄) times those unseen: "
    "no lower bound where α c̄ < 1/2"
)


Unit = Literal["elements", "fraction", "exponent"]


@dataclass(frozen=True)
class Comparator:
    """What an estimator says of capture histories, and how far it can be believed in an urn.

    Attributes
    ----------
    name
        Name of the estimator.
    target
        What it is meant to estimate.
    unit
        ``elements``, ``fraction`` or ``exponent``.
    estimate
        NaN when the data do not allow it.
    se
        Standard error; NaN when unknown, or when the literature has none.
    low, high
        95 % limits, ``high`` possibly infinite; NaN where ``se`` is.
    assumption
        What has to hold for the estimate to be of its target.
    bias
        What it estimates in an urn instead.
    reason
        Why the estimate or the standard error is unknown; None when both are known.
    """

    name: str
    target: str
    unit: Unit
    estimate: float
    se: float
    low: float
    high: float
    assumption: str
    bias: str
    reason: str | None = None


def petersen(first: int, second: int, both: int) -> Comparator:
    """Estimate abundance from two crawls, n₁ n₂/m.

    Its variance is n₁ n₂ (n₁-m)(n₂-m)/m³ (Sekar and Deming 1949).

    Parameters
    ----------
    first, second
        Sizes of the crawls.
    both
        Elements in both.

    Raises
    ------
    ValueError
        When a count is negative, or more elements are in both crawls than in one.
    """
    _require_overlap(first, second, both)
    reason = None if both else "No element is in both crawls."
    estimate = first * second / both if both else np.nan
    se = np.sqrt(estimate * (first - both) * (second - both)) / both if both else np.nan
    return _abundance("petersen", _BY_LAG, estimate, se, known=first + second - both, reason=reason)


def chapman(first: int, second: int, both: int) -> Comparator:
    """Estimate abundance from two crawls, (n₁+1)(n₂+1)/(m+1) - 1 (Chapman 1951).

    Its variance is (n₁+1)(n₂+1)(n₁-m)(n₂-m)/((m+1)²(m+2)) (Seber 1970). Parameters and errors are those of
    `petersen`.
    """
    _require_overlap(first, second, both)
    reason = None if first and second else "A crawl is empty."
    product = (first + 1) * (second + 1) if first and second else np.nan
    estimate = product / (both + 1) - 1
    se = np.sqrt(product * (first - both) * (second - both) / (both + 2)) / (both + 1)
    return _abundance("chapman", _BY_LAG, estimate, se, known=first + second - both, reason=reason)


def schnabel(caught: npt.ArrayLike, recaptured: npt.ArrayLike, marked: npt.ArrayLike) -> Comparator:
    """Estimate abundance from many crawls, Σ C M/Σ R, with Poisson limits of Σ R (Schnabel 1938; Krebs 1999).

    Parameters
    ----------
    caught
        C_t, size of each crawl, shape (crawls,).
    recaptured
        R_t, those of its elements that were captured before.
    marked
        M_t, elements captured before the crawl.

    Raises
    ------
    ValueError
        When the shapes differ, a count is negative, or more elements are recaptured than caught or marked.
    """
    c, r, m = _censuses(caught, recaptured, marked)
    exposure, recaptures = float(c @ m), float(r.sum())
    if recaptures == 0:
        return _abundance("schnabel", _GROWING, np.nan, np.nan, known=0, reason="No element was captured twice.")
    estimate = exposure / recaptures
    return Comparator(
        name="schnabel",
        target="eligible elements, N",
        unit="elements",
        estimate=estimate,
        se=estimate / float(np.sqrt(recaptures)),
        low=2 * exposure / float(chi2.ppf(0.975, 2 * recaptures + 2)),
        high=2 * exposure / float(chi2.ppf(0.025, 2 * recaptures)),
        assumption=_CLOSED,
        bias=_GROWING,
    )


def schumacher_eschmeyer(caught: npt.ArrayLike, recaptured: npt.ArrayLike, marked: npt.ArrayLike) -> Comparator:
    """Estimate abundance from many crawls by regression, Σ C M²/Σ R M (Schumacher and Eschmeyer 1943).

    The limits are those of its inverse, from the residual variance and Student's t with crawls - 2 degrees of
    freedom (Krebs 1999, eq. 2.17); empty crawls are left out. Parameters and errors are those of `schnabel`.
    """
    c, r, m = _censuses(caught, recaptured, marked)
    c, r, m = c[c > 0], r[c > 0], m[c > 0]
    squares, products, degrees = float(c @ m**2), float(r @ m), c.size - 2
    if products == 0:
        return _abundance(
            "schumacher_eschmeyer", _GROWING, np.nan, np.nan, known=0, reason="No element was captured twice."
        )
    inverse = products / squares
    known = degrees > 0
    residual = max(float(r @ (r / c)) - products**2 / squares, 0.0)
    inverse_se = float(np.sqrt(residual / degrees / squares)) if known else np.nan
    half_width = float(t.ppf(0.975, degrees)) * inverse_se if known else np.nan
    return Comparator(
        name="schumacher_eschmeyer",
        target="eligible elements, N",
        unit="elements",
        estimate=1 / inverse,
        se=inverse_se / inverse**2,
        low=1 / (inverse + half_width),
        high=np.inf if half_width >= inverse else 1 / (inverse - half_width),
        assumption=_CLOSED,
        bias=_GROWING,
        reason=None if known else "Two crawls leave no degree of freedom for a standard error.",
    )


def chao1(frequencies: npt.ArrayLike) -> Comparator:
    """Estimate elements seen and unseen, S + (n-1)/n f₁²/(2 f₂), n the captures (Chao 1984).

    Without f₂ the unseen are (n-1)/n f₁(f₁-1)/2. The variance is that of Chao (1987), without f₂ that
    of SpadeR (Chao et al. 2016); limits are log-normal in the unseen.

    Parameters
    ----------
    frequencies
        f_k, elements captured exactly k times, shape (k + 1,); f_0 is not read.

    Raises
    ------
    ValueError
        When a frequency is negative.
    """
    f = _frequencies(frequencies)
    return _chao(
        "chao1", f, float(f @ np.arange(f.size)), "each capture is of any eligible element with a chance of its own"
    )


def chao2(frequencies: npt.ArrayLike, n_crawls: int) -> Comparator:
    """Estimate elements seen and unseen as `chao1` does, with crawls in place of captures (Chao 1987).

    Parameters
    ----------
    frequencies
        f_k, elements captured in exactly k crawls, shape (k + 1,); f_0 is not read.
    n_crawls
        Number of crawls, at least 1.

    Raises
    ------
    ValueError
        When a frequency is negative.
    """
    return _chao(
        "chao2", _frequencies(frequencies), n_crawls, "each crawl captures each element with a chance of its own"
    )


def good_turing(frequencies: npt.ArrayLike) -> tuple[Comparator, Comparator]:
    """Estimate the chance that a capture is of an element seen, the sample coverage, and predict the new fraction.

    The coverage is 1 - f₁/n · (n-1) f₁/((n-1) f₁ + 2 f₂) over the n captures (Good 1953; Chao and Jost 2012), with
    f₁ - 1 for f₁ and 1 for f₂ in the last factor where f₂ is 0. The new fraction is the rest. The variance is
    (f₁(1-f₁/n) + 2 f₂)/n² (Esty 1983); limits are symmetric on the logit scale. Parameters and errors are those of
    `chao1`.
    """
    f = _frequencies(frequencies)
    n, (_, f1, f2) = float(f @ np.arange(f.size)), (float(count) for count in f[:3])
    once, twice = (f1, f2) if f2 else (f1 - 1, 1.0)
    factor = (n - 1) * once / ((n - 1) * once + 2 * twice) if once > 0 else 1.0
    new = f1 / n * factor if n else np.nan
    known = 0 < f1 < n
    se = float(np.sqrt(f1 * (1 - f1 / n) + 2 * f2)) / n if known else np.nan
    reason = None if known else f"{f1:.0f} of {n:.0f} captures are an element's only one."
    low, high = (float(limit) for limit in logit_interval(np.array(new), np.array(se)))
    assumption = "no element begins or stops being eligible, and captures are independent"
    bias = (
        "elements stop being eligible: the new fraction comes out about (1 - α)/(1 - α c̄) times the true one, and the "
        "coverage too near 1"
    )
    return (
        Comparator(
            "good_turing_coverage",
            "chance that a capture is of an element seen",
            "fraction",
            1 - new,
            se,
            1 - high,
            1 - low,
            assumption,
            bias,
            reason,
        ),
        Comparator(
            "good_turing_new_fraction",
            "new fraction of a crawl",
            "fraction",
            new,
            se,
            low,
            high,
            assumption,
            bias,
            reason,
        ),
    )


def heaps(crawls: npt.ArrayLike, distinct: npt.ArrayLike, name: str = "heaps") -> Comparator:
    """Fit Heaps' law U ∝ T^b by least squares of logarithms; the estimate is b.

    Parameters
    ----------
    crawls
        T, numbers of crawls, each at least 1, shape (windows,).
    distinct
        U, distinct elements in the first T crawls, shape (windows,).
    name
        Name of the result.
    """
    lengths, elements = np.asarray(crawls, dtype=np.float64), np.asarray(distinct, dtype=np.float64)
    lengths, elements = lengths[elements > 0], elements[elements > 0]
    known = lengths.size > 1
    return Comparator(
        name=name,
        target="Heaps' exponent b",
        unit="exponent",
        estimate=float(np.polyfit(np.log(lengths), np.log(elements), 1)[0]) if known else np.nan,
        se=np.nan,
        low=np.nan,
        high=np.nan,
        assumption="elements are discovered as a power of the crawls, at any scale",
        bias="an urn's discovery curve tends to a line of slope ν∞: b is not constant, and tends to 1 in long windows",
        reason="Windows share their crawls, so the residuals have no standard error to give."
        if known
        else "Fewer than two windows hold an element.",
    )


def comparators(counts: CaptureHistoryCounts) -> tuple[Comparator, ...]:
    """Apply every estimator to capture histories of at least one crawl.

    Those of two crawls are applied to the last two, lag 1, and to the first and the last. Heaps' law is fitted to
    all windows that start at the first crawl, and to the shorter and the longer half of them.
    """
    shared = counts.intersections()
    sizes, distinct, frequencies = np.diagonal(shared), counts.unions()[0], counts.capture_frequencies()
    n = counts.n_crawls
    marked = np.append(0, distinct[:-1])
    recaptured = sizes - (distinct - marked)
    lengths = np.arange(1, n + 1)
    pairs = [(lag, n - 1 - lag) for lag in sorted({1, n - 1}) if 0 < lag < n]
    return (
        *(
            replace(found, name=f"{found.name}_lag_{lag}")
            for estimator in (petersen, chapman)
            for lag, first in pairs
            for found in [estimator(int(sizes[first]), int(sizes[-1]), int(shared[first, -1]))]
        ),
        schnabel(sizes, recaptured, marked),
        schumacher_eschmeyer(sizes, recaptured, marked),
        chao1(frequencies),
        chao2(frequencies, n),
        *good_turing(frequencies),
        heaps(lengths, distinct),
        heaps(lengths[: (n + 1) // 2], distinct[: (n + 1) // 2], "heaps_first_half"),
        heaps(lengths[n // 2 :], distinct[n // 2 :], "heaps_second_half"),
    )


def _abundance(name: str, bias: str, estimate: float, se: float, *, known: int, reason: str | None) -> Comparator:
    """Estimate of N with normal limits, the lower no less than the elements known to exist."""
    return Comparator(
        name=name,
        target="eligible elements, N",
        unit="elements",
        estimate=estimate,
        se=float(se),
        low=float(np.maximum(estimate - NORMAL_QUANTILE * se, known)),
        high=float(estimate + NORMAL_QUANTILE * se),
        assumption=_CLOSED,
        bias=bias,
        reason=reason,
    )


def _chao(name: str, f: FloatArray, n: float, assumption: str) -> Comparator:
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
    known = unseen > 0
    spread = float(np.exp(NORMAL_QUANTILE * np.sqrt(np.log1p(variance / unseen**2)))) if known else np.nan
    return Comparator(
        name=name,
        target="elements seen and unseen",
        unit="elements",
        estimate=seen + unseen,
        se=float(np.sqrt(variance)) if known else np.nan,
        low=seen + unseen / spread,
        high=seen + unseen * spread,
        assumption=f"no element begins or stops being eligible, and {assumption}",
        bias=_UNSEEN,
        reason=None if known else f"f_1 = {f1:.0f} and f_2 = {f2:.0f} put the unseen at 0, with no error to it.",
    )


def _frequencies(frequencies: npt.ArrayLike) -> FloatArray:
    """Check f_k, and extend them to f_2."""
    f = np.asarray(frequencies, dtype=np.float64)
    if f.size and f.min() < 0:
        raise ValueError(f"f_{f.argmin()} is {f.min():.0f}; expected numbers of elements of at least 0")
    return np.append(f, np.zeros(max(3 - f.size, 0)))


def _require_overlap(first: int, second: int, both: int) -> None:
    if not 0 <= both <= min(first, second):
        raise ValueError(
            f"crawls of {first} and {second} elements share {both}; expected at least 0 and no more than either holds"
        )


def _censuses(*counts: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    caught, recaptured, marked = (np.asarray(values, dtype=np.float64) for values in counts)
    if not caught.shape == recaptured.shape == marked.shape:
        raise ValueError(
            f"caught, recaptured and marked have shapes {caught.shape}, {recaptured.shape} and {marked.shape}; "
            "expected one count of each per crawl"
        )
    wrong = (recaptured < 0) | (recaptured > caught) | (recaptured > marked)
    if wrong.any():
        crawl = int(wrong.argmax())
        raise ValueError(
            f"crawl {crawl} recaptured {recaptured[crawl]:.0f} elements of {caught[crawl]:.0f} caught and "
            f"{marked[crawl]:.0f} marked; expected at least 0 and no more than either"
        )
    return caught, recaptured, marked
