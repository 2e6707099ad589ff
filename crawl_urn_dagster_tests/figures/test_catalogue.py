"""Every figure by name: in both widths, and captions whose numbers are those of the tables."""

import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from crawl_urn_dagster.figures import CATALOGUE, PARAMETER_FIGURES, caption, draw, drawable
from crawl_urn_dagster.figures.files import SUFFIXES
from crawl_urn_dagster.figures.style import WIDTHS
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.observables.schema import SYMBOLS, TABLES
from crawl_urn_dagster.urn import Urn
from crawl_urn_dagster.urn.fits.status import WITHHELD
from crawl_urn_dagster_tests.figures.frames import TITLE, estimated, faults

#: Numbers of a caption that are no collection's: levels, and what control charts promise.
_FIXED = re.compile(r"95 %|1 % of a crawl|2 % of runs of 24 crawls|from 0 to 1|\d{4}-\d\d(-\d\d)?|1-50|51\+")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def frames():
    return estimated()


def numbers(text):
    return set(_NUMBER.findall(_FIXED.sub("", text)))


def described(name, frames):
    return caption(name, frames, title=TITLE, clock="crawl")


def written(row, *names):
    """Values of a row with their limits, as a caption writes them.

    Limits are 4 to 40 units of the last decimal apart, or ten times that where the value has two digits then only.
    """
    said = set()
    for name in names:
        values = [row.get(f"{name}{end}") for end in ("", "_low", "_high")]
        known = [value for value in values if not pd.isna(value)]
        width = max(known) - min(known) if len(known) == 3 else 0
        decimals = next((n for n in range(-12, 9) if 4 <= width * 10**n < 40), 3)
        decimals += width > 0 and abs(known[0]) * 10**decimals < 10
        said |= {f"{round(value, decimals):,.{max(decimals, 0)}f}" for value in known}
    return said


def of_fits(frames, model):
    """What a caption says of the fits of a model: nothing of those that are withheld or leave something open."""
    rows = frames["parameters"]
    rows = rows[(rows["model"] == model) & (rows["clock"] == "crawl") & (rows["component"] != "core")]
    rows = rows[rows["stratum"].isna() & ~rows["projection"].isin(["histories", "curves"])]
    rows = rows[~rows["status"].isin([*WITHHELD, "not_identified"])]
    said = set().union(*(written(row, *SYMBOLS) for row in rows.to_dict("records")))
    return said | written(frames["truth"].iloc[0].to_dict(), *SYMBOLS) | {"12", "11"}


def of_strata(frames):
    rows = frames["parameters"].query("headline and stratum.notna() and component == 'shell'")
    return {"2", "0"} | written(rows.iloc[0].to_dict(), "alpha", "coverage")


def of_profile(frames):
    said = set()
    for _, rows in frames["kappa_profile"].groupby("projection"):
        near = rows.loc[rows["residual_rms"] <= rows["residual_rms"].min() + 0.01, "kappa"]
        said |= {
            f"{near.min():.3f}",
            f"{near.max():.3f}",
            f"{rows.loc[rows['standardised_rms'].idxmin(), 'kappa']:.3f}",
        }
    return said


def of_crawls(frames):
    rows = frames["per_crawl"].query("estimator == 'cormack_jolly_seber' and se.notna()")
    ends = (some.loc[some["estimate"].agg(end)] for _, some in rows.groupby("quantity") for end in ("idxmin", "idxmax"))
    shown = (row for row in ends if row["quantity"] in ("alpha", "coverage"))
    return {"12"}.union(*(written(row.to_dict(), "estimate") for row in shown))


def of_forecast(frames):
    rows = frames["forecast"].query("quantity == 'new_elements'").sort_values("crawls_ahead")
    rows = rows[rows["origin_crawl"] == frames["crawls"]["crawl"].iloc[-1]].iloc[[0, -1]]
    return set().union(*(written(row, "value") for row in rows.to_dict("records")))


def of_lags(frames):
    pairs = frames["containment"]
    first, last = (pairs.loc[pairs["lag_crawls"] == lag, "containment"] for lag in (1, 11))
    means = {f"{value:.3f}" for lag in (first, last) for value in (lag.mean(), lag.min(), lag.max())}
    return means | {"12", "1", "11"}


#: What the numbers of a caption are, computed from the tables in another way.
SAID = {
    "discovery_heat_map": lambda f: {"12", f"{f['discovery_curve']['distinct_elements'].max():,}"},
    "discovery_curves_by_start": lambda f: {
        "12",
        f"{f['discovery_curve'].query('window_crawls == 12')['ratio'].item():.3f}",
    },
    "containment_by_lag": of_lags,
    "survival_and_coverage_by_crawl": of_crawls,
    "parameters_by_stratum": of_strata,
    "rank_profile": of_strata,
    "fates_of_an_element": lambda f: (
        {"0.000", "1.000"}
        | {f"{fate:.3f}" for fate in Urn(*headline(f)[["alpha", "coverage"]]).fates()}
        | written(headline(f), *SYMBOLS)
    ),
    "homogeneous_fits": lambda f: of_fits(f, "homogeneous"),
    "core_shell_fits": lambda f: of_fits(f, "core_shell"),
    "identifiability": of_profile,
    "residuals_by_lag": lambda f: {"0", str((f["diagnosis"]["test"] == "lack_of_fit").sum()), bars_cut_off(f)},
    "parameters_over_time": lambda f: {"5", "8", "12"} | written(f["parameter_history"].iloc[-1], *SYMBOLS),
    "control_charts": lambda f: {"12", "8", "4"},
    "planning_curves": lambda f: (
        written(f["planning"][f["planning"]["current"]].iloc[0], "cost_per_new", "seen_at_last")
        | {f"{f['planning'].loc[f['planning']['current'], 'coverage'].item():.3f}", "90"}
    ),
}


