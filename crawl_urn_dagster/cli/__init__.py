"""Run and serve collections from the command line.

Does not define Dagster objects; see `orchestration`.
"""
