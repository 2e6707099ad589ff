"""Count observables from presence lists or published counts and store them in a collection's DuckDB file.

Exports nothing: importing a module loads pandas only if that module needs it.
"""
