"""The report of a collection: what it says equals the tables, and what is withheld is not in it."""

import re
from datetime import datetime, timezone

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.config.collection import demo_collection
from crawl_urn_dagster.figures import CATALOGUE
from crawl_urn_dagster.observables.quality import IN_CALENDAR, dated_by_week
from crawl_urn_dagster.observables.schema import SYMBOLS
from crawl_urn_dagster.orchestration.assets.report import report_asset
from crawl_urn_dagster.report import Content, Page, report_page, to_markdown
from crawl_urn_dagster.report.blocks import Picture
from crawl_urn_dagster.report.goodness_of_fit import fit_quality, which_urn
from crawl_urn_dagster.report.model_free import data_quality, long_gaps
from crawl_urn_dagster.report.operator_terms import dictionary, plans
from crawl_urn_dagster.report.summary import believing, drift, lead
from crawl_urn_dagster.urn import UNSAID, WITHHELD, Interval
from crawl_urn_dagster_tests.collections_for_tests import histories, presence_collection
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, FIGURES, Pipeline
from crawl_urn_dagster_tests.report.reading import assert_written, estimate, number, rows, section

N = 20
NUMBER = r"-?[\d,]+(?:\.\d+)?"
FIT = ["projection", "model", "form", "clock", "component"]


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    collection = presence_collection(folder, histories(N), drift={"window_crawls": 12, "step_crawls": 8})
    line = Pipeline(collection, folder)
    assert line.run(without=FIGURES).success, line.outcome.errors
    return line


@pytest.fixture(scope="module")
def page(line):
    return line.page()


def columns(row, name):
    return tuple(row[f"{name}{end}"] for end in ("", "_low", "_high"))


def shell(line):
    parameters = line.home.observables.read("parameters")
    return parameters[parameters["headline"]].iloc[-1]


def test_the_headline_is_the_parameters(line, page):
    quoted = re.search(r"^> \*\*(.*)\*\*$", page, flags=re.MULTILINE)[1]
    shares = re.findall(rf"{NUMBER} % \({NUMBER} to {NUMBER}\)", quoted)
    fit, planning = shell(line), line.home.observables.read("planning")
    now = planning[planning["current"]].iloc[0]
    assert_written(shares[0], columns(now, "crawl_size"), share=True)
    for text, name in zip(shares[1:], ("core_share", "kappa", "coverage", "alpha"), strict=True):
        assert_written(text, columns(fit, name), share=True)
    size, held, eligible, core = re.search(
        r"mean size, (.*) elements, holds (.*) of what is .* so that (.*) are eligible, (.*) of them the core", page
    ).groups()
    mean = line.home.observables.read("crawls")["elements"].mean()
    assert number(size) == round(mean)
    assert_written(held, columns(now, "crawl_size"), share=True)
    assert_written(eligible, mean / np.array(columns(now, "crawl_size"))[[0, 2, 1]])
    assert_written(core, mean * np.array(columns(fit, "core_share")))
    terms, crawls = line.home.observables.read("operator_terms"), line.home.observables.read("crawls")
    of_fit = terms[(terms[FIT] == fit[FIT]).all(axis=1)].iloc[0]
    (crawls_left, days_left) = re.findall(rf"{NUMBER} \({NUMBER} to {NUMBER}\) (?=further crawls|days at)", page)
    assert_written(crawls_left, columns(of_fit, "life_expectancy"))
    gap = crawls["started_at"].diff().mean() / pd.Timedelta(days=1)
    assert_written(days_left, gap * np.array(columns(of_fit, "life_expectancy")))