def bars_cut_off(frames):
    """How many bars end outside the frame of the drawn figure."""
    (axes,) = draw("residuals_by_lag", frames, title=TITLE, clock="crawl").axes
    low, high = axes.get_ylim()
    bars = [bar[:, 1] for container in axes.collections for bar in container.get_segments()]
    return str(sum(bar.min() < low or bar.max() > high for bar in bars))


def headline(frames):
    return frames["parameters"].query("headline and stratum.isna() and component != 'core'").iloc[0]


def test_a_figure_can_be_drawn_where_its_tables_are(frames):
    assert drawable(frames, strata=True, ranks=True) == list(CATALOGUE)
    assert set(drawable(frames)) == set(CATALOGUE) - {"parameters_by_stratum", "rank_profile"}
    assert "containment_by_lag" not in drawable(set(frames) - {"containment"})
    assert set(PARAMETER_FIGURES) < set(drawable(frames))
    for entry in CATALOGUE.values():
        assert {*entry.tables, *entry.optional_tables} <= set(TABLES)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_figure_is_legible_in_both_widths(frames, name):
    for columns, smallest in ((2, 8), (1, 7)):
        figure = draw(name, frames, title=TITLE, clock="crawl", columns=columns)
        assert figure.get_figwidth() == WIDTHS[columns]
        assert figure.get_figheight() < 9
        assert faults(figure, smallest=smallest) == []


@pytest.mark.parametrize("name", CATALOGUE)
def test_numbers_of_captions_are_those_of_the_tables(frames, name):
    said = described(name, frames)
    assert said.title.startswith(TITLE)
    assert said.text.startswith(CATALOGUE[name].shows)
    assert len(said.text) > len(said.alt) > 40
    if name == "forecast_fan":  # with ordinals and how many crawls came as forecast
        assert of_forecast(frames) <= numbers(said.text.replace("12th", ""))
        return
    expected = SAID[name](frames)
    assert numbers(said.text) == expected
    assert numbers(said.alt) <= expected | {"6", "5"}  # and how many fits there are


@pytest.mark.parametrize("status", ["model_violation", "too_few_points", "not_converged", "not_identified"])
@pytest.mark.parametrize(
    "name", ["fates_of_an_element", "homogeneous_fits", "core_shell_fits", "parameters_by_stratum"]
)
def test_captions_name_no_number_of_what_is_withheld_or_not_identified(frames, name, status):
    withheld = {**frames, "parameters": frames["parameters"].assign(status=status)}
    del withheld["truth"]
    said = described(name, withheld)
    assert not re.search(r"\d\.\d|[κμαc] = ", said.text + said.alt)
    assert status in said.text or "No stratum has a fit that is ok" in said.text


@pytest.mark.parametrize(
    "name",
    [name for name, entry in CATALOGUE.items() if entry.has_parameters and "parameters" not in entry.tables],
)
def test_figures_and_captions_of_nothing_say_so_and_name_no_number(frames, name):
    nothing = {**frames, **{table: frames[table].iloc[:0] for table in CATALOGUE[name].tables if table != "crawls"}}
    said = described(name, nothing)
    assert re.search(r"[Nn]o |not ", said.text)
    assert not re.search(r"\d\.\d", said.text + said.alt)
    assert faults(draw(name, nothing, title=TITLE, clock="crawl")) == []


def test_captions_name_the_signs_that_are_in_their_figures(frames):
    whole = {name: described(name, frames).text for name in ("discovery_heat_map", "control_charts", "core_shell_fits")}
    homogeneous = described("homogeneous_fits", frames).text
    assert "hatched" not in whole["discovery_heat_map"]
    lacking = {**frames, "discovery_curve": frames["discovery_curve"].drop(index=1)}
    assert "hatched" in described("discovery_heat_map", lacking).text
    # Of the printed form, whose curve is that of the exact one, the figure has κ alone.
    printed = re.search(r"paper form \(its κ is μ\): ([^;]*);", whole["core_shell_fits"])[1]
    assert re.fullmatch(r"the same curve, κ = [^α]*", printed)
    # The truth of a simulation has a core.
    assert "κ core's share of the urn" in homogeneous


def test_what_a_caption_takes_from_data_is_one_line_of_printable_text(frames):
    hostile = "a\n<script>\x00" + "x" * 500
    curve = frames["discovery_curve"].assign(start_crawl=hostile, end_crawl=hostile)
    text = described("discovery_heat_map", {**frames, "discovery_curve": curve}).text
    assert text.isprintable()
    assert len(text) < 1000


def test_every_entry_has_its_two_functions():
    for name, entry in CATALOGUE.items():
        module = import_module(f"crawl_urn_dagster.figures.{entry.module}")
        assert callable(getattr(module, name))
        assert callable(getattr(module, f"{name}_caption"))


def test_the_documentation_names_every_figure_and_draws_one(frames, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "figures.md").read_text(encoding="utf-8")
    assert [name for name in CATALOGUE if f"`{name}`" not in page] == []
    assert [suffix for suffix in SUFFIXES if f"`{suffix}`" not in page] == []
    monkeypatch.chdir(tmp_path)
    observables = {name: frames[name] for name in ("crawls", "containment")}
    ObservablesFile(Path("crawl_urn_home/demo/observables.duckdb")).replace(observables)
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(code, "docs/figures.md", "exec"), {})
    assert {path.name for path in Path("paper").iterdir()} == {f"containment{suffix}" for suffix in SUFFIXES}
