"""Define the classes of the state-space urn and compute every expectation that has a closed form.

Does not fit; see `fitting`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from crawl_urn_dagster.urn.state_space.recursions import (
    ClassParameters,
    ReturnCourse,
    first_returns,
    first_returns_by_lag,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from crawl_urn_dagster.urn.data.histories import FloatArray

#: State of an element at its first crawl. Histories do not identify it.
Entrants: TypeAlias = Literal["stationary", "available", "dormant", "missed"]


@dataclass(frozen=True)
class StateSpaceClass:
    """Elements that die, become dormant, return and are captured with the same probabilities.

    In the gap before a crawl an element survives and then moves between two states, available and dormant. A crawl
    captures an available element with the probability `coverage`, and a dormant one never. A capture shows that the
    element is available, so a capture history is a chain of independent first returns.

    Parameters
    ----------
    name
        Name of the class.
    survival
        Probability of surviving a gap, in [0, 1].
    coverage
        Probability that a crawl captures an available element, in (0, 1].
    departure
        Probability that an available element is dormant one crawl later, given survival, in [0, 1].
    reactivation
        Probability that a dormant element is available one crawl later, given survival, in [0, 1]. 1 if `departure`
        is 0.

    Examples
    --------
    >>> import numpy as np
    >>> stable = StateSpaceClass.markov("stable", survival=0.95, after_capture=0.9, after_miss=0.3)
    >>> stable.containment(np.arange(3))
    array([1.    , 0.855 , 0.7581])
    >>> round(stable.known_eligible(), 4)
    1.2836
    """

    name: str
    survival: float
    coverage: float
    departure: float
    reactivation: float

    def __post_init__(self) -> None:
        if self.departure == 0 and self.reactivation != 1:
            object.__setattr__(self, "reactivation", 1.0)
        for field in ("survival", "coverage", "departure", "reactivation"):
            if not 0 <= getattr(self, field) <= 1:
                raise ValueError(f"{field} of class {self.name} is {getattr(self, field)}; expected a probability")

    @classmethod
    def core(cls, name: str = "core") -> StateSpaceClass:
        """Return the class of elements that live for ever and are captured by every crawl."""
        return cls(name, 1.0, 1.0, 0.0, 1.0)

    @classmethod
    def shell(cls, name: str = "shell", *, survival: float, coverage: float) -> StateSpaceClass:
        """Return a class whose captures are independent."""
        return cls(name, survival, coverage, 0.0, 1.0)

    @classmethod
    def markov(cls, name: str, *, survival: float, after_capture: float, after_miss: float) -> StateSpaceClass:
        """Return a class with known probabilities of capture after a capture (c1) and after a miss (c0)."""
        return cls(name, survival, 1.0, 1 - after_capture, after_miss)

    @property
    def parameters(self) -> ClassParameters:
        """The four probabilities as arrays of shape ()."""
        values = (self.survival, self.coverage, self.departure, self.reactivation)
        return ClassParameters(*(np.asarray(value, dtype=np.float64) for value in values))

    @property
    def availability(self) -> float:
        """Long-run probability that an eligible element is available."""
        return float(self.parameters.availability)

    @property
    def memory(self) -> float:
        """Correlation of an element's states one crawl apart; 0 if captures are independent, negative if avoided."""
        return float(self.parameters.memory)

    def over_gap(self, gap: float) -> StateSpaceClass:
        """Return the class whose gap of one crawl is `gap` gaps of this class.

        Raises
        ------
        ValueError
            If the memory is negative and the gap is not 1: such a class is defined per crawl.
        """
        if self.memory < 0 and gap != 1:
            raise ValueError(f"class {self.name} has a memory of {self.memory}; expected at least 0 at a gap of {gap}")
        return StateSpaceClass(self.name, *(float(v) for v in self.parameters.over_gap(np.asarray(float(gap)))))

    def containment(self, lags: npt.ArrayLike) -> FloatArray:
        """Return the probability that an element captured now is captured `lags` crawls later, g(d)."""
        d = np.asarray(lags)
        result = (
            self.coverage
            * self.survival**d
            * (self.availability + (1 - self.availability) * np.power(float(self.memory), d))
        )
        return np.where(d == 0, 1.0, result)

    def returns(self, n: int) -> ReturnCourse:
        """Return first returns h(j), probabilities of no return and states, for j of 0 to n crawls."""
        return first_returns(self.parameters.with_last_axes(1), n)

    def seen_before(self, n: int, growth: float = 1.0) -> FloatArray:
        """Return the probability of an earlier capture in the t crawls before a capture, for t of 0 to n."""
        return np.asarray(np.cumsum(self.returns(n).first * growth ** -np.arange(n + 1.0)))

    def discovery(self, n: int, growth: float = 1.0) -> FloatArray:
        """Return the distinct elements of crawls 0 to t per element of crawl 0, for t of 0 to n."""
        return np.asarray(np.cumsum(growth ** np.arange(n + 1.0) * (1 - self.seen_before(n, growth))))

    def future_captures(self, growth: float = 1.0) -> float:
        """Return the expected later captures of an element just captured, discounted by the growth."""
        survival, memory = self.survival / growth, self.survival / growth * self.memory
        if survival >= 1:
            return np.inf
        lasting = self.availability * survival / (1 - survival)
        return float(self.coverage * (lasting + (1 - self.availability) * memory / (1 - memory)))

    def unique_rate(self, growth: float = 1.0) -> float:
        """Return the long-run share of a crawl that no earlier crawl captured."""
        return 1 / (1 + self.future_captures(growth))

    def discovery_intercept(self) -> float:
        """Return the intercept of the discovery curve's asymptote, per element of a crawl, without growth."""
        if self.survival == 1:
            return 1 / (self.coverage * self.availability)
        rate, survival, memory = self.unique_rate(), self.survival, self.survival * self.memory
        spread = self.availability * survival / (1 - survival) ** 2
        return float(rate + rate**2 * self.coverage * (spread + (1 - self.availability) * memory / (1 - memory) ** 2))

    def known_eligible(self, growth: float = 1.0) -> float:
        """Return the eligible elements captured at least once so far, per element of a crawl, V/M."""
        survival, missed = self.survival / growth, 1 - self.coverage
        kept = survival * ((1 - self.departure) * missed + 1 - self.reactivation)
        curvature = survival**2 * missed * self.memory
        return (1 - survival * (1 - self.reactivation) + survival * self.departure) / (1 - kept + curvature)

    def available_share(self, growth: float = 1.0, entrants: Entrants = "stationary") -> float:
        """Return the share of the eligible elements that is available, if newborn elements enter in the named state."""
        state = {
            "stationary": self.availability,
            "available": 1.0,
            "dormant": 0.0,
            "missed": self.reactivation,
        }[entrants]
        if growth == self.survival:
            return self.availability
        newborn = (growth - self.survival) / (growth - self.survival * self.memory)
        return self.availability + (state - self.availability) * newborn

    def really_new(self, growth: float = 1.0, ratio: float = 1.0) -> float:
        """Return the share of a crawl that appeared since the crawl before.

        Parameters
        ----------
        growth
            Factor by which the population grows per crawl.
        ratio
            Availability of an element in its first crawl divided by the long-run availability, as far as the former
            is at most 1.

        Examples
        --------
        >>> shell = StateSpaceClass.shell(survival=0.75, coverage=0.6)
        >>> round(shell.really_new() / shell.unique_rate(), 12)
        0.7
        """
        if growth == self.survival:
            return 0.0
        state = min(ratio * self.availability, 1.0)
        newborn = (growth - self.survival) / (growth - self.survival * self.memory)
        available = self.availability + (state - self.availability) * newborn
        return (1 - self.survival / growth) * state / available

    def eligible(self, growth: float = 1.0, entrants: Entrants = "stationary") -> float:
        """Return the eligible elements per element of a crawl, N/M."""
        return 1 / (self.coverage * self.available_share(growth, entrants))

    def captured_by_all(self, n_crawls: int) -> float:
        """Return the share of a crawl that all of `n_crawls` consecutive crawls capture."""
        return float((self.survival * self.coverage * (1 - self.departure)) ** (n_crawls - 1))


