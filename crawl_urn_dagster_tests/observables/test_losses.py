"""Losses on capture from a list to capture-history counts, with and without strata, and impossible losses."""

import numpy as np
import pandas as pd
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates.capture_recapture import capture_recapture_tables
from crawl_urn_dagster.observables.losses import with_losses
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.strata import StratumSettings
from crawl_urn_dagster.observables.stratum_counts import count_by_stratum
from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster.urn import simulate

N_CRAWLS = 6


def rows_with_losses(seed=3, share=0.05):
    """Return the captures of a simulated shell, of which a share is lost, as rows of crawl, element, lost and rank."""
    urn = simulate(times=np.arange(N_CRAWLS), core=0, shell=4_000, alpha=0.8, coverage=0.5, seed=seed).counts()
    rng = np.random.default_rng(seed)
    seen = np.repeat(urn.seen, urn.elements, axis=0)
    is_loss = seen & (rng.random(seen.shape) < share)
    end = np.where(is_loss.any(axis=1), is_loss.argmax(axis=1), N_CRAWLS)
    seen &= np.arange(N_CRAWLS) <= end[:, None]
    element, crawl = np.nonzero(seen)
    return pd.DataFrame(
        {
            "crawl": [f"2024-0{one + 1}" for one in crawl],
            "element": [f"e{one}" for one in element],
            "lost": end[element] == crawl,
            "rank": 1 + element % 300,
        }
    )


def lost_by_history(rows):
    """Count losses by history, with pandas alone."""
    history = pd.crosstab(rows["element"], rows["crawl"]).clip(upper=1).astype(str).agg("".join, axis=1)
    return rows[rows["lost"]].set_index("element").index.map(history).value_counts().to_dict()


def counted(counts):
    text = ["".join(map(str, row)) for row in counts.seen.astype(int)]
    return {history: lost for history, lost in zip(text, counts.lost.tolist(), strict=True) if lost}


@pytest.fixture(scope="module")
def rows():
    return rows_with_losses()


@pytest.mark.parametrize("marks", [(True, False), (1, 0), (1.0, np.nan), (" TRUE ", "")])
def test_losses_of_a_frame_are_counted_by_history(rows, marks):
    frame = rows.assign(lost=rows["lost"].map(dict(zip((True, False), marks, strict=True))))
    assert counted(cu.read_presence(frame).histories) == lost_by_history(rows)


def test_losses_free_the_survival_of_bias(rows):
    known, ignored = (
        capture_recapture_tables(read.tables["crawls"], read.histories, clock="crawl", one_in=1)["capture_recapture"]
        for read in map(cu.read_presence, (rows, rows.drop(columns="lost")))
    )
    for model in ("cormack_jolly_seber", "core_and_shell"):
        estimates, biased = (
            table.set_index(["model", "parameter"]).loc[(model, "alpha")] for table in (known, ignored)
        )
        assert abs(estimates["estimate"] - 0.8) < 3 * estimates["se"]
        assert biased["estimate"] < 0.8 - 3 * biased["se"]


def test_losses_of_strata_sum_to_those_of_the_whole(rows, tmp_path):
    settings = StratumSettings(column="rank", bands=[100])
    captures = [
        (
            crawl,
            some["element"].to_numpy(object),
            True,
            some["rank"].astype(str).to_numpy(object),
            some["lost"].to_numpy(),
        )
        for crawl, some in rows.groupby("crawl")
    ]
    partitions = list(PresenceFolder(tmp_path).write(captures, {one[0]: "1" for one in captures}, stratum=settings))
    found = with_losses(partitions, count_by_stratum(partitions, settings), settings)
    expected = {"1-100": rows["rank"] <= 100, "101+": rows["rank"] > 100}
    assert {name: counted(one) for name, one in found.items()} == {
        name: {h: n for h, n in lost_by_history(rows[inside]).items() if n} for name, inside in expected.items()
    }


def test_invalid_mark_is_an_error(rows):
    frame = rows.astype({"lost": object})
    frame.loc[4, "lost"] = "perhaps"
    with pytest.raises(SourceError, match=r"data row 5: found 'perhaps' in column 'lost', expected 1 or true"):
        cu.read_presence(frame)


def test_capture_after_a_loss_is_an_error():
    frame = pd.DataFrame({"crawl": ["2024-01", "2024-02", "2024-03"], "element": "a", "lost": [1, 0, 0]})
    with pytest.raises(ValueError, match="1 element marked as lost at 2024-01: captured again, first at 2024-02"):
        cu.read_presence(frame)
