"""Test all figures by name: layout in both widths, and numbers of captions against the tables."""

import math
import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from crawl_urn_dagster.figures import CATALOGUE, PARAMETER_FIGURES, caption, draw, drawable, inputs_digest
from crawl_urn_dagster.figures.files import SUFFIXES
from crawl_urn_dagster.figures.style import WIDTHS
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.observables.schema import SYMBOLS, TABLES
from crawl_urn_dagster.urn import Urn
from crawl_urn_dagster.urn.results.result import UNREPORTED_STATUSES
from crawl_urn_dagster_tests.figures.frames import TITLE, drawn, estimated, faults

#: Numbers of captions that do not depend on the collection: levels, tolerances, dates and names.
_FIXED = re.compile(r"95 %|1 % (of a crawl|tolerance)|2 % per 24 crawls|from 0 to 1|\d{4}-\d\d(-\d\d)?|1-50|51\+")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def frames():
    return estimated()


def numbers(text):
    return set(_NUMBER.findall(_FIXED.sub("", text)))


def describe(name, frames):
    return caption(name, frames, title=TITLE, clock="crawl")


def formatted(row, *names):
    """Return values of a row and the ends of their intervals in the format of a caption.

    The ends differ by 4 to 40 units of the last decimal, or by ten times that if the value would have only one digit.
    """
    expected = set()
    for name in names:
        values = [row.get(f"{name}{end}") for end in ("", "_low", "_high")]
        known = [value for value in values if not pd.isna(value)]
        width = max(known) - min(known) if len(known) == 3 else 0
        decimals = next((n for n in range(-12, 9) if 4 <= width * 10**n < 40), 3)
        decimals += width > 0 and abs(known[0]) * 10**decimals < 10
        expected |= {f"{round(value, decimals):,.{max(decimals, 0)}f}" for value in known}
    return expected


def fit_numbers(frames, model):
    """Return the numbers of the fits of a model that are reported and identified."""
    rows = frames["parameters"]
    rows = rows[(rows["model"] == model) & (rows["clock"] == "crawl") & (rows["component"] != "core")]
    rows = rows[rows["stratum"].isna() & ~rows["projection"].isin(["histories", "curves"])]
    rows = rows[~rows["status"].isin([*UNREPORTED_STATUSES, "not_identified"])]
    expected = set().union(*(formatted(row, *SYMBOLS) for row in rows.to_dict("records")))
    return expected | formatted(frames["truth"].iloc[0].to_dict(), *SYMBOLS) | {"12", "11"}


def stratum_numbers(frames):
    rows = frames["parameters"].query("headline and stratum.notna() and component == 'shell'")
    return {"2", "0"} | formatted(rows.iloc[0].to_dict(), "alpha", "coverage")


def profile_numbers(frames):
    expected = set()
    for _, rows in frames["kappa_profile"].groupby("projection"):
        near = rows.loc[rows["residual_rms"] <= rows["residual_rms"].min() + 0.01, "kappa"]
        expected |= {
            f"{near.min():.3f}",
            f"{near.max():.3f}",
            f"{rows.loc[rows['standardised_rms'].idxmin(), 'kappa']:.3f}",
        }
    return expected


def crawl_numbers(frames):
    rows = frames["per_crawl"].query("estimator == 'cormack_jolly_seber' and se.notna()")
    ends = (some.loc[some["estimate"].agg(end)] for _, some in rows.groupby("quantity") for end in ("idxmin", "idxmax"))
    shown = (row for row in ends if row["quantity"] in ("alpha", "coverage"))
    return {"12"}.union(*(formatted(row.to_dict(), "estimate") for row in shown))


def forecast_numbers(frames):
    rows = frames["forecast"].query("quantity == 'new_elements'").sort_values("crawls_ahead")
    rows = rows[rows["origin_crawl"] == frames["crawls"]["crawl"].iloc[-1]].iloc[[0, -1]]
    return set().union(*(formatted(row, "value") for row in rows.to_dict("records")))


def lag_numbers(frames):
    pairs = frames["containment"]
    first, last = (pairs.loc[pairs["lag_crawls"] == lag, "containment"] for lag in (1, 11))
    means = {f"{value:.3f}" for lag in (first, last) for value in (lag.mean(), lag.min(), lag.max())}
    return means | {"12", "1", "11"}


