"""Run checks without materialising anything, on tables whose rules are broken for the time of a test."""

import dagster as dg

from crawl_urn_dagster_tests.pipeline import QUIET


def run_checks(pipeline, *names):
    """Results of the named checks, or of all checks, by name; materialises nothing."""
    keys = [spec.key for checks in pipeline.defs.asset_checks for spec in checks.check_specs]
    selection = dg.AssetSelection.checks(*(key for key in keys if not names or key.name in names))
    job = dg.define_asset_job("only_checks", selection=selection, executor_def=dg.in_process_executor)
    defs = dg.Definitions.merge(pipeline.defs, dg.Definitions(jobs=[job]))
    result = defs.resolve_job_def("only_checks").execute_in_process(
        instance=pipeline.instance, raise_on_error=False, run_config=QUIET
    )
    return {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}


class Broken:
    """Replace a table while its rule is broken, then restore it."""

    def __init__(self, pipeline, name, change):
        self._file, self._name, self._change = pipeline.home.observables, name, change

    def __enter__(self):
        self._good = self._file.read(self._name)
        self._file.replace({self._name: self._change(self._good.copy())})

    def __exit__(self, *_):
        self._file.replace({self._name: self._good})


def set_row(row, **values):
    def change(table):
        for column, value in values.items():
            table.loc[row, column] = value
        return table

    return change


def assert_broken(pipeline, table, change, check, severity, message):
    with Broken(pipeline, table, change):
        result = run_checks(pipeline, check)[check]
    assert not result.passed
    assert result.severity.value == severity
    assert message in result.description
    metadata = {name: entry.value for name, entry in result.metadata.items()}
    assert {"observed", "threshold", "reason", "what_to_do"} <= set(metadata)
    assert result.description == f"{metadata['reason']} {metadata['what_to_do']}"
