"""Test the figures of overlaps and of losses."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer

from crawl_urn_dagster.figures.overlaps import (
    losses_by_crawl,
    losses_by_crawl_caption,
    overlap_matrix,
    overlap_matrix_caption,
)
from crawl_urn_dagster.observables.schema import QUANTITIES
from crawl_urn_dagster_tests.figures.frames import TITLE, faults, tables, text_of, without_layout

N = 4
GONE = {"quantity": "gone", "value": 0.1, "value_low": 0.09, "value_high": 0.12}


@pytest.fixture(scope="module")
def made():
    return tables(N)


def quantities(*rows):
    return pd.DataFrame(rows, columns=list(QUANTITIES.column_names))


def bars(axes):
    """Return the heights of the bars by the label of their part."""
    parts = [part for part in axes.containers if isinstance(part, BarContainer)]
    return {part.get_label(): [bar.get_height() for bar in part] for part in parts}


def test_matrix_has_the_jaccard_similarity_of_every_pair(made):
    figure = overlap_matrix(made.crawls, made.containment, title=TITLE)
    (mesh,) = figure.axes[0].collections
    cells = mesh.get_array()
    pair = made.containment.iloc[0]
    union = pair["size_i"] + pair["size_j"] - pair["intersection"]
    assert cells[1, 0] == pytest.approx(100 * pair["intersection"] / union, rel=1e-9)
    assert np.ma.count(cells) == N * (N - 1) / 2
    assert {text.get_text() for text in figure.axes[0].texts} == {f"{value:.0f}" for value in cells.compressed()}
    assert faults(figure) == []


@without_layout()
def test_disjoint_crawls_have_an_overlap_of_0(made):
    disjoint = made.containment.assign(containment=0.0, containment_reverse=0.0)
    (mesh,) = overlap_matrix(made.crawls, disjoint, title=TITLE).axes[0].collections
    assert set(mesh.get_array().compressed()) == {0}
    unknown = made.containment.assign(containment=np.nan)
    assert "unknown" in text_of(overlap_matrix(made.crawls, unknown, title=TITLE))
    assert "unknown" in overlap_matrix_caption(made.crawls, unknown)[0]


def test_losses_are_split_into_gone_and_missed(made):
    population = made.crawls[["crawl"]].iloc[: N - 2]  # the last pair is not described
    of = (made.containment, made.crawls, quantities(GONE), population)
    figure = losses_by_crawl(*of, title=TITLE)
    lost = 1 - made.containment.loc[made.containment["lag_crawls"] == 1, "containment"].to_numpy()
    found = bars(figure.axes[0])
    assert found["gone, at the mean rate"] == [0.1, 0.1]
    assert found["still eligible, but missed"] == pytest.approx(lost[:2] - 0.1)
    assert found["gone or missed, not reported which"] == pytest.approx(lost[2:])
    assert faults(figure) == []
    text, _ = losses_by_crawl_caption(*of)
    assert "0.100 (0.090–0.120) of a crawl is gone by the next" in text
    assert f"lacks {100 * lost[-1]:.1f} % of the crawl before it" in text
    assert "Hatched" in text


@without_layout()
def test_losses_without_a_rate_are_not_split(made):
    of = (made.containment, made.crawls, quantities(), made.crawls[["crawl"]])
    assert list(bars(losses_by_crawl(*of, title=TITLE).axes[0])) == ["gone or missed, not reported which"]
    text, _ = losses_by_crawl_caption(*of)
    assert "is not reported" in text
    assert "Hatched" not in text
    alone = (made.containment.iloc[:0], *of[1:])
    assert "nothing is drawn" in text_of(losses_by_crawl(*alone, title=TITLE)).replace("\n", " ")