#: Expected numbers of captions, computed from the tables independently.
EXPECTED_NUMBERS = {
    "discovery_heat_map": lambda f: {"12", f"{f['discovery_curve']['distinct_elements'].max():,}"},
    "discovery_curves_by_start": lambda f: {
        "12",
        f"{f['discovery_curve'].query('window_crawls == 12')['ratio'].item():.3f}",
    },
    "containment_by_lag": lag_numbers,
    "overlap_matrix": lambda f: {"12", *(f"{value:.1f}" for value in overlaps(f).agg(["min", "max"]))},
    "losses_by_crawl": lambda f: (
        {"12", "11"}
        | {f"{value:.1f}" for value in (losses(f).iloc[-1], losses(f).max())}
        | formatted(f["quantities"].query("quantity == 'gone'").iloc[0], "value")
    ),
    "completeness_by_crawl": lambda f: (
        {"12"}
        | formatted(f["population"].iloc[-1], "completeness").union(
            *(formatted(f["population"].iloc[at], "population") for at in (0, -1))
        )
    ),
    "survival_and_coverage_by_crawl": lambda frames: crawl_numbers(frames) | {"2"},  # the last 2 are hollow
    "element_reliability": lambda f: {"0.011", "38,814", "0.119", "0.149"},
    "archive_overlap": lambda f: {"2", "0.625", "0.512", "0.687"},
    "ground_truth_by_window": lambda f: {"2", "3", "0.98"},
    "parameters_by_stratum": stratum_numbers,
    "rank_profile": stratum_numbers,
    "fates_of_an_element": lambda f: {"100"} | counts_of_100(f) | formatted(headline(f), *SYMBOLS),
    "homogeneous_fits": lambda f: fit_numbers(f, "homogeneous"),
    "core_shell_fits": lambda f: fit_numbers(f, "core_shell"),
    "identifiability": profile_numbers,
    "residuals_by_lag": lambda f: {"0", str((f["diagnosis"]["test"] == "lack_of_fit").sum()), count_cut_bars(f)},
    "parameters_over_time": lambda f: {"5", "8", "12"} | formatted(f["parameter_history"].iloc[-1], *SYMBOLS),
    "control_charts": lambda f: {"12", "8", "4"},
    "planning_curves": lambda f: (
        formatted(f["planning"][f["planning"]["current"]].iloc[0], "cost_per_new", "seen_at_last")
        | {f"{f['planning'].loc[f['planning']['current'], 'coverage'].item():.3f}", "90"}
    ),
}


def count_cut_bars(frames):
    """Count the bars that end outside the axes of the drawn figure."""
    (axes,) = drawn("residuals_by_lag").axes
    low, high = axes.get_ylim()
    bars = [bar[:, 1] for container in axes.collections for bar in container.get_segments()]
    return str(sum(bar.min() < low or bar.max() > high for bar in bars))


def overlaps(frames):
    """Return the Jaccard similarity of each pair in per cent."""
    pairs = frames["containment"]
    return 100 * pairs["intersection"] / (pairs["size_i"] + pairs["size_j"] - pairs["intersection"])


def losses(frames):
    """Return the share of each crawl that the next one lacks, in per cent."""
    return 100 * (1 - frames["containment"].query("lag_crawls == 1")["containment"])


def counts_of_100(frames):
    """Return how many of 100 elements are core or have each fate, rounded to a sum of 100 by largest remainders."""
    row = headline(frames)
    fates = Urn(row["alpha"], row["coverage"]).fates()
    exact = [100 * row["kappa"], *(100 * (1 - row["kappa"]) * fate for fate in fates)]
    missing = 100 - sum(map(math.floor, exact))
    rounded_up = sorted(exact, key=lambda value: value % 1, reverse=True)[:missing]
    return {str(math.floor(value) + (value in rounded_up)) for value in exact}


def headline(frames):
    return frames["parameters"].query("headline and stratum.isna() and component != 'core'").iloc[0]


def test_drawable_returns_figures_whose_tables_exist(frames):
    assert drawable(frames, strata=True, ranks=True) == list(CATALOGUE)
    assert set(drawable(frames)) == set(CATALOGUE) - {"parameters_by_stratum", "rank_profile"}
    assert "containment_by_lag" not in drawable(set(frames) - {"containment"})
    assert set(PARAMETER_FIGURES) < set(drawable(frames))
    for entry in CATALOGUE.values():
        assert {*entry.tables, *entry.optional_tables} <= set(TABLES)


