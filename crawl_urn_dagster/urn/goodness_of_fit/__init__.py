"""Tests of whether an urn fits, and comparisons between urns."""
