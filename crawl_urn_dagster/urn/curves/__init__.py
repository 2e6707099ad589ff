"""Urns: the observables that each one predicts."""
