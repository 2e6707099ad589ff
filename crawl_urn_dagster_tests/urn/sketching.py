"""Sketches of sets, drawn: what many hash functions make of the same elements."""

import numpy as np


def marks_of(error):
    """Exponential marks of a sketch whose relative error is given: its variance is 1/(marks - 2)."""
    return round(1 / error**2) + 2


def estimates(rng, groups, sets, *, error, draws):
    """Estimated sizes of sets, shape (draws, sets).

    Parameters
    ----------
    groups
        Elements in each of some disjoint groups, shape (groups,).
    sets
        Which groups a set is of, bool, shape (sets, groups).
    """
    k = marks_of(error)
    found = np.empty((draws, len(sets)))
    for draw in range(draws):
        smallest = rng.standard_exponential((len(groups), k)) / groups[:, None]
        for number, members in enumerate(sets):
            found[draw, number] = (k - 1) / smallest[members].min(axis=0).sum()
    return found