def test_the_dictionary_is_the_tables(line, page):
    terms = line.home.observables.read("operator_terms")
    fit, planning = shell(line), line.home.observables.read("planning")
    now = planning[planning["current"]].iloc[0]
    of_fit = terms[(terms[FIT] == fit[FIT]).all(axis=1)].iloc[0]
    churn = tuple(1 - np.array(columns(fit, "alpha"))[[0, 2, 1]])
    expected = {
        "share of the urn in one crawl": (columns(now, "crawl_size"), True),
        "core fraction of a crawl, μ": (columns(fit, "core_share"), True),
        "core fraction of the urn, κ": (columns(fit, "kappa"), True),
        "coverage, c": (columns(fit, "coverage"), True),
        "churn, 1 − α": (churn, True),
        "unique rate": (columns(now, "nu_inf"), True),
        "life expectancy": (columns(of_fit, "life_expectancy"), False),
        "sampled time": (columns(of_fit, "sampled_time"), False),
        "hidden time": (columns(of_fit, "hidden_time"), False),
        "resolve time (hiding time)": (columns(of_fit, "hiding_time"), False),
    }
    assert f"Status of all: **{fit['status']}**." in section(page, "In an operator's terms")
    shown = rows(section(page, "In an operator's terms"))
    assert [row["quantity"] for row in shown] == list(expected)
    for row in shown:
        numbers, share = expected[row["quantity"]]
        assert_written(row["value (95 % interval)"], numbers, share=share)
        assert row["unit"]
        assert row["what moves it"]


def test_the_last_crawl_is_compared_with_its_forecast(line, page):
    forecast, crawls = line.home.observables.read("forecast"), line.home.observables.read("crawls")
    curve = line.home.observables.read("discovery_curve")
    told = forecast[forecast["origin_crawl"] == crawls["crawl"].iloc[-2]].set_index("quantity")
    whole = curve[curve["start_crawl"] == crawls["crawl"][0]]["distinct_elements"]
    size, new = crawls["elements"].iloc[-1], whole.diff().iloc[-1]
    came = {"in the crawl": size, "new": new, "seen before": size - new}
    shown = rows(section(page, "What the last crawl brought"))
    for row, quantity in zip(shown, ("crawl_size", "new_elements", "returning_elements"), strict=True):
        assert number(row["came"]) == came[row["elements"]]
        value, low, high = columns(told.loc[quantity], "value")
        assert_written(row["forecast"], (value, low, high))
        off = 100 * (number(row["came"]) / value - 1)
        said = "within the interval" if low <= number(row["came"]) <= high else "outside the interval"
        by = f" ({abs(off):.0f} % {'above' if off > 0 else 'below'})" if abs(off) >= 0.5 else ""
        assert row["so it is"] == said + by


def test_drift_forecast_and_sources_are_the_tables(line, page):
    drift = line.home.observables.read("drift").set_index("parameter")
    since = drift.loc["kappa"]
    labels = line.home.observables.read("crawls")["crawl"].tolist()
    told = section(page, "Has anything drifted since the reference?")
    assert f"more than {since['threshold']:.3g} standard deviations off; " in told
    assert f"there were {N - 12} crawls since." in told
    n_value = N - labels.index(since["value_first_crawl"])
    assert re.search(rf"of the last {n_value} crawls?, since {since['value_first_crawl']}", told)
    for row in rows(told, "reference_value"):
        name = re.search(r"\((\w+)\)", row["parameter"])[1]
        for column in ("reference_value", "value", "difference"):
            assert_written(row[column], columns(drift.loc[name], column))
        assert set(row) == {"parameter", "reference_value", "value", "difference"} or drift["drifted"].any()
    forecast = line.home.observables.read("forecast")
    latest = forecast[forecast["origin_crawl"] == forecast["origin_crawl"].iloc[-1]]
    titles = {"elements in it": "crawl_size", "of them new": "new_elements", "seen before": "returning_elements"}
    ends, between = section(page, "What the next crawls will bring").split("<details>")
    shown = [*rows(ends), *rows(between)]
    assert sorted(int(row["crawls_ahead"]) for row in shown) == list(range(1, 13))
    for row in shown:
        for title, quantity in titles.items():
            ahead = (latest["crawls_ahead"] == int(row["crawls_ahead"])) & (latest["quantity"] == quantity)
            assert_written(row[title], columns(latest[ahead].iloc[0], "value"))
    parameters, fit = line.home.observables.read("parameters"), shell(line)
    kind = (
        (parameters["model"] == fit["model"]) & (parameters["clock"] == fit["clock"]) & (parameters["form"] == "exact")
    )
    side_by_side = parameters[kind & (parameters["component"] == "shell")].set_index("projection")
    tests = line.home.observables.read("diagnosis").query("test == 'projections'").set_index("subject")
    for row, name in zip(rows(section(page, "The observables side by side")), SYMBOLS, strict=True):
        for projection in ("containment", "discovery_curve", "joint", "histories"):
            assert_written(row[projection], columns(side_by_side.loc[projection], name))
        assert_written(row["difference"], columns(tests.loc[name], "difference"))


