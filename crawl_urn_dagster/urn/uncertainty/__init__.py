"""Compute intervals of fitted parameters."""
