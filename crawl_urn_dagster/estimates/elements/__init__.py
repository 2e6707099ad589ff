"""Estimate the state of every element of a collection, and list the elements to act on."""
