"""Drift of the parameters, forecasts of the next crawls, and plans for crawls."""
