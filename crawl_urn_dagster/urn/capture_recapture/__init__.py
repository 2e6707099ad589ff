"""Estimate survival and population size by capture-recapture models."""
