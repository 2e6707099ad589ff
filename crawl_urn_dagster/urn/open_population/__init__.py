"""Fit urns whose coverage and survival differ from crawl to crawl: the members of the ladder of models."""
