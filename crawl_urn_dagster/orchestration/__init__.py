"""Define everything that Dagster sees: assets, checks, jobs, sensors, schedules, resources and alerts."""
