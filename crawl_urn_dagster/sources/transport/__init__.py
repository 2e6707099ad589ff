"""Locate, download and cache the files of a source."""
