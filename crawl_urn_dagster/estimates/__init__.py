"""Estimate parameters, headline, operator terms and drift from observable tables.

Exports no names: import the modules directly, because some need pandas and others must not import it.
"""
