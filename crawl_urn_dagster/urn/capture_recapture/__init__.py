"""Capture-recapture estimators from the literature, for comparison with the urn."""
