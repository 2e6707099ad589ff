"""Counts by stratum against pandas."""

import json

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.strata import StratumSettings
from crawl_urn_dagster.observables.stratum_counts import count_by_stratum
from crawl_urn_dagster.urn import CaptureHistoryCounts

BANDS = StratumSettings(column="rank", bands=[50, 200])


def captures_with_ranks(n_crawls=70, seed=3):
    """Return captures of more crawls than a word has bits, with repeats under other ranks and missing ranks."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "crawl": rng.integers(0, n_crawls, 12_000),
            "element": rng.integers(0, 900, 12_000).astype(str),
            "rank": rng.integers(1, 400, 12_000).astype(str),
        }
    ).astype({"rank": object})
    rows.loc[rng.random(len(rows)) < 0.1, "rank"] = None
    return rows


def brute_force(rows, take):
    """Count elements by stratum and history, with pandas alone."""
    limits = [0, 50, 200, np.inf]
    band = pd.cut(rows["rank"].astype(float), limits, labels=False).fillna(3).astype(int)
    by_crawl = rows.assign(band=band).groupby(["element", "crawl"])["band"].min()
    by_element = by_crawl.groupby("element")
    stratum = by_element.first() if take == "first" else by_element.min()
    text = pd.crosstab(rows["element"], rows["crawl"]).clip(upper=1).astype(str).agg("".join, axis=1)
    names = pd.Series(["1-50", "51-200", "201+", "unknown"])
    return pd.DataFrame({"stratum": stratum.map(names), "history": text}).value_counts().sort_index().to_dict()


def write(folder, rows, settings, **options):
    captures = []
    for crawl, some in rows.groupby("crawl"):
        for low in range(0, len(some), 50):
            part = some.iloc[low : low + 50]
            texts, ranks = (part[name].to_numpy(dtype=object) for name in ("element", "rank"))
            captures.append((f"c{crawl:02}", texts, False, ranks))
    revisions = {crawl: "1" for crawl, *_ in captures}
    written = {one.crawl: one for one in PresenceFolder(folder).write(captures, revisions, stratum=settings, **options)}
    assert PresenceFolder(folder).read_all(sorted(written)) == [written[crawl] for crawl in sorted(written)]
    return [written[crawl] for crawl in sorted(written)]


def as_dict(strata):
    return {
        (stratum, "".join("01"[bit] for bit in history)): int(elements)
        for stratum, counts in strata.items()
        for history, elements in zip(counts.seen.astype(int), counts.elements, strict=True)
    }


@pytest.mark.parametrize("memory_bytes", [2**32, 20_000])
@pytest.mark.parametrize("take", ["first", "best"])
def test_counts_equal_those_of_pandas(tmp_path, take, memory_bytes):
    rows = captures_with_ranks()
    settings = StratumSettings(column="rank", bands=[50, 200], take=take)
    lines = []
    partitions = write(tmp_path, rows, settings, memory_bytes=memory_bytes)
    strata = count_by_stratum(partitions, settings, memory_bytes=memory_bytes, report=lines.append)
    assert as_dict(strata) == brute_force(rows, take)
    expected = ["1-50", "51-200", "201+", "unknown"]
    assert list(strata) == [stratum for stratum in expected if stratum in strata]
    assert f"{sum(one.rows for one in partitions):,} rows" in lines[-1]


def test_real_list_in_bands_equals_the_reference(tmp_path, shared_data, shared_reference):
    """All strata together have the overlaps of the reference, and each stratum equals the counts of pandas."""
    ranks = pd.read_csv(shared_data / "presence" / "cc_webgraph_top1000_ranks.csv.gz")
    rows = ranks.rename(columns={"domain": "element", "harmonicc_pos": "rank"}).astype({"rank": str})
    rows["crawl"] = rows["snapshot"].rank(method="dense").astype(int) - 1
    reference = json.loads((shared_reference / "cc_webgraph_top1000.json").read_text())
    strata = count_by_stratum(write(tmp_path, rows, BANDS), BANDS)
    assert as_dict(strata) == brute_force(rows, "first")
    together = CaptureHistoryCounts(
        np.concatenate([counts.seen for counts in strata.values()]),
        np.concatenate([counts.elements for counts in strata.values()]),
    )
    assert together.intersections().tolist() == reference["intersection"]
    assert together.recaptures().tolist() == reference["m_array"]
    assert together.distinct_elements == reference["distinct_elements"]


def test_sample_keeps_the_same_elements_with_strata(tmp_path):
    rows = captures_with_ranks(5)
    plain = PresenceFolder(tmp_path / "plain")
    captures = [(f"c{crawl:02}", some["element"].to_numpy(dtype=object), True) for crawl, some in rows.groupby("crawl")]
    rows_of = {one.crawl: one.rows for one in plain.write(captures, {crawl: "1" for crawl, *_ in captures}, one_in=4)}
    partitions = write(tmp_path / "strata", rows, BANDS, one_in=4)
    assert {one.crawl: one.rows for one in partitions} == rows_of
    strata = count_by_stratum(partitions, BANDS)
    captured = sum(counts.elements @ counts.seen for counts in strata.values())
    assert captured.tolist() == [4 * rows for rows in rows_of.values()]


def test_other_strata_outdate_partitions_and_raise(tmp_path):
    rows = captures_with_ranks(3)
    partitions = write(tmp_path, rows, BANDS)
    revisions = dict.fromkeys(["c00", "c01", "c02"], "1")
    best = BANDS.model_copy(update={"take": "best"})
    wider = StratumSettings(column="rank", bands=[50, 300])
    outdated = PresenceFolder(tmp_path).outdated
    assert outdated(revisions, 1, BANDS) == outdated(revisions, 1, best) == []
    assert outdated(revisions, 1) == outdated(revisions, 1, wider) == list(revisions)
    with pytest.raises(ValueError, match=r"c00.parquet has strata by rank \[50, 200\], expected rank \[50, 300\]"):
        count_by_stratum(partitions, wider)


def test_too_many_values_raise_while_they_are_read(tmp_path):
    with pytest.raises(ValueError, match="'rank' has more than 64 values"):
        write(tmp_path, captures_with_ranks(2), StratumSettings(column="rank"))
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_captures_without_values_raise(tmp_path):
    captures = [("a", np.array(["x"], dtype=object), True)]
    with pytest.raises(ValueError, match=r"no values of stratum.column 'rank'"):
        list(PresenceFolder(tmp_path).write(captures, {"a": "1"}, stratum=BANDS))


def test_values_may_differ_between_crawls(tmp_path):
    rows = pd.DataFrame(
        [(0, "a", "org"), (0, "b", "com"), (1, "c", "de"), (1, "a", "de"), (1, "d", None)],
        columns=["crawl", "element", "rank"],
    )
    settings = StratumSettings(column="rank")
    assert as_dict(count_by_stratum(write(tmp_path, rows, settings), settings)) == {
        ("com", "10"): 1,
        ("de", "01"): 1,
        ("org", "11"): 1,
        ("unknown", "01"): 1,
    }
