"""The API without Dagster: from data in memory or on disk to a fit, without a trace of Dagster."""

import base64
import copy
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster import api
from crawl_urn_dagster.estimates.assessment.result import format_quantity
from crawl_urn_dagster.estimates.drift import UnknownReferenceError
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.report.fitted import content_of_fit, with_pictures
from crawl_urn_dagster_tests.collections_for_tests import (
    COVERAGE,
    KAPPA,
    avoiding_histories,
    histories,
    labels,
    pairs_frame,
    presence_frame,
    windows_frame,
)

FEW = 12


@pytest.fixture(scope="module")
def simulated():
    return histories(FEW, urn=2_000)


@pytest.fixture(scope="module")
def fitted(simulated):
    frame = presence_frame(simulated).rename(columns={"crawl": "snapshot", "element": "host"})
    return cu.fit(cu.read_presence(frame, crawl_column="snapshot", element_column="host"))


def test_fit_of_a_presence_list_is_near_the_truth(fitted):
    # 2,000 elements over 12 crawls are too few to see a departure that matters.
    assert (fitted.status, fitted.verdict.name) == ("qualified", "not_tested_enough")
    # One urn of 2,000 elements over 12 crawls: kappa and c scatter by less than 0.02 over seeds.
    assert fitted.kappa == pytest.approx(KAPPA, abs=0.06)
    assert fitted.coverage == pytest.approx(COVERAGE, abs=0.06)
    for name in ("kappa", "core_share", "alpha", "coverage"):
        low, high = fitted.intervals[name]
        assert low < getattr(fitted, name) < high
    with pytest.raises(AttributeError):
        fitted.headline = None
    with pytest.raises(TypeError):
        fitted.tables["parameters"] = None


def test_summary_agrees_with_the_tables(fitted):
    first, *lines = fitted.summary().splitlines()
    sizes = fitted.crawls.tables["crawls"]["elements"]
    assert first == f"12 crawls, {labels(FEW)[0]} to {labels(FEW)[-1]}, of {sizes.min():,} to {sizes.max():,} elements"
    kappa = format_quantity("kappa", fitted.assessment.quantities["kappa"])
    assert f"{kappa}, or 0." in " ".join(lines)
    assert "if elements are covered in their first crawl as later" in " ".join(" ".join(lines).split())
    assert kappa.startswith("κ 0.")
    assert any(line.startswith(f"verdict: {fitted.verdict.name}.") for line in lines)
    assert max(map(len, lines)) <= 80
    assert kappa in repr(fitted)
    assert repr(fitted).startswith(f"core_shell: {fitted.verdict.name}, crawl completeness 0.")


def test_figures_are_drawn_by_name(fitted):
    assert {"core_shell_fits", "containment_by_lag", "residuals_by_lag"} <= set(fitted.figures)
    assert fitted.plot(title="these hosts").get_suptitle().startswith("these hosts: ")
    with pytest.raises(
        ValueError, match=r"'no_such' is not drawn; the figures of these crawls are discovery_heat_map, "
    ):
        fitted.plot("no_such")


def test_shells_complete_the_names_of_figures(fitted):
    assert set(fitted.figures) <= set(dir(copy.copy(fitted.plot)))
    assert fitted.plot.containment_by_lag(title="these hosts").get_suptitle().startswith("these hosts: ")
    with pytest.raises(AttributeError, match="'no_such' is not a figure of these crawls"):
        fitted.plot.no_such()


def test_fit_of_counts_equals_fit_of_lists(fitted, simulated):
    counts = simulated.counts()
    pairs, windows = pairs_frame(counts.intersections(), FEW), windows_frame(counts.unions(), FEW)
    read = cu.read_counts(pairs=pairs, windows=windows)
    for name in ("containment", "discovery_curve", "first_returns"):
        pd.testing.assert_frame_equal(read.tables[name], fitted.crawls.tables[name], check_dtype=False, check_like=True)
    assert read.histories is None
    alone = cu.read_counts(windows=windows)
    assert set(alone.tables) == {"crawls", "discovery_curve", "first_returns"}


