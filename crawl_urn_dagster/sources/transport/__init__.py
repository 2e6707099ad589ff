"""Fetch files: locations, downloads with a cache, HTTP ranges, trees of files, text and DuckDB connections."""
