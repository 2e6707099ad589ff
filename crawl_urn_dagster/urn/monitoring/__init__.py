"""Detect drift, forecast the next crawls and evaluate crawl plans."""
