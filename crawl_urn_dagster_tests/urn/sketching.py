"""Simulated sketches: estimates of the sizes of sets by many hash functions."""

import numpy as np


def marks_of(error):
    """Return the number of exponential marks of a sketch with a given relative error; its variance is 1/(marks - 2)."""
    return round(1 / error**2) + 2


def estimates(rng, groups, sets, *, error, draws):
    """Draw estimated sizes of sets, shape (draws, sets).

    Parameters
    ----------
    groups
        Elements of disjoint groups, shape (groups,).
    sets
        Whether a set contains a group, shape (sets, groups).
    """
    k = marks_of(error)
    found = np.empty((draws, len(sets)))
    for draw in range(draws):
        smallest = rng.standard_exponential((len(groups), k)) / groups[:, None]
        for number, members in enumerate(sets):
            found[draw, number] = (k - 1) / smallest[members].min(axis=0).sum()
    return found
