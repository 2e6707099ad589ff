"""Estimates: from observable tables to fitted parameters, their headline, operator terms and drift.

Here: nothing but this sentence; its modules are imported by name, because some need pandas and some must not.
"""
