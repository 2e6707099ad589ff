"""Compute the expected observables of each urn in closed form."""