def test_violated_collection_reports_no_estimate():
    counts = avoiding_histories(FEW).counts()
    pairs, windows = pairs_frame(counts.intersections(), FEW), windows_frame(counts.unions(), FEW)
    fit = cu.fit(cu.read_counts(pairs=pairs, windows=windows))
    assert (fit.status, fit.verdict.name) == ("model_violation", "no_urn")
    assert fit.kappa is fit.core_share is fit.alpha is fit.coverage is None
    assert "=" not in fit.summary().split("status:")[0]
    assert "containment_by_lag" in fit.figures
    with pytest.raises(
        ValueError, match=r"not reported \(model_violation\); the figures of these crawls are discovery_heat"
    ):
        fit.plot()


def test_dagster_is_not_imported():
    code = (
        "import sys\n"
        "import crawl_urn_dagster as cu\n"
        "from crawl_urn_dagster.sources import SimulatedSource\n"
        "fit = cu.fit(cu.read_source(SimulatedSource(crawls=4, elements=200)))\n"
        "fit.plot(fit.figures[0])\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'dagster'])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "[]\n"


FRAME = pd.DataFrame(
    [(crawl, f"e{k}") for n, crawl in enumerate(("2024-01", "2024-02", "2024-03", "2024-04")) for k in range(n, 40)],
    columns=["crawl", "element"],
)


class Converted:
    """A frame of another library: only ``to_pandas`` is used, as with polars and pyarrow."""

    def to_pandas(self):
        return FRAME


def test_fit_accepts_frames_paths_and_crawls(tmp_path, monkeypatch):
    path = tmp_path / "presence.csv"
    FRAME.to_csv(path, index=False)
    table = pa.Table.from_pandas(FRAME)
    given = (FRAME, Converted(), table, path, str(path), cu.read_presence(FRAME))
    estimated = []

    def estimate_once(data, **options):
        """Estimate from the first data; other data must be equal."""
        if not estimated:
            estimated.extend((data, estimate(data, **options)))
        first, estimation = estimated
        for name in ("crawls", "containment", "discovery_curve"):
            pd.testing.assert_frame_equal(getattr(data, name), getattr(first, name), check_dtype=False)
        np.testing.assert_array_equal(data.histories.seen, first.histories.seen)
        np.testing.assert_array_equal(data.histories.elements, first.histories.elements)
        return estimation

    monkeypatch.setattr(api, "estimate", estimate_once)
    fits = [cu.fit(one, n_resamples=20) for one in given]
    assert {repr(fit.crawls) for fit in fits} == {"4 crawls, 2024-01 to 2024-04, of 37 to 40 elements"}
    assert len({repr(fit) for fit in fits}) == 1


@pytest.mark.parametrize("wrong", [None, 3, [("2024-01", "a")], {"crawl": ["a"]}])
def test_fit_refuses_other_types_and_names_what_to_pass(wrong):
    with pytest.raises(TypeError, match="expected the result of read_presence, read_counts or read_source, a frame"):
        cu.fit(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 1.0}, "confidence_level is 1.0; expected a number between 0 and 1"),
        ({"n_resamples": 2}, "n_resamples is 2; expected at least 20"),
    ],
)
def test_fit_refuses_numbers_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        cu.fit(FRAME, **options)


def test_confidence_level_sets_the_intervals_and_not_the_tables(fitted):
    narrow = cu.fit(fitted.crawls, confidence_level=0.5)
    for name, (low, high) in narrow.intervals.items():
        assert fitted.intervals[name][0] < low < high < fitted.intervals[name][1]
    pd.testing.assert_frame_equal(narrow.tables["parameters"], fitted.tables["parameters"])
    assert "50 % CI" in narrow.headline.sentence


def test_seed_decides_the_intervals():
    one, again, other = (cu.fit(FRAME, n_resamples=20, rng=rng).headline for rng in (7, 7, np.random.default_rng(3)))
    assert one.intervals == again.intervals
    assert one.intervals != other.intervals


