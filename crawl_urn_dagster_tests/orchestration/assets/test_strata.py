"""A collection with strata, from its lists to its report."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.observables.schema import PARAMETERS, STRATUM_VERDICTS
from crawl_urn_dagster.observables.strata import StratumSettings
from crawl_urn_dagster.observables.tables import read_strata
from crawl_urn_dagster.orchestration.assets.elements import ELEMENT_TABLES
from crawl_urn_dagster_tests.collections_for_tests import histories, lists_collection, presence_of
from crawl_urn_dagster_tests.pipeline import FIGURES, Pipeline

STRATUM = {"column": "tld"}
OBSERVABLES = ("crawls", "containment", "discovery_curve", "m_array", "first_returns")
FITTED = ("parameters", "operator_terms")
UNCHANGED = {
    *("drift", "control_chart", "parameter_history", "window_lengths"),
    *("forecast", "last_crawl", "planning", "equal_budget"),
    *("capture_recapture", "per_crawl", "comparators", "export", "elements", *ELEMENT_TABLES),
}
SIMULATED = histories(6, urn=400)


def tld(element, crawl):
    """The stratum of an element: it may change between crawls or be empty."""
    number = int(element[1:])
    if number % 10 == 0:
        return ""
    return "org" if number % 3 == 0 and crawl < 3 else "com"


def write_lists(folder, crawls):
    (folder / "lists").mkdir(exist_ok=True)
    for crawl, (label, elements) in enumerate(crawls.items()):
        rows = [f"{element},{tld(element, crawl)}" for element in elements]
        (folder / "lists" / f"{label}.csv").write_text("\n".join(["element,tld", *rows, ""]))


def expected(crawls):
    """Elements of each stratum and their captures, by pandas."""
    rows = pd.DataFrame(
        [(element, crawl, tld(element, crawl)) for crawl, some in enumerate(crawls.values()) for element in some],
        columns=["element", "crawl", "tld"],
    )
    rows["tld"] = rows.groupby("element")["tld"].transform("first").replace("", "unknown")
    return {
        stratum: (some["element"].nunique(), some["crawl"].value_counts().sort_index().tolist())
        for stratum, some in rows.groupby("tld")
    }


def found(pipeline):
    return {
        stratum: (counts.distinct_elements, (counts.elements @ counts.seen).tolist())
        for stratum, counts in read_strata(pipeline.home.observables).items()
    }


@pytest.fixture
def crawls(tmp_path):
    crawls = presence_of(SIMULATED)
    write_lists(tmp_path, crawls)
    return crawls


@pytest.mark.slow
def test_strata_leave_all_other_tables_unchanged(tmp_path, crawls):
    """A crawl is revised between ingest and update; then the collection is updated without its strata."""
    pipeline = Pipeline(lists_collection(tmp_path, stratum=STRATUM), tmp_path)
    pipeline.ingest()
    revised = list(crawls)[2]
    crawls[revised] = crawls[revised][::2]
    write_lists(tmp_path, crawls)
    assert pipeline.plan_ingest().crawls == (revised,)
    pipeline.run(without=FIGURES)
    assert pipeline.outcome.errors == ()
    assert "histories_sum_to_elements" not in {check.check for check in pipeline.outcome.failed_checks}
    assert found(pipeline) == expected(crawls)
    assert list(found(pipeline)) == ["com", "org", "unknown"]
    assert pipeline.metadata("capture_history_counts")["strata"] == pipeline.metadata("parameters")["strata"] == 3

    with_strata = pipeline.tables(*OBSERVABLES, *FITTED)
    headline_rows = with_strata["parameters"].query("headline and component != 'core'")
    assert headline_rows["stratum"].fillna("all").tolist() == ["all", "com", "org", "unknown"]
    with pipeline.home.observables.reading() as connection:
        assert connection.execute("SELECT count(*) FROM headline WHERE stratum IS NOT NULL").fetchone() == (0,)
    assert (pipeline.home.figures / "parameters_by_stratum.png").exists()
    page = pipeline.page()
    assert "figures/parameters_by_stratum.png" in page
    section = page.split("## By stratum")[1].split("\n## ")[0]
    first_cells = [row.split("|")[1].strip() for row in section.splitlines() if row.startswith("| ")]
    # The section begins with the stratum of which one crawl captures the least.
    assert first_cells[0] == "stratum"
    # No stratum has estimates to pool, so the section has one table.
    assert sorted(first_cells[1:]) == ["com", "org", "unknown"]
    by_stratum = pipeline.tables("stratum_profile", "stratum_verdicts")
    assert by_stratum["stratum_profile"]["stratum"].unique().tolist() == ["com", "org", "unknown"]
    verdicts = by_stratum["stratum_verdicts"]
    assert verdicts["stratum"].tolist() == ["com", "org", "unknown"]
    withheld = verdicts.loc[verdicts["quotable"] == "no", "stratum"]
    failed = {check.check for check in pipeline.outcome.failed_checks}
    assert ("strata_may_be_quoted" in failed) == bool(len(withheld))
    assert all(f"`{verdict}`: " in section for verdict in verdicts["verdict"])

    pipeline.configure(lists_collection(tmp_path))
    assert pipeline.plan_ingest().crawls == tuple(crawls)
    # The report of the second update reads the other tables of the first.
    pipeline.run(without=FIGURES | UNCHANGED)
    plain = pipeline.tables(*OBSERVABLES, *FITTED)
    # The content of a partition includes its strata.
    whole = [some["crawls"].drop(columns="content") for some in (with_strata, plain)]
    pd.testing.assert_frame_equal(*whole, check_exact=True)
    for name in set(OBSERVABLES) - {"crawls"}:
        pd.testing.assert_frame_equal(with_strata[name], plain[name], check_exact=True, obj=name)
    for name in FITTED:
        whole = [some.query("stratum.isna()").drop(columns="stratum") for some in (with_strata[name], plain[name])]
        pd.testing.assert_frame_equal(*whole, check_exact=True, check_dtype=False, obj=name)
    assert pipeline.tables("capture_history_counts")["capture_history_counts"]["stratum"].isna().all()
    assert read_strata(pipeline.home.observables) == {}
    assert "## By stratum" not in pipeline.page()


def test_rank_bands_have_a_profile_and_moves(tmp_path):
    """Ranks alternate between two bands; every list has the same elements."""
    (tmp_path / "lists").mkdir()
    for crawl, label in enumerate(("2020-01-06", "2020-01-13", "2020-01-20")):
        rows = [f"e{number},{1 + (number + 25 * crawl) % 100}" for number in range(100)]
        (tmp_path / "lists" / f"{label}.csv").write_text("\n".join(["element,rank", *rows, ""]))
    pipeline = Pipeline(lists_collection(tmp_path, stratum={"column": "rank", "bands": [50]}), tmp_path)
    strata = {"crawls", "stratum_profile", "rank_changes"}
    assets = {spec.key.path[-1] for spec in pipeline.defs.resolve_all_asset_specs()}
    pipeline.ingest()
    none_fitted = pd.DataFrame(columns=list(PARAMETERS.column_names))
    none_assessed = pd.DataFrame(columns=list(STRATUM_VERDICTS.column_names))
    pipeline.home.observables.replace({"parameters": none_fitted, "stratum_verdicts": none_assessed})
    assert pipeline.execute("update", without=frozenset(assets - strata)).success
    tables = pipeline.tables("stratum_profile", "rank_changes")
    assert tables["stratum_profile"].empty
    changes = tables["rank_changes"].set_index("stratum")
    assert changes["stayed"].to_dict() == {"1-50": 0.5, "51+": 0.5}
    assert changes["to_worse"].to_dict() == {"1-50": 0.5, "51+": 0.0}
    assert changes["net_flux"].to_dict() == {"1-50": 0.0, "51+": 0.0}


def test_source_without_the_column_is_rejected(tmp_path, crawls):
    pipeline = Pipeline(lists_collection(tmp_path, stratum={"column": "language"}), tmp_path)
    with pytest.raises(ValueError, match=r"2020-01-06.csv: has no column 'language' \(stratum\)"):
        pipeline.plan_ingest()


def test_stratum_survives_serialisation(tmp_path):
    collection = lists_collection(tmp_path, stratum={"column": "rank", "bands": [50, 200]})
    again = Collection.model_validate(collection.model_dump())
    assert again == collection
    assert again.source.relative_to(tmp_path) == collection.source


def test_documented_configuration_of_strata_is_valid(tmp_path):
    text = (Path(__file__).resolve().parents[3] / "docs" / "strata.md").read_text()
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "ranks.csv.gz").touch()
    (tmp_path / "collections.yaml").write_text(shown)
    (collection,) = load_collections(tmp_path / "collections.yaml")
    stratum = StratumSettings(column="harmonicc_pos", bands=[50, 200, 500, 1000], take="first")
    assert collection.stratum == stratum
    values = np.array(["50", "51", "500", "1000", "1001"], dtype=object)
    position, labels = stratum.encode(values)
    assert [labels[number] for number in position] == ["1-50", "51-200", "201-500", "501-1000", "1001+"]
