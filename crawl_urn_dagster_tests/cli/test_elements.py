"""The command `crawl-urn elements` shows the lists to act on, and the state of a user's own list."""

import pandas as pd
import pytest

from crawl_urn_dagster.formatting import UNKNOWN
from crawl_urn_dagster.orchestration.resources import CollectionHome
from crawl_urn_dagster_tests.cli.conftest import N_CRAWLS, URN
from crawl_urn_dagster_tests.collections_for_tests import histories, labels, presence_of

pytestmark = pytest.mark.slow


@pytest.fixture
def elements(command_run, invoke):
    """Run the command on the shared home folder."""
    folder, _ = command_run
    options = ("--collections", folder / "collections.yaml", "--home", folder / "home", "--select", "fitting")
    return lambda *arguments: invoke("elements", *options, *arguments, COLUMNS="200")


@pytest.fixture
def files(command_run):
    return CollectionHome(folder=str(command_run[0] / "home"), collection="fitting")


@pytest.fixture(scope="module")
def texts():
    return sorted(set().union(*presence_of(histories(N_CRAWLS, urn=URN)).values()))


def test_lists_have_their_rows_and_expected_yield(elements, files):
    result = elements()
    assert result.exit_code == 0, result.output
    reseed = files.observables.read("reseed")
    assert f"{len(reseed):,} " in result.output
    assert "Texts are not kept." in result.output
    assert "predicted and observed shares of captures differ" in result.output


def test_own_list_is_found_by_hash(elements, tmp_path, texts):
    own, out = tmp_path / "own.txt", tmp_path / "own.csv"
    own.write_text("\n".join(["nowhere.example", "", *texts[:20], texts[0]]))
    result = elements("--list", own, "--out", out)
    assert result.exit_code == 0, result.output
    assert "on the list; 20 captured by at least one crawl, 1 by none." in result.output
    table = pd.read_csv(out)
    assert table["element"].tolist() == ["nowhere.example", *texts[:20]]
    assert table["captures"].isna().tolist() == [True, *[False] * 20]


def test_states_of_an_own_list_are_printed(elements, tmp_path, texts):
    own = tmp_path / "own.txt"
    own.write_text("\n".join(["[bold]nowhere", *texts[:60]]))
    result = elements("--list", own)
    assert result.exit_code == 0, result.output
    states = [line for line in result.output.splitlines() if line.startswith("│ ")]
    assert [state.split()[1] for state in states] == ["[bold]nowhere", *texts[:49]]
    assert states[0].count(UNKNOWN) >= 3
    assert "11 more; write all of them to a CSV file with --out." in result.output


def test_every_element_is_written_without_texts(elements, tmp_path, texts):
    out = tmp_path / "all.csv"
    assert elements("--out", out).exit_code == 0
    table = pd.read_csv(out)
    assert len(table) == len(texts)
    assert table["element"].isna().all()
    assert table["key"].is_monotonic_increasing


def test_earlier_crawl_is_described(elements, tmp_path):
    out, earlier = tmp_path / "then.csv", labels(N_CRAWLS)[N_CRAWLS - 3]
    assert elements("--as-of", earlier, "--out", out).exit_code == 0
    assert pd.read_csv(out)["last_crawl"].max() == earlier


def test_wrong_options_are_reported(elements, invoke, command_run, tmp_path):
    assert invoke("elements", "--home", tmp_path / "none").stderr.startswith("Error: collection demo: ")
    folder, _ = command_run
    result = elements("--as-of", "1999-01-01")
    assert result.exit_code == 1
    assert "unknown crawl '1999-01-01'" in result.stderr
    several = ("elements", "--collections", folder / "collections.yaml", "--home", folder / "home")
    assert "expected one of fitting, avoiding" in invoke(*several).stderr
    assert "gives counts" in invoke(*several, "--select", "avoiding").stderr
    own = tmp_path / "own.txt"
    own.write_bytes(b"\xff\xfe")
    assert "not UTF-8" in elements("--list", own).stderr
    own.write_text("\n")
    assert f"{own}: is empty" in elements("--list", own).stderr