def test_progress_is_printed_or_handed_over(capsys):
    lines = []
    cu.fit(FRAME, n_resamples=20, progress=lines.append)
    assert lines[0] == "fitting all urns"
    assert capsys.readouterr().err == ""
    cu.fit(FRAME, n_resamples=20, progress=True)
    printed = capsys.readouterr().err.splitlines()
    # The estimate of the time left differs from fit to fit.
    assert [line.partition("; about ")[0] for line in printed] == [line.partition("; about ")[0] for line in lines]
    assert all(line.endswith(" s left") for line in printed[1:4])


@pytest.mark.parametrize("options", [{"confidence_level": "0.9"}, {"n_resamples": "50"}])
def test_fit_refuses_text_for_a_number(options):
    (name,) = options
    with pytest.raises(TypeError, match=f"{name}: found str '.*', expected a number"):
        cu.fit(FRAME, **options)


@pytest.mark.parametrize(("level", "stated"), [(0.95, "95 %"), (0.9, "90 %")])
def test_summary_states_the_confidence_level(level, stated):
    fitted = cu.fit(FRAME, n_resamples=20, confidence_level=level)
    assert f"intervals: {stated} confidence intervals" in fitted.summary().splitlines()


def test_forecast_drift_and_planning_follow_the_contract(fitted):
    forecast, drift, plans = fitted.forecast(), fitted.drift(window_crawls=8), fitted.planning()
    for name, table in {"forecast": forecast, "drift": drift, **plans}.items():
        assert tuple(table.columns) == TABLES[name].column_names
    assert set(forecast["origin_crawl"]) == {labels(FEW)[-1]}
    both = fitted.forecast(back_test=True)
    assert len(set(both["origin_crawl"])) > 1
    pd.testing.assert_frame_equal(both.tail(len(forecast)).reset_index(drop=True), forecast)
    assert set(drift["reference_last_crawl"].dropna()) <= {labels(FEW)[7], labels(FEW)[FEW // 2 - 1]}
    assert plans["planning"]["current"].sum() == 1
    with pytest.raises(UnknownReferenceError, match=r"found 'x', which is not a crawl"):
        fitted.drift(reference_from="x")


def test_notebook_shows_verdict_and_figure_without_markup(fitted):
    html = fitted._repr_html_()
    assert "Numbers may be quoted: yes, with a reservation" in html
    assert "known eligible elements" in html
    assert base64.b64decode(html.split("base64,")[1].split('"')[0]).startswith(b"\x89PNG")
    hostile = replace(fitted, crawls=replace(fitted.crawls, tables={"crawls": _renamed(fitted, "<script>")}))
    assert "<script>" not in hostile._repr_html_()


def _renamed(fitted, label):
    crawls = fitted.crawls.tables["crawls"]
    return crawls.assign(crawl=[label, *crawls["crawl"].iloc[1:]])


def test_report_states_the_verdict_and_rejects_other_formats(fitted, tmp_path):
    lines = []
    written = fitted.report(tmp_path / "report.md", name="mine", granularity="host", progress=lines.append)
    assert lines == ["computing forecast, rolling windows, drift and plans"]
    text = written.read_text()
    assert text.startswith("# mine (host)\n")
    assert f"(`{fitted.verdict.name}`)" in text
    with pytest.raises(ValueError, match=r"path: found suffix '.pdf', expected '.html' or '.md'"):
        fitted.report(tmp_path / "report.pdf")


def test_each_figure_of_a_report_is_announced(fitted, monkeypatch):
    crawls, lines = fitted.crawls, []
    content = content_of_fit(crawls, fitted.tables, name="mine", granularity="host", clock="crawl")
    monkeypatch.setattr("crawl_urn_dagster.report.fitted.pictures_of", lambda names, *_: dict.fromkeys(names))
    names = list(with_pictures(content, lines.append).pictures)
    assert set(fitted.figures) <= set(names)
    assert lines[0] == f"drawing figure 1 of {len(names)}"
    assert lines[-1].startswith(f"drawing figure {len(names)} of {len(names)}; about ")