def test_an_alarm_names_its_chart_and_tells_it_from_what_moved(line):
    frames = line.tables("crawls", "parameters", "drift")
    alarm = frames["drift"].assign(
        reason=None,
        drifted=True,
        statistic=[7.25, 7.25, 1.5, 1.5],
        threshold=4.5,
        attributed=[False, False, True, False],
    )
    since = alarm.assign(since_crawl=alarm["value_first_crawl"])
    text = to_markdown(Page("", [], [drift(Content(line.collection, {**frames, "drift": since}, broken_rules={}))]))
    assert f"**Yes: α (alpha) changed** since {since['value_first_crawl'][0]}." in text
    assert "The alarm is of 1 chart: core (7.25)." in text
    shown = rows(text, "reference_value")
    assert [row["average of its chart, in standard deviations"] for row in shown] == ["7.25", "7.25", "1.5", "1.5"]
    assert [row["moved"] for row in shown] == ["no", "no", "yes", "no"]
    another = since.assign(attributed=False, note="the crawls since are of another urn")
    content = Content(line.collection, {**line.tables("diagnosis"), **frames, "drift": another}, broken_rules={})
    told = to_markdown(Page("", [], [drift(content), believing(content)]))
    assert "**The urn itself changed**: the crawls since are of another urn." in told
    assert "no parameter yet" not in told
    assert f"**Something changed with {since['value_first_crawl'][0]}, and the numbers are of all crawls" in told
    blind = frames["drift"].assign(reason="the reference varies too much", drifted=None)
    (said,) = drift(Content(line.collection, {**frames, "drift": blind}, broken_rules={})).blocks
    assert said == "**Parameters could not be judged against a reference**: the reference varies too much."


def test_fits_and_tests_are_the_tables(line, page):
    text = section(page, "Whether the model fits")
    fits = line.home.observables.read("parameters").query("stratum.isna() and component != 'core'")
    for row, fit in zip(rows(text, "n_points"), fits.to_dict("records"), strict=True):
        assert [row[name] for name in ("projection", "model", "form", "clock", "status")] == [
            fit[name] for name in ("projection", "model", "form", "clock", "status")
        ]
        for name in SYMBOLS:
            if fit["status"] in WITHHELD or pd.isna(fit[name]):
                assert row[name] == "–"
            elif pd.isna(fit[f"{name}_low"]):
                assert number(row[name]) == pytest.approx(fit[name], rel=1e-3)
            else:
                assert_written(row[name], columns(fit, name))
                is_open = fit["status"] in UNSAID or Interval(*columns(fit, name)[1:]).is_open
                assert np.isnan(estimate(row[name])[0]) == is_open
    assert any(fits["status"] == "not_identified")
    tests = line.home.observables.read("diagnosis").query("test != 'collection'")
    tests = tests.set_index(tests["test"] + ", " + tests["subject"])
    shown = rows(text, "fails below")
    assert {row["test and row"].split(",")[0] for row in shown} == set(tests["test"])
    for row in shown:
        test = tests.loc[row["test and row"]]
        assert number(row["observed"]) == pytest.approx(test["observed"], rel=1e-3)
        assert row["verdict"] == test["verdict"].replace("_", " ")
        if not pd.isna(test["difference_low"]):
            assert_written(row["difference"], columns(test, "difference"))


