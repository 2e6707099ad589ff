"""An update of a collection that the model does not fit."""

import dagster as dg
import pytest

from crawl_urn_dagster.figures import PARAMETER_FIGURES
from crawl_urn_dagster.figures.files import SUFFIXES
from crawl_urn_dagster.observables.database import ObservablesFile
from crawl_urn_dagster.orchestration.run_results import read_outcome
from crawl_urn_dagster_tests.pipeline import FIGURES
from crawl_urn_dagster_tests.report.reading import rows, section

pytestmark = pytest.mark.slow


def test_failed_headline_is_a_finding_and_not_an_error(command_run):
    with dg.DagsterInstance.from_config(str(command_run[0] / "home" / ".dagster")) as instance:
        (run,) = instance.get_runs(dg.RunsFilter(job_name="avoiding_update"))
        assert run.status == dg.DagsterRunStatus.FAILURE  # to Dagster; the outcome separates findings from errors
        outcome = read_outcome(instance, run.run_id)
    assert outcome.errors == ()
    headline_check = next(check for check in outcome.failed_checks if check.check == "headline_fit")
    assert headline_check.severity == "ERROR"
    assert "Verdict no_urn: " in headline_check.description


def test_only_figures_of_observables_are_left(command_run):
    figures = command_run[0] / "home" / "avoiding" / "figures"
    need_lists = {"survival_and_coverage_by_crawl", "completeness_by_crawl"}
    need_lists |= {"losses_by_crawl", "element_reliability"}
    not_drawn = {*PARAMETER_FIGURES, *need_lists}
    for suffix in (".png", ".svg"):
        assert {path.stem for path in figures.glob(f"*{suffix}")} == FIGURES - not_drawn
    assert not any((figures / f"core_shell_fits{suffix}").exists() for suffix in SUFFIXES)


def test_report_has_no_estimates(command_run):
    page = (command_run[0] / "home" / "avoiding" / "report.md").read_text()
    assert "status **model_violation**. The urn model does not fit this collection" in page
    assert "after 2 crawls than after 1" in page
    assert "core_shell_fits.png" not in page
    assert "> ✘ **Numbers may be quoted: no (`no_urn`).** " in page
    assert "This page quotes no number of the population." in page
    assert "Not reported (model_violation: Elements " in section(page, "Quantities for operators")
    assert "## Planning: other coverages and gaps" not in page
    assert "The crawler avoids recent fetches." in section(page, "Results without the urn model")
    for fit in rows(section(page, "Goodness of fit"), "residual_rms"):
        numbers = {name: fit[name] for name in ("kappa", "core_share", "alpha", "coverage", "residual_rms")}
        assert fit["model"].startswith("revisit_delay") == (fit["status"] != "model_violation")
        assert fit["status"] != "model_violation" or set(numbers.values()) == {"–"}


def test_tables_and_metadata_have_no_estimates(command_run):
    tables = ObservablesFile(command_run[0] / "home" / "avoiding" / "observables.duckdb")
    urn_fits = tables.read("parameters").query("model != 'revisit_delay'")
    assert set(urn_fits["status"]) == {"model_violation"}
    with dg.DagsterInstance.from_config(str(command_run[0] / "home" / ".dagster")) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(["avoiding", "headline"]))
    assert "kappa" not in event.asset_materialization.metadata
