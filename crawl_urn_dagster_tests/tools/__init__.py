"""Hold commands for maintainers; run them with ``python -m crawl_urn_dagster_tests.tools.NAME``."""