def test_plans_are_the_table(line, page):
    planning, crawls = line.home.observables.read("planning"), line.home.observables.read("crawls")
    days = crawls["started_at"].diff().mean() / pd.Timedelta(days=1)
    titles = {
        "share of the urn in a crawl": "crawl_size",
        "crawls until 90 % of the shell was seen": "crawls_to_seen",
        "share of the shell seen in the long run": "seen_at_last",
        "new share of a crawl": "nu_inf",
        "hidden time in the shell, days": "hidden_time",
        "fetches per new element": "cost_per_new",
    }
    text = section(page, "Other coverages and cadences")
    least = {}
    for part, gap in zip(text.split("<details>"), (1, 0.5, 2), strict=True):
        plan = planning[planning["gap"] == gap].sort_values("coverage").to_dict("records")
        for row, expected in zip(rows(part), plan, strict=True):
            assert row["coverage"] == f"{expected['coverage']:.2g}" + (" (now)" if expected["current"] else "")
            for title, name in titles.items():
                scale = days if name == "hidden_time" else 1
                if row[title] == "never":
                    assert np.isinf(columns(expected, name)).all()
                else:
                    assert_written(row[title], scale * np.array(columns(expected, name)))
        least[gap] = min(row["coverage"] for row in plan if np.isfinite(row["crawls_to_seen_high"]))
    said = f"coverage {least[1]:.2g} at the present gap, {least[0.5]:.2g} at half the gap, {least[2]:.2g} at twice"
    assert f"To see 90 % of the shell for sure: {said} the gap; " in text
    now, size = planning[planning["current"]].iloc[0], crawls["elements"].mean()
    most = re.search(
        r"twice the present mean size, (.*) elements, is more than .* about (.*): (.*) times", text
    ).groups()
    expected = [2 * size, size / now["crawl_size"], 1 / now["crawl_size"]]
    assert [number(one) for one in most] == pytest.approx(expected, rel=0.03)
    frames = {**line.tables("crawls", "parameters"), "planning": planning.assign(crawl_size=0.3, coverage=0.1)}
    said = plans(Content(line.collection, frames, broken_rules={})).blocks
    # 0.3 = κ + (1 - κ) 0.1 gives κ = 2/9, and 0.6 = κ + (1 - κ) c gives c = 0.486.
    assert any("has coverage 0.49 of the shell" in block for block in said if isinstance(block, str))


def test_every_interval_on_the_page_is_beside_its_number(page):
    """No number of a fit, a forecast or a plan stands without limits, but at a bound."""
    for title in ("What the next crawls will bring", "Other coverages and cadences", "In an operator's terms"):
        for row in rows(section(page, title)):
            cells = [text for text in row.values() if re.fullmatch(rf"{NUMBER}(?: %)?", text)]
            assert len(cells) <= 2, (title, row)  # the coverage and the gap that are chosen, or the crawl ahead


def test_every_figure_has_its_place(line):
    """Whatever the catalogue has is shown once, where the collection has it."""
    frames = line.tables("crawls", "parameters", "operator_terms", "diagnosis", "model_comparison", "revisit_regimes")
    frames |= line.tables("drift", "forecast", "planning", "revisions", "inputs", "control_chart", "parameter_history")
    frames |= line.tables("findings")
    frames |= line.tables("capture_recapture", "comparators", "discovery_curve", "containment")
    sizes = frames["parameters"][["stratum"]].iloc[:0]
    pictures = {name: Picture(f"figures/{name}.png", b"", name, name) for name in CATALOGUE}
    content = Content(line.collection, {**frames, "strata": sizes}, broken_rules={}, pictures=pictures)
    text = to_markdown(report_page(content))
    assert sorted(re.findall(r"\(figures/(\w+)\.png\)", text)) == sorted(CATALOGUE)


def test_both_files_are_recorded_and_hold_the_pictures(line):
    recorded = line.metadata("report")
    assert recorded["html"].endswith("report.html")
    assert recorded["md"].endswith("report.md")
    html = line.home.report.with_suffix(".html").read_text()
    assert html.count("data:image/png;base64,") == line.page().count("](figures/")
    assert "<h2>Can it be believed?</h2>" in html


