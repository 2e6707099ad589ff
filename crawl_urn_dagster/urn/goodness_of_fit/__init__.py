"""Test whether an urn fits and compare urns."""
