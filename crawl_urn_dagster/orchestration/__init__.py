"""Define the Dagster objects of a collection: assets, checks, jobs, sensors, schedules, resources and alerts.

Does not start runs from the command line; see `cli`.
"""
