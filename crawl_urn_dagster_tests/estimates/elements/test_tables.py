"""Test the tables of single elements of a small simulated collection."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from crawl_urn_dagster.estimates.elements import tables
from crawl_urn_dagster.estimates.elements.assessment import (
    ElementReason,
    PredictionAssessment,
    read_prediction_assessment,
)
from crawl_urn_dagster.estimates.elements.element_model import ElementModel
from crawl_urn_dagster.estimates.elements.list_summary import USES, state_calibration, summarise_lists
from crawl_urn_dagster.estimates.elements.lists import ListSettings
from crawl_urn_dagster.estimates.elements.lookup import look_up_elements, write_csv
from crawl_urn_dagster.estimates.elements.tables import ElementInputs, element_tables
from crawl_urn_dagster.estimates.elements.writing import METADATA_KEY
from crawl_urn_dagster.observables import kept_histories
from crawl_urn_dagster.observables.element_names import ElementNames
from crawl_urn_dagster.observables.kept_histories import KeptHistories
from crawl_urn_dagster.observables.keys import KEY_HASH, element_keys
from crawl_urn_dagster.observables.presence import PresenceFolder
from crawl_urn_dagster.observables.schema import ELEMENTS, TABLES
from crawl_urn_dagster.urn import Status
from crawl_urn_dagster.urn.elements.posterior import element_states
from crawl_urn_dagster_tests.urn.elements.simulated import simulate_elements

N_CRAWLS = 13
LABELS = [f"c{t:02}" for t in range(N_CRAWLS)]


class Archive:
    """Presence lists of simulated hosts, with an outage of one domain in the last crawl."""

    def __init__(self, folder: Path):
        simulated = simulate_elements(np.random.default_rng(8), N_CRAWLS, 900, noise=0.1)
        self.seen = simulated.seen
        self.texts = np.array([f"h{i}.d{i % 30}.org" for i in range(len(self.seen))], dtype=object)
        # An outage of one domain: those that were captured so far are not captured by the last crawl.
        self.seen[np.arange(len(self.seen)) % 30 == 7, -1] = False
        self.seen, self.texts = self.seen[self.seen.any(axis=1)], self.texts[self.seen.any(axis=1)]
        self.folder = folder
        self.names = ElementNames(folder / "names")
        presence = PresenceFolder(folder / "presence")
        captures = [(label, self.texts[self.seen[:, t]], True) for t, label in enumerate(LABELS)]
        list(presence.write(captures, dict.fromkeys(LABELS, "1"), names=self.names))
        self.partitions = presence.read_all(LABELS)
        self.kept = KeptHistories(folder / "histories")

    def inputs(self, n_crawls=N_CRAWLS, names=None):
        partitions = self.partitions[:n_crawls]
        histories = self.kept.count(partitions)
        return ElementInputs(LABELS[:n_crawls], histories, partitions, self.kept, names or self.names, "host")

    def write(self, n_crawls=N_CRAWLS, settings=ListSettings(rows=50), names=None):  # noqa: B008 - immutable
        model = ElementModel("core_shell", tuple(range(n_crawls)), np.arange(n_crawls) / 12, 1)
        path = self.folder / f"elements{n_crawls}.parquet"
        return element_tables(self.inputs(n_crawls, names), model, path, settings), duckdb.read_parquet(str(path)).df()


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return Archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def written(archive):
    return archive.write()


def test_every_element_has_a_row_in_the_order_of_the_keys(archive, written):
    _, elements = written
    assert tuple(elements.columns) == ELEMENTS.column_names
    keys = element_keys(archive.texts)
    order = np.argsort(keys)
    seen = archive.seen[order]
    assert elements["key"].tolist() == keys[order].tolist()
    assert elements["captures"].tolist() == seen.sum(axis=1).tolist()
    assert elements["first_crawl"].tolist() == [LABELS[t] for t in seen.argmax(axis=1)]
    assert elements["absent_crawls"].tolist() == seen[:, ::-1].argmax(axis=1).tolist()


def test_probabilities_are_those_of_the_history(archive, written):
    found, elements = written
    assert found.assessment == PredictionAssessment(Status.OK)
    model = ElementModel("core_shell", tuple(range(N_CRAWLS)), np.arange(N_CRAWLS) / 12, 1)
    inputs = archive.inputs()
    states = element_states(
        model.fit(inputs.histories, model.crawls), archive.seen[np.argsort(element_keys(archive.texts))]
    )
    for name, values in zip(("p_core", "p_eligible", "p_missed"), states, strict=False):
        np.testing.assert_allclose(elements[name], values, atol=1e-3)


def test_small_ranges_and_later_crawls_give_the_same_file(archive, written, monkeypatch):
    """The file does not depend on which crawls the kept state contains, nor on the size of the ranges."""
    monkeypatch.setattr(kept_histories, "_ROWS_PER_BLOCK", 64)
    again = Archive(archive.folder / "again")
    again.kept.count(again.partitions[:9])
    _, elements = again.write()
    assert elements.equals(written[1])


def test_lists_are_ordered_and_named(archive, written):
    found, elements = written
    facts = elements.set_index("key")
    for name in ("reseed", "likely_gone", "core_members", "newcomers_at_risk", "lost_in_last_crawl"):
        table = found.tables[name]
        assert tuple(table.columns) == TABLES[name].column_names
        assert 0 < len(table) <= 50
        assert (np.diff(table["score"]) <= 0).all()
        assert table["expected_yield"].iloc[-1] == pytest.approx(table["score"].sum())
        assert (element_keys(table["element"].to_numpy()) == table["key"]).all()
        assert table["captures"].tolist() == facts.loc[table["key"], "captures"].tolist()


def test_reseed_lists_missed_elements_by_probability(written):
    found, elements = written
    missed = elements[elements["absent_crawls"] > 0].sort_values("p_eligible", ascending=False)
    np.testing.assert_allclose(found.tables["reseed"]["score"], missed["p_eligible"][:50], rtol=1e-6)


def test_reseed_may_ask_for_longer_absences(archive):
    found, _ = archive.write(settings=ListSettings(missed_crawls=3, rows=10))
    assert (found.tables["reseed"]["absent_crawls"] >= 3).all()
    assert len(found.tables["reseed"]) == 10


def test_loss_of_one_domain_is_concentrated(written):
    losses = written[0].tables["losses_by_group"]
    assert losses.loc[losses["concentrated"], "group"].tolist() == ["d7.org"]
    assert losses["group_by"].eq("stem").all()


def test_earlier_crawl_is_described_as_it_was_known_then(archive):
    _, elements = archive.write(n_crawls=9)
    assert len(elements) == archive.seen[:, :9].any(axis=1).sum()
    assert elements["last_crawl"].max() == LABELS[8]


def test_without_texts_lists_have_keys_only(archive):
    found, _ = archive.write(names=ElementNames(archive.folder / "absent"))
    assert found.tables["reseed"]["element"].isna().all()
    assert found.tables["losses_by_group"].empty


def test_file_states_the_crawl_and_the_hash(archive, written):
    del written
    file = pq.ParquetFile(archive.folder / f"elements{N_CRAWLS}.parquet")
    described = json.loads(file.metadata.metadata[METADATA_KEY])
    assert described == {"keys": KEY_HASH, "last_crawl": LABELS[-1], "model": "core_shell", "status": "ok"}
    assert str(file.schema_arrow.field("last_crawl").type) == "string"


def test_texts_are_looked_up_and_written_with_the_table(archive, written):
    _, elements = written
    path, out = archive.folder / f"elements{N_CRAWLS}.parquet", archive.folder / "elements.csv"
    write_csv(path, archive.names, out)
    table = pd.read_csv(out)
    assert (element_keys(table["element"].to_numpy()) == table["key"]).all()
    assert table["key"].tolist() == elements["key"].tolist()
    found = look_up_elements(path, [*table["element"][:5], "nowhere.example"])
    assert found["captures"].tolist()[:5] == elements["captures"].tolist()[:5]
    assert found["first_crawl"].isna().tolist() == [False] * 5 + [True]


def test_lists_are_summarised(written):
    tables = written[0].tables
    for name, summary in summarise_lists(tables).items():
        assert summary.rows == len(tables[name])
        assert summary.qualifying >= summary.rows
        assert summary.expected_yield == pytest.approx(tables[name]["expected_yield"].iloc[-1])
        assert summary.reason is None
    withheld = {name: table[:0] if name in USES else table for name, table in tables.items()}
    code = ElementReason.ABSENCES_NOT_IDENTIFIED
    withheld["element_scores"] = tables["element_scores"].assign(status="not_identified", reason_code=code.value)
    reasons = {name: summary.reason for name, summary in summarise_lists(withheld).items()}
    assert reasons.pop("lost_in_last_crawl") != code.sentence
    assert set(reasons.values()) == {code.sentence}
    assert "percentage points" in state_calibration(tables["element_scores"])


def test_unreported_probabilities_are_null_and_lists_empty(archive, monkeypatch):
    monkeypatch.setattr(
        tables, "assess_predictions", lambda *_: PredictionAssessment(Status.REFUTED, ElementReason.MISCALIBRATED)
    )
    found, elements = archive.write()
    assert elements.loc[:, "p_core":].isna().all(axis=None)
    assert elements["captures"].gt(0).all()
    assert found.tables["reseed"].empty
    assert read_prediction_assessment(found.tables["element_scores"]).reason is ElementReason.MISCALIBRATED
    assert len(found.tables["element_scores"]) == 12


def test_without_a_model_facts_are_written(archive):
    path = archive.folder / "none.parquet"
    found = element_tables(archive.inputs(), None, path, ListSettings())
    assert found.assessment.reason is ElementReason.NO_MODEL
    assert found.rows == len(duckdb.read_parquet(str(path)).df()) == len(archive.seen)
    assert found.tables["element_scores"]["predictions"].tolist() == [0]


def test_history_that_was_not_counted_raises(archive):
    inputs = archive.inputs()
    histories = inputs.histories
    kept = type(histories)(histories.seen[1:], histories.elements[1:])
    with pytest.raises(ValueError, match="presence has changed"):
        element_tables(
            ElementInputs(**{**vars(inputs), "histories": kept}), None, archive.folder / "x.parquet", ListSettings()
        )


def test_calibration_table_has_the_predictions_of_each_horizon(written):
    calibration = written[0].tables["element_calibration"]
    totals = calibration.groupby("crawls_ahead")["predictions"].sum()
    scores = written[0].tables["element_scores"]
    model = scores[scores["predictor"] == "model"].set_index("crawls_ahead")
    assert totals.to_dict() == model["predictions"].to_dict()
    weighted = (calibration["predicted"] - calibration["observed"]).abs() * calibration["predictions"]
    errors = weighted.groupby(calibration["crawls_ahead"]).sum() / totals
    np.testing.assert_allclose(errors, model["calibration_error"])
