"""Describe collections as typed, validated YAML."""
