"""Searches for least-squares and maximum-likelihood estimates."""
