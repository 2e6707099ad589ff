"""Assess a collection: select the model that its tests do not refute, and the numbers that may be quoted."""
