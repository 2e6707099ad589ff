"""Compute all tables of single elements of a collection.

Does not implement the steps; see the other modules of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from crawl_urn_dagster.atomic import exclusive, scratch_folder
from crawl_urn_dagster.estimates.elements.assessment import PredictionAssessment, assess_predictions
from crawl_urn_dagster.estimates.elements.calibration import AHEAD, MODEL, HoldOut, Returns, hold_out
from crawl_urn_dagster.estimates.elements.history_rows import HistoryRows, history_rows
from crawl_urn_dagster.estimates.elements.lists import ListSettings, Selection, select_histories
from crawl_urn_dagster.estimates.elements.losses import losses_by_group
from crawl_urn_dagster.estimates.elements.writing import ListedKeys, write_elements
from crawl_urn_dagster.observables.element_names import strata_of
from crawl_urn_dagster.observables.schema import ELEMENT_CALIBRATION, ELEMENT_LISTS, ELEMENT_SCORES
from crawl_urn_dagster.urn.elements.scores import N_BINS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from crawl_urn_dagster.estimates.elements.element_model import ElementModel
    from crawl_urn_dagster.observables.element_names import ElementNames
    from crawl_urn_dagster.observables.kept_histories import KeptHistories
    from crawl_urn_dagster.observables.presence import Partition
    from crawl_urn_dagster.urn.data.histories import CaptureHistoryCounts


@dataclass(frozen=True, eq=False)
class ElementInputs:
    """Input of the tables of elements.

    Attributes
    ----------
    labels
        Labels of the crawls, the last one that is described last.
    histories
        Capture histories of these crawls, not multiplied if of a sample.
    partitions
        Presence partitions of these crawls.
    kept
        Kept capture histories.
    names
        Texts of the elements.
    granularity
        Kind of the elements.
    """

    labels: Sequence[str]
    histories: CaptureHistoryCounts
    partitions: Sequence[Partition]
    kept: KeptHistories
    names: ElementNames
    granularity: str


@dataclass(frozen=True, eq=False)
class ElementTables:
    """Tables of elements in the DuckDB file, and the state of their probabilities.

    Attributes
    ----------
    tables
        Tables by name.
    assessment
        Whether probabilities are reported.
    rows
        Number of rows of table `elements`.
    """

    tables: Mapping[str, pd.DataFrame]
    assessment: PredictionAssessment
    rows: int


def element_tables(
    inputs: ElementInputs,
    model: ElementModel | None,
    path: Path,
    settings: ListSettings,
    *,
    memory_bytes: int = 2**32,
    report: Callable[[str], object] = lambda _: None,
) -> ElementTables:
    """Write table `elements`, and return the other tables of elements.

    Parameters
    ----------
    inputs
        Input of the tables.
    model
        Model of the probabilities; None without one.
    path
        File of table `elements`.
    settings
        Settings of the lists.
    memory_bytes, report
        Bound on the memory of keys that are processed at once, and receiver of lines of progress.
    """
    histories = inputs.histories
    held_out, courses = HoldOut({}, None, {}), None
    if model is not None and model.crawls:
        report("testing predictions of single elements on held-out crawls")
        with threadpool_limits(limits=1, user_api="blas"):
            held_out = hold_out(model, histories)
            courses = model.fit(histories, model.crawls)
    assessment = assess_predictions(held_out, courses)
    rows = history_rows(histories, () if model is None else model.crawls, courses, held_out.expected, assessment)
    selections = select_histories(rows, settings)
    name = "none" if model is None else model.name
    described = {"last_crawl": inputs.labels[-1], "model": name, "status": assessment.status.value}
    ranges = inputs.kept.read(inputs.partitions, memory_bytes=memory_bytes, report=report)
    with exclusive(path.parent), scratch_folder(path.parent) as scratch:
        listed = write_elements(path, ranges, rows, labels=inputs.labels, selections=selections, described=described)
        losses = losses_by_group(path, inputs.partitions, inputs.names, inputs.granularity, scratch)
    tables = {
        "element_scores": scores_table(held_out, name, assessment),
        "element_calibration": calibration_table(held_out),
        **{name: list_table(inputs, rows, selections[name], keys) for name, keys in listed.items()},
        "losses_by_group": losses,
    }
    return ElementTables(tables, assessment, int(histories.elements.sum()))


def scores_table(held_out: HoldOut, model: str, assessment: PredictionAssessment) -> pd.DataFrame:
    """Return table `element_scores`; it has a row of the model even without a prediction."""
    rows: list[dict[str, Any]] = [
        {
            "predictor": predictor,
            "crawls_ahead": ahead,
            "predictions": int(score.reliability.elements.sum()),
            "brier": score.brier,
            "log_loss": score.log_loss,
            "calibration_error": score.reliability.calibration_error,
            **(_return_columns(held_out.returns[ahead]) if predictor == MODEL else {}),
        }
        for (predictor, ahead), score in sorted(held_out.scores.items(), key=lambda item: item[0][1])
    ]
    rows = rows or [{"predictor": MODEL, "crawls_ahead": 1, "predictions": 0}]
    reason = None if assessment.reason is None else assessment.reason.value
    table = pd.DataFrame(rows, columns=list(ELEMENT_SCORES.column_names))
    return table.assign(model=model, status=assessment.status.value, reason_code=reason)


def _return_columns(returns: Returns) -> dict[str, Any]:
    return {
        "missed": returns.missed,
        "returned": returns.returned,
        "returned_expected": returns.expected,
        "return_error": returns.error,
        "return_error_high": returns.error_high,
    }


def calibration_table(held_out: HoldOut) -> pd.DataFrame:
    """Return table `element_calibration`, without empty bins."""
    rows = []
    for ahead in AHEAD:
        score = held_out.scores.get((MODEL, ahead))
        if score is None:
            continue
        for b, (elements, predicted, captured) in enumerate(zip(*score.reliability, strict=True)):
            if elements:
                rows.append(
                    (ahead, b / N_BINS, (b + 1) / N_BINS, int(elements), predicted / elements, captured / elements)
                )
    return pd.DataFrame(rows, columns=list(ELEMENT_CALIBRATION.column_names))


def list_table(inputs: ElementInputs, rows: HistoryRows, selection: Selection, listed: ListedKeys) -> pd.DataFrame:
    """Return the table of a list."""
    keys, history = listed
    labels = np.array(inputs.labels, dtype=object)
    last = labels[rows.last[history]]
    score = selection.score[history]
    table = {
        "rank": np.arange(1, len(keys) + 1),
        "key": keys,
        "element": inputs.names.names_of(keys, last),
        "stratum": strata_of(inputs.partitions, keys, last),
        "first_crawl": labels[rows.first[history]],
        "last_crawl": last,
        "captures": rows.captures[history],
        "absent_crawls": rows.absent[history],
        "score": score,
        "expected_yield": score.cumsum(),
        "qualifying": selection.qualifying,
        **{name: values[history] for name, values in rows.probabilities.items()},
    }
    return pd.DataFrame(table, columns=list(ELEMENT_LISTS[0].column_names))
