"""Fit urns to curves, counts and capture histories."""
