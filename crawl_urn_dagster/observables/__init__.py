"""Observables: from presence lists or published counts to the tables of a collection's DuckDB file.

Here: nothing but this sentence; its modules are imported by name, because some need pandas and some must not.
"""