def test_digest_changes_with_all_that_a_figure_is_drawn_from(frames):
    def digest(name="containment_by_lag", *, clock="crawl", **replaced):
        return inputs_digest(name, {**frames, **replaced}, title=TITLE, clock=clock)

    changed = frames["containment"].copy()
    changed.loc[0, "containment"] += 1e-9
    digests = [digest(), digest(containment=changed), digest(clock="year"), digest("identifiability")]
    assert len({*digests, digest(containment=frames["containment"].iloc[1:])}) == 5
    assert digest(parameters=frames["parameters"].iloc[1:]) == digests[0]


@pytest.mark.parametrize("name", CATALOGUE)
def test_figure_is_legible_in_both_widths(name):
    for columns, smallest in ((2, 8), (1, 7)):
        figure = drawn(name, columns)
        assert figure.get_figwidth() == WIDTHS[columns]
        assert figure.get_figheight() < 9
        assert faults(figure, smallest=smallest) == []


@pytest.mark.parametrize("name", CATALOGUE)
def test_caption_numbers_equal_those_of_the_tables(frames, name):
    found = describe(name, frames)
    assert found.title.startswith(TITLE)
    assert found.text.startswith(CATALOGUE[name].shows)
    assert len(found.text) > len(found.alt) > 40
    if name == "forecast_fan":  # also has ordinals and the number of crawls since the earlier forecast
        assert forecast_numbers(frames) <= numbers(found.text.replace("12th", ""))
        return
    expected = EXPECTED_NUMBERS[name](frames)
    assert numbers(found.text) == expected
    assert numbers(found.alt) <= expected | {"6", "5"}  # also has the number of fits


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged", "not_identified"])
@pytest.mark.parametrize(
    "name", ["fates_of_an_element", "homogeneous_fits", "core_shell_fits", "parameters_by_stratum"]
)
def test_caption_has_no_estimates_of_an_unreported_fit(frames, name, status):
    unreported = {**frames, "parameters": frames["parameters"].assign(status=status)}
    del unreported["truth"]
    found = describe(name, unreported)
    assert not re.search(r"\d\.\d|[κμαc] = ", found.text + found.alt)
    assert status in found.text or "No stratum has a fit of status ok" in found.text


@pytest.mark.parametrize(
    "name",
    [name for name, entry in CATALOGUE.items() if entry.has_parameters and "parameters" not in entry.tables],
)
def test_figure_and_caption_of_empty_tables_state_it(frames, name):
    empty = {**frames, **{table: frames[table].iloc[:0] for table in CATALOGUE[name].tables if table != "crawls"}}
    found = describe(name, empty)
    assert re.search(r"[Nn]o |not ", found.text)
    assert not re.search(r"\d\.\d", found.text + found.alt)
    assert faults(draw(name, empty, title=TITLE, clock="crawl")) == []


def test_captions_explain_only_marks_in_the_figure(frames):
    lacking = {**frames, "discovery_curve": frames["discovery_curve"].drop(index=1)}
    assert "hatched" not in describe("discovery_heat_map", frames).text
    assert "hatched" in describe("discovery_heat_map", lacking).text
    # The form of the paper has the curve of the exact form, so the figure shows only its κ.
    paper = re.search(r"paper form \(its κ is μ\): ([^;]*);", describe("core_shell_fits", frames).text)[1]
    assert re.fullmatch(r"the same curve, κ = [^α]*", paper)
    # The truth of a simulation has a core.
    assert "κ core fraction of the urn" in describe("homogeneous_fits", frames).text


def test_caption_shows_text_from_data_as_one_printable_line(frames):
    hostile = "a\n<script>\x00" + "x" * 500
    curve = frames["discovery_curve"].assign(start_crawl=hostile, end_crawl=hostile)
    text = describe("discovery_heat_map", {**frames, "discovery_curve": curve}).text
    assert text.isprintable()
    assert len(text) < 1000


def test_every_entry_has_its_two_functions():
    for name, entry in CATALOGUE.items():
        module = import_module(f"crawl_urn_dagster.figures.{entry.module}")
        assert callable(getattr(module, name))
        assert callable(getattr(module, f"{name}_caption"))


def test_docs_name_every_figure_and_their_example_runs(frames, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "figures.md").read_text(encoding="utf-8")
    assert [name for name in CATALOGUE if f"`{name}`" not in page] == []
    assert [suffix for suffix in SUFFIXES if f"`{suffix}`" not in page] == []
    monkeypatch.chdir(tmp_path)
    observables = {name: frames[name] for name in ("crawls", "containment")}
    ObservablesFile(Path("crawl_urn_home/demo/observables.duckdb")).replace(observables)
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(code, "docs/figures.md", "exec"), {})
    assert {path.name for path in Path("paper").iterdir()} == {f"containment{suffix}" for suffix in SUFFIXES}
