"""Test the frames of pairs and windows."""

from crawl_urn_dagster.sources.formats.observable_frames import PAIR_COLUMNS, pairs_frame, windows_frame

LABELS = ["a", "b", "c"]


def test_windows_count_both_ends_and_lie_within_the_selection():
    windows = {("a", "a"): 10, ("a", "c"): 25, ("b", "c"): 20}
    frame = windows_frame(windows, LABELS, LABELS)
    assert frame.to_numpy().tolist() == [["a", "a", 1, 10], ["a", "c", 3, 25], ["b", "c", 2, 20]]
    assert windows_frame(windows, LABELS, {"b", "c"})["start_crawl"].tolist() == ["b"]


def test_pairs_have_both_crawls_in_the_selection():
    pairs = {("a", "b"): (10, 12, 5), ("b", "c"): (12, 9, 4)}
    assert pairs_frame(pairs, LABELS).to_numpy().tolist() == [["a", "b", 10, 12, 5], ["b", "c", 12, 9, 4]]
    assert pairs_frame(pairs, {"b", "c"})["crawl_i"].tolist() == ["b"]


def test_empty_frames_have_their_columns_and_types():
    pairs, windows = pairs_frame({}, []), windows_frame({}, [], [])
    assert tuple(pairs.columns) == PAIR_COLUMNS
    assert pairs.dtypes[["size_i", "size_j", "intersection"]].tolist() == ["int64"] * 3
    assert windows.dtypes[["window_crawls", "distinct_elements"]].tolist() == ["int64"] * 2