def test_the_page_says_when_the_source_was_read_and_that_it_is_no_simulation(line, page):
    event = line.instance.get_latest_materialization_event(dg.AssetKey([line.collection.name, "presence"]))
    read_at = datetime.fromtimestamp(event.timestamp, tz=timezone.utc)
    assert f"Read were, last at {read_at:%Y-%m-%d %H:%M} UTC:" in page
    assert "Simulated data" not in page
    frames = line.tables("crawls", "parameters", "operator_terms", "planning")
    (said, headline, *_) = lead(Content(demo_collection(), frames, broken_rules={}))
    assert said == "**Simulated data, not a real crawl** (κ 0.4, α 0.75, c 0.6, seed 1)."
    assert headline.startswith("> **One crawl holds ")


def test_nothing_that_follows_from_an_open_number_is_said(line):
    frames = line.tables("crawls", "parameters", "operator_terms", "planning")
    spoken = frames["parameters"]["headline"]
    left_open = frames["parameters"].assign(status=frames["parameters"]["status"].mask(spoken, "not_identified"))
    content = Content(line.collection, {**frames, "parameters": left_open}, broken_rules={})
    page = to_markdown(Page("", lead(content), [dictionary(content)]))
    assert "How many elements are eligible, and for how long, is not said" in page
    assert "further crawls" not in page
    assert "surer" not in page
    shown = {row["quantity"]: row["value (95 % interval)"] for row in rows(page, "quantity")}
    open_ones = [quantity for quantity, value in shown.items() if value == "not identified"]
    times = ["life expectancy", "sampled time", "hidden time", "resolve time (hiding time)"]
    assert open_ones == ["share of the urn in one crawl", "unique rate", *times]


def test_a_fit_per_year_is_named_where_gaps_are_uneven_and_it_is_closer(line):
    frames = line.tables("crawls", "parameters", "operator_terms", "planning")
    assert "per mean gap" not in "".join(lead(Content(line.collection, frames, broken_rules={})))
    uneven = frames["crawls"].assign(years=frames["crawls"]["years"].where(frames["crawls"].index < N - 1, 9.0))
    yearly = frames["parameters"]["clock"] == "year"
    closer = frames["parameters"].assign(
        residual_rms=frames["parameters"]["residual_rms"].where(~yearly, 1e-9), status="ok"
    )
    content = Content(line.collection, {**frames, "crawls": uneven, "parameters": closer}, broken_rules={})
    (said,) = (text for text in lead(content) if "per mean gap" in text)
    fit = closer[yearly & (closer[FIT] == pd.Series({**shell(line)[FIT], "clock": "year"})).all(axis=1)].iloc[-1]
    per_year, per_gap = (text for text in re.findall(rf"{NUMBER} % \({NUMBER} to {NUMBER}\)", said))
    assert_written(per_year, columns(fit, "alpha"), share=True)
    assert_written(per_gap, np.array(columns(fit, "alpha")) ** uneven["years"].diff().mean(), share=True)


def test_what_reading_left_out_is_said_and_a_crawl_without_a_date_is_not_broken(line):
    frames = line.tables("crawls", "diagnosis", "parameters", "revisions", "findings", "drift")
    page = to_markdown(Page("", [], [data_quality(Content(line.collection, frames, broken_rules={}))]))
    assert "Noticed" not in page
    found = [("not_ingested", 0, "0"), ("lines", 0, "1200"), ("lines_malformed", 0, "2"), ("malformed", 0, "a <b>")]
    noticed = pd.DataFrame(found, columns=["finding", "position", "found"])
    undated = dated_by_week(frames["crawls"].assign(dated_by="iso_week").iloc[:1])
    content = Content(line.collection, {**frames, "findings": noticed}, broken_rules={IN_CALENDAR: undated})
    page = to_markdown(Page("", [], [data_quality(content), believing(content)]))
    assert "**Of 1,200 lines 2 are malformed, and left out.**" in page
    shown = rows(page, "finding")
    assert [row["finding"] for row in shown] == ["lines", "lines malformed", "malformed"]
    assert shown[-1]["found"] == r"a \<b\>"
    assert "**The calendar lacks 1 crawl**" in page
    assert "Broken" not in page


