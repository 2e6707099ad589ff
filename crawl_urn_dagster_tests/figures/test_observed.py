"""Test that the figures of the observables show the values of the tables."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb

from crawl_urn_dagster.figures.observed import containment_by_lag, discovery_curves_by_start, discovery_heat_map
from crawl_urn_dagster.figures.style import Colour, tint
from crawl_urn_dagster_tests.figures.frames import (
    TITLE,
    curves,
    faults,
    legend_entries,
    observed,
    tables,
    text_of,
    without_layout,
)


def heat_map(made, discovery_curve=None):
    windows = made.discovery_curve if discovery_curve is None else discovery_curve
    figure = discovery_heat_map(made.crawls, windows, title=TITLE)
    axes, colour_bar = figure.axes
    return figure, axes, colour_bar, cells_of(axes)


def cells_of(axes):
    (mesh,) = [artist for artist in axes.collections if isinstance(artist, QuadMesh)]
    return mesh.get_array()


@without_layout()
def test_heat_map_cells_are_the_table():
    made = tables(24)
    figure, axes, colour_bar, cells = heat_map(made)
    assert cells.shape == (24, 24)
    for row in made.discovery_curve.itertuples():
        start = int(row.start_crawl.removeprefix("crawl-"))
        assert cells[row.window_crawls - 1, start] == row.distinct_elements / 1000
    assert (~cells.mask).sum() == len(made.discovery_curve)
    assert figure.legends == []
    assert colour_bar.get_ylabel() == "U(s, T) (thousand elements)"
    assert axes.get_ylabel() == "window length, T + 1 (crawls)"
    assert axes.get_xlabel().startswith("start crawl, s")
    assert f"{TITLE}: distinct elements per window of crawls, U(s, T)" in text_of(figure)
    assert "24 crawls, 2020-01-13 to 2022-09-05" in text_of(figure)


@without_layout()
def test_heat_map_columns_are_dated():
    made = tables(24)
    _, axes, _, _ = heat_map(made)
    started = made.crawls["started_at"].dt.strftime("%Y-%m-%d")
    assert axes.get_xticks().tolist() == [0, 4, 8, 12, 16, 20]
    assert [label.get_text() for label in axes.get_xticklabels()] == started[::4].tolist()


@without_layout()
def test_long_collection_is_ticked_at_first_crawl_of_each_year():
    made = tables(48)
    crawls = made.crawls.iloc[8:]  # from the middle of a year
    curve = made.discovery_curve[made.discovery_curve["start_crawl"].isin(crawls["crawl"])]
    first = np.flatnonzero(crawls["started_at"].dt.year.diff() == 1)
    years = crawls["started_at"].dt.year.iloc[first].astype(str).tolist()
    assert len(years) > 3
    columns = discovery_heat_map(crawls.assign(crawl_index=range(40)), curve, title=TITLE).axes[0].xaxis
    lines = discovery_curves_by_start(crawls, curve, title=TITLE).axes[1].yaxis
    for axis in (columns, lines):
        assert axis.get_ticklocs().tolist() == first.tolist()
        assert [label.get_text() for label in axis.get_ticklabels()] == years
        assert axis.get_label_text().endswith("\nticks: first crawl of a year")


def test_heat_map_hatches_missing_window_lengths():
    made = tables(30)
    lengths = [1, 2, 3, 4, 6, 9, 12]
    published = made.discovery_curve[made.discovery_curve["window_crawls"].isin(lengths)]
    figure, axes, _, cells = heat_map(made, published)
    has_values = [int(length) for length in np.flatnonzero(~cells.mask.all(axis=1)) + 1]
    assert cells.shape == (12, 30)
    assert has_values == axes.get_yticks().tolist() == lengths
    assert list(legend_entries(figure)) == ["window not in the table"]
    (hatched,) = [artist for artist in axes.collections if artist.get_hatch()]
    (outline,) = hatched.get_paths()
    for start, length, is_possible in [(0.2, 5, True), (22, 8, True), (22, 9.6, False), (29, 1, True)]:
        assert outline.contains_point((start, length)) == is_possible
    assert faults(figure) == []


@without_layout()
def test_heat_map_hatches_one_missing_window():
    made = tables(5)
    figure, _, _, cells = heat_map(made, made.discovery_curve.drop(index=2))
    assert np.argwhere(cells.mask & (np.add.outer(np.arange(5), np.arange(5)) < 5)).tolist() == [[2, 0]]
    assert list(legend_entries(figure)) == ["window not in the table"]


def test_heat_map_draws_one_window():
    made = tables(2)
    figure, _, _, cells = heat_map(made, made.discovery_curve.iloc[[0]])
    assert cells.compressed().tolist() == [made.crawls["elements"][0]]
    assert faults(figure) == []


@without_layout()
def test_heat_map_of_unknown_crawl_raises():
    made = tables(2)
    with pytest.raises(KeyError, match="crawl-001"):
        discovery_heat_map(made.crawls.iloc[:1], made.discovery_curve, title=TITLE)


@without_layout()
def test_start_crawls_have_lines_from_grey_to_black():
    made = tables(9)
    figure = discovery_curves_by_start(made.crawls, made.discovery_curve.sample(frac=1, random_state=1), title=TITLE)
    axes, colour_bar = figure.axes
    assert len(axes.lines) == 9
    for line, crawl in zip(axes.lines, made.crawls["crawl"], strict=True):
        windows = made.discovery_curve[made.discovery_curve["start_crawl"] == crawl]
        np.testing.assert_array_equal(line.get_xdata(), windows["elapsed_years"])
        np.testing.assert_array_equal(line.get_ydata(), windows["ratio"])
    levels = [to_rgb(line.get_color()) for line in axes.lines]
    assert all(red == green == blue for red, green, blue in levels)
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] == (0, 0, 0)
    dates = made.crawls["started_at"].dt.strftime("%Y-%m-%d").tolist()
    assert [label.get_text() for label in colour_bar.get_yticklabels()] == dates[::2]
    assert colour_bar.get_ylabel() == "start crawl, s"
    assert axes.get_xlabel() == "time from first to last crawl of the window (years)"
    assert "U(s, T)/U(s, 0)" in axes.get_ylabel()


@without_layout()
def test_discovery_curves_without_a_ratio_are_empty():
    made = tables(3)
    unknown = made.discovery_curve.assign(ratio=np.nan)
    figure = discovery_curves_by_start(made.crawls, unknown, title=TITLE)
    assert [axes.lines[:] for axes in figure.axes] == [[]]


def test_containment_by_lag_has_every_pair_and_means():
    made = tables(6)
    containment = made.containment.copy()
    containment.loc[0, "containment"] = -0.02
    containment.loc[1, "containment"] = np.nan
    known = containment.drop(index=1)
    figure = containment_by_lag(made.crawls, containment, title=TITLE)
    (axes,) = figure.axes
    pairs = observed(axes)
    np.testing.assert_array_equal(pairs.get_xdata(), known["lag_years"])
    np.testing.assert_array_equal(pairs.get_ydata(), known["containment"])
    assert min(pairs.get_ydata()) == -0.02
    assert axes.get_ylim()[0] < -0.02
    assert pairs.get_color() == tint(Colour.CONTAINMENT)
    (means,) = curves(axes).values()
    assert means.get_color() == Colour.CONTAINMENT
    for lag, x, y in zip(range(1, 6), means.get_xdata(), means.get_ydata(), strict=True):
        pairs_of_lag = known[known["lag_crawls"] == lag]
        assert x == pytest.approx(pairs_of_lag["lag_years"].mean(), rel=1e-12)
        assert y == pytest.approx(pairs_of_lag["containment"].mean(), rel=1e-12)
    assert list(legend_entries(figure)) == [
        "one pair of crawls (14 pairs)",
        "mean over the pairs of the same lag in crawls (5 lags)",
    ]
    assert axes.get_xlabel() == "lag (years)"
    assert axes.get_ylabel() == "containment: share of the earlier crawl\nin the later, |i ∩ j|/|i|"
    assert faults(figure) == []


def test_heat_map_shows_published_windows_of_common_crawl(shared_data):
    published = pd.read_csv(shared_data / "common_crawl_statistics" / "url_last_n_crawls.csv", index_col="crawl")
    labels, n = published.index, len(published)
    started = pd.date_range("2008-05-09", periods=n, freq="52D")
    crawls = pd.DataFrame(
        {"crawl": labels, "crawl_index": range(n), "started_at": started, "years": np.arange(n) * 52 / 365.25}
    )
    windows = pd.DataFrame(
        [
            {
                "start_crawl": labels[end - int(length) + 1],
                "end_crawl": labels[end],
                "window_crawls": int(length),
                "distinct_elements": int(value),
            }
            for length, column in published.items()
            for end, value in enumerate(column)
            if end >= int(length) - 1 and not np.isnan(value)
        ]
    )
    figure = discovery_heat_map(crawls, windows, title="common_crawl (url)")
    axes, colour_bar = figure.axes
    cells = cells_of(axes)
    assert colour_bar.get_ylabel() == "U(s, T) (billion elements)"
    assert cells[11, labels.get_loc("CC-MAIN-2020-05")] * 1e9 == pytest.approx(
        published.loc[labels[labels.get_loc("CC-MAIN-2020-05") + 11], "12"], rel=1e-12
    )
    assert faults(figure) == []