@dataclass(frozen=True)
class Mixture:
    """Classes with their shares of a crawl, all growing by the same factor per crawl.

    Parameters
    ----------
    classes
        At least one class.
    shares
        Share of each class in a crawl, of sum 1.
    growth
        Factor by which the population grows per crawl; at least the survival of each class.

    Examples
    --------
    >>> shell = StateSpaceClass.shell(survival=0.9, coverage=0.5)
    >>> urn = Mixture((StateSpaceClass.core(), shell), (0.5, 0.5))
    >>> urn.eligible(), urn.eligible_shares()
    (1.5, (0.3333333333333333, 0.6666666666666666))
    """

    classes: tuple[StateSpaceClass, ...]
    shares: tuple[float, ...]
    growth: float = 1.0

    def _weigh(self, values: list[FloatArray]) -> FloatArray:
        return np.asarray(sum(share * value for share, value in zip(self.shares, values, strict=True)))

    def _mean(self, values: list[float]) -> float:
        return float(sum(share * value for share, value in zip(self.shares, values, strict=True)))

    def containment(self, lags: npt.ArrayLike) -> FloatArray:
        """Return the share of a crawl that a later crawl contains, g(d)."""
        return self._weigh([k.containment(lags) for k in self.classes])

    def first_returns(self, n: int) -> FloatArray:
        """Return the share of a crawl that is next captured j crawls later, h(j), for j of 0 to n."""
        return self._weigh([k.returns(n).first for k in self.classes])

    def first_returns_between(self, n_crawls: int, gaps: FloatArray | None = None) -> FloatArray:
        """Return the share of crawl s whose next capture is by crawl t, shape (n_crawls, n_crawls).

        Parameters
        ----------
        n_crawls
            Number of crawls.
        gaps
            Gaps between crawls in units of the mean gap; equal gaps if None.
        """
        starts = np.arange(n_crawls)
        if gaps is None:
            return np.triu(self.first_returns(n_crawls - 1)[starts - starts[:, None]], 1)
        result = np.zeros((n_crawls, n_crawls))
        for share, one in zip(self.shares, self.classes, strict=True):
            by_lag = first_returns_by_lag(one.parameters.with_last_axes(1).over_gap(gaps))
            for lag, returned in enumerate(by_lag, start=1):
                result[starts[:-lag], starts[lag:]] += share * returned
        return result

    def seen_before(self, n: int) -> FloatArray:
        """Return the share of a crawl that the t crawls before it captured, for t of 0 to n."""
        return self._weigh([k.seen_before(n, self.growth) for k in self.classes])

    def discovery(self, n: int) -> FloatArray:
        """Return the distinct elements of crawls 0 to t per element of crawl 0, for t of 0 to n."""
        return self._weigh([k.discovery(n, self.growth) for k in self.classes])

    def future_captures(self) -> float:
        """Return the expected later captures of an element just captured, discounted by the growth."""
        return self._mean([k.future_captures(self.growth) for k in self.classes])

    def unique_rate(self) -> float:
        """Return the long-run share of a crawl that no earlier crawl captured."""
        return self._mean([k.unique_rate(self.growth) for k in self.classes])

    def really_new(self, ratio: float = 1.0) -> float:
        """Return the long-run share of first captures that appeared since the crawl before; 0 without any.

        Parameters
        ----------
        ratio
            Availability of an element in its first crawl divided by the long-run availability.
        """
        return _quotient(self._mean([k.really_new(self.growth, ratio) for k in self.classes]), self.unique_rate())

    def really_new_of_window(self, n_crawls: int, ratio: float = 1.0) -> float:
        """Return that share of the first captures of all but the first of `n_crawls` crawls, if none came before."""
        per_crawl = self._mean([k.really_new(self.growth, ratio) for k in self.classes])
        new = per_crawl * float((self.growth ** np.arange(1.0, n_crawls)).sum())
        return _quotient(new, float(self.discovery(n_crawls - 1)[-1]) - 1)

    def discovery_intercept(self) -> float:
        """Return the intercept of the discovery curve's asymptote, per element of a crawl, without growth."""
        return self._mean([k.discovery_intercept() for k in self.classes])

    def known_eligible(self) -> float:
        """Return the eligible elements captured at least once so far, per element of a crawl, V/M."""
        return self._mean([k.known_eligible(self.growth) for k in self.classes])

    def known_shares(self) -> tuple[float, ...]:
        """Return the share of each class in the eligible elements captured at least once so far."""
        return _normalised([m * k.known_eligible(self.growth) for m, k in zip(self.shares, self.classes, strict=True)])

    def eligible(self, entrants: Entrants = "stationary") -> float:
        """Return the eligible elements per element of a crawl, N/M."""
        return self._mean([k.eligible(self.growth, entrants) for k in self.classes])

    def eligible_shares(self, entrants: Entrants = "stationary") -> tuple[float, ...]:
        """Return the share of each class in the eligible elements."""
        parts = [k.eligible(self.growth, entrants) for k in self.classes]
        return _normalised([m * part for m, part in zip(self.shares, parts, strict=True)])

    def captured_by_all(self, n_crawls: int) -> float:
        """Return the share of a crawl that all of `n_crawls` consecutive crawls capture."""
        return self._mean([k.captured_by_all(n_crawls) for k in self.classes])

    def survival(self, n: int) -> float:
        """Return the share of a crawl that is alive n crawls later, S(n)."""
        return self._mean([k.survival**n for k in self.classes])


def _normalised(parts: list[float]) -> tuple[float, ...]:
    total = sum(parts)
    return tuple(part / total for part in parts)


def _quotient(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0 else 0.0
