"""What sources share: fingerprints, hints, and configuration that knows its files."""

from crawl_urn_dagster.sources import InputFile, ObservableTablesSource, PresenceListSource, fingerprint
from crawl_urn_dagster.sources.errors import format_options


def test_fingerprint_depends_on_locations_and_contents_only():
    a, b = InputFile("a", 1, "0" * 64), InputFile("b", 1, "1" * 64)
    assert fingerprint((a, b)) == fingerprint((b, a))
    assert len(fingerprint((a, b))) == 16
    assert fingerprint((a,)) != fingerprint((InputFile("a", 1, "1" * 64),))
    assert fingerprint((a,)) != fingerprint((InputFile("c", 1, "0" * 64),))
    assert fingerprint((a,)) == fingerprint((InputFile("a", 2, "0" * 64),))


def test_listed_names_the_closest_and_not_all_of_many():
    assert format_options("windos", ["pairs", "windows"]) == "did you mean 'windows'? expected one of: pairs, windows"
    assert format_options("x", ["pairs", "windows"]) == "expected one of: pairs, windows"
    assert format_options("x", map(str, range(30))).endswith("18, 19, ... (30 in all)")


def test_relative_paths_are_taken_from_a_folder(tmp_path):
    source = ObservableTablesSource(pairs="pairs.csv", calendar="https://example.org/crawls.csv")
    placed = source.relative_to(tmp_path)
    assert placed.pairs == str(tmp_path / "pairs.csv")
    assert placed.windows is None
    assert placed.calendar == "https://example.org/crawls.csv"
    assert source.pairs == "pairs.csv"


def test_missing_files_are_local_ones(tmp_path, write):
    source = PresenceListSource(path=f"{tmp_path}/*.csv", calendar="https://example.org/c")
    assert source.missing_files() == [f"{tmp_path}/*.csv"]
    write("a.csv", "x")
    assert source.missing_files() == []
