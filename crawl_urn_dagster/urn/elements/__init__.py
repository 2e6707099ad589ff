"""Estimate the state of single elements from their capture histories, and test how good such estimates are."""
