"""Counts of elements that urns are fitted to, and the errors of these counts."""