def test_fits_of_a_delay_are_told_apart_by_its_length_and_their_crawls(line):
    frames = line.tables("crawls", "diagnosis", "parameters")
    one = shell(line).to_frame().T.assign(model="revisit_delay", first_crawl="2020-01", last_crawl="2021-06")
    fits = pd.concat([one.assign(delay_crawls=1), one.assign(delay_crawls=2, first_crawl="2021-07")])
    content = Content(
        line.collection, {**frames, "parameters": pd.concat([frames["parameters"], fits])}, broken_rules={}
    )
    models = [row["model"] for row in rows(to_markdown(Page("", [], [fit_quality(content)])), "n_points")]
    assert models[-2:] == [
        "revisit_delay of 1 crawl, 2020-01 to 2021-06",
        "revisit_delay of 2 crawls, 2021-07 to 2021-06",
    ]


def test_gaps_with_room_for_more_crawls_are_found(line):
    crawls = line.home.observables.read("crawls")
    assert long_gaps(crawls, 28).empty
    found = long_gaps(crawls.drop(index=[4, 5, 9]), 28)
    assert found["room_for"].tolist() == [2, 1]
    assert found["after"].tolist() == [crawls["crawl"][3], crawls["crawl"][8]]


def test_of_two_crawls_the_page_says_what_can_be_told_and_what_cannot(tmp_path):
    line = Pipeline(presence_collection(tmp_path, histories(2)), tmp_path)
    line.run(without=FIGURES)
    page = line.page()
    told = section(page, "Has anything drifted since the reference?")
    assert "**From 2 crawls it cannot be told** whether anything else changed: that needs 20." in told
    assert "No change" not in told
    assert "p is the chance" not in told
    assert "Nothing that is known of it was forecast: a forecast needs 8 crawls before it." in page
    assert "days apart; one gap tells no cadence." in page
    first_returns = section(page, "What can be told without an urn")
    assert "<details>" not in first_returns
    assert number(rows(first_returns, "lag_crawls")[0]["fraction"]) > 0
    observed = section(page, "The observables side by side")
    assert "figures/containment_by_lag.png" in observed
    assert "<details>" not in observed
    first_time = "The source was read for the first time: there is nothing earlier to compare its counts with."
    assert first_time in page
    # The same content read again is still the first; other content is compared with it.
    frames = line.tables("crawls", "parameters", "revisions", "findings")
    line.execute("update", without=ALL_BUT_OBSERVABLES)
    assert line.tables("findings")["findings"].equals(frames["findings"])
    later = {**frames, "findings": frames["findings"].iloc[:0]}
    page = to_markdown(Page("", [], [data_quality(Content(line.collection, later, broken_rules={}))]))
    assert "The source changed no count of the past when its content last changed." in page


def test_a_preferred_urn_that_is_not_identified_or_not_the_headlines_is_called_that(line):
    frames = line.tables("crawls", "parameters", "model_comparison")
    compared = frames["model_comparison"]
    two_shells = compared["model"] == "core_two_shells"
    other = compared.assign(preferred=two_shells, status=compared["status"].mask(two_shells, "not_identified"))
    (said, _) = which_urn(Content(line.collection, {**frames, "model_comparison": other}, broken_rules={})).blocks
    assert "prefers core_two_shells (not_identified)" in said
    assert said.endswith(" The headline is another urn, core_shell.")
    (said, _) = which_urn(Content(line.collection, frames, broken_rules={})).blocks
    assert "another urn" not in said


def test_the_report_waits_for_no_figure_of_parameters():
    (spec,) = report_asset(demo_collection()).specs
    waited = {dep.asset_key.path[1] for dep in spec.deps}
    assert not waited & {name for name, entry in CATALOGUE.items() if entry.has_parameters}
    assert "headline" not in waited


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_the_page_whole(line, browser, width):
    """From disk, on a desk and on a phone: nothing is wider than the page, fails to load, or runs."""
    complaints = []
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(line.home.report.with_suffix(".html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 300)")
    narrow = "[...document.querySelectorAll('table')].filter(table => !table.closest('.wide')).length"
    assert page.evaluate(narrow) == 0
    # On a phone a figure scrolls, so that its text of 8 points can be read.
    assert page.evaluate("Math.min(...[...document.images].map(image => image.clientWidth))") > 690
    assert complaints == []
    page.close()
