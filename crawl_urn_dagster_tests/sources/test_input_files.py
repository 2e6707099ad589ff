"""Test fingerprints of input files."""

from crawl_urn_dagster.sources import InputFile, fingerprint


def test_fingerprint_depends_on_locations_and_contents_only():
    a, b = InputFile("a", 1, "0" * 64), InputFile("b", 1, "1" * 64)
    assert fingerprint((a, b)) == fingerprint((b, a))
    assert len(fingerprint((a, b))) == 16
    assert fingerprint((a,)) != fingerprint((InputFile("a", 1, "1" * 64),))
    assert fingerprint((a,)) != fingerprint((InputFile("c", 1, "0" * 64),))
    assert fingerprint((a,)) == fingerprint((InputFile("a", 2, "0" * 64),))


def test_fingerprint_depends_on_settings():
    a = InputFile("a", 1, "0" * 64)
    assert fingerprint((a,), "element=host") != fingerprint((a,), "element=url")
