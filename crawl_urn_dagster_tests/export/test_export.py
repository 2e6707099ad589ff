"""What is exported is what the collection's file has, and is described as it is."""

import hashlib
import json
import re
import shutil
import subprocess

import duckdb
import frictionless
import numpy as np
import pandas as pd
import pytest
from pylatexenc.latexwalker import LatexEnvironmentNode, LatexWalker

from crawl_urn_dagster.export import export_collection
from crawl_urn_dagster.export.latex import parameters_tex
from crawl_urn_dagster.observables.database import MissingTableError, ObservablesFile
from crawl_urn_dagster.observables.schema import TABLES

ODD = 'a,"b"\n% & # _ $ {x} ~ ^ \\ <é>'


def fit(**values):
    """A row of parameters and operator terms."""
    return {
        "projection": "joint",
        "model": "core_shell",
        "form": "exact",
        "clock": "crawl",
        "stratum": None,
        "component": "shell",
        "first_crawl": "2024-01",
        "last_crawl": "2024-03",
        "kappa": 0.4,
        "kappa_low": 0.39,
        "kappa_high": 0.41,
        "alpha": 1.0,
        "coverage": 0.00004567,
        "n_points": 3,
        "status": "ok",
        "headline": False,
        "life_expectancy": np.inf,
        "life_expectancy_low": 12.345,
        "life_expectancy_high": np.inf,
        "unit": "crawls",
        **values,
    }


def rows_of(table, fits):
    return pd.DataFrame(fits).reindex(columns=TABLES[table].column_names)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Tables with everything that is hard to write: times, histories, infinity, text with separators, absent values."""
    file = ObservablesFile(tmp_path_factory.mktemp("exported") / "observables.duckdb")
    crawls = pd.DataFrame(
        {
            "crawl": ["2024-01", "2024-02", "2024-03"],
            "crawl_index": range(3),
            "started_at": pd.to_datetime(
                ["2024-01-01", "2024-02-01 12:34:56", "2024-03-01 00:00:00.123456"], format="ISO8601"
            ),
            "years": [0.0, 0.1, 1 / 3],
            "elements": pd.array([3, None, 2**53 + 1], dtype="Int64"),
            "dated_by": "label",
        }
    )
    histories = pd.DataFrame({"history": ["100", "011"], "stratum": [ODD, None], "elements": [3, 2**53 + 1]})
    fits = [
        fit(headline=True),
        fit(stratum=ODD, status="not_identified", reason=ODD),
        fit(model="homogeneous", status="model_violation"),
    ]
    file.replace(
        {
            "crawls": crawls,
            "capture_history_counts": histories,
            "parameters": rows_of("parameters", fits),
            "operator_terms": rows_of("operator_terms", fits),
            "revisions": pd.DataFrame(columns=TABLES["revisions"].column_names),
        }
    )
    return file


TABLES_WRITTEN = ["crawls", "capture_history_counts", "parameters", "operator_terms", "revisions"]


@pytest.fixture(scope="module")
def folder(file):
    folder = file.path.parent / "export"
    export_collection(file, TABLES_WRITTEN, folder, name="odd", title="Odd")
    return folder


@pytest.mark.parametrize("name", TABLES_WRITTEN)
def test_both_formats_read_back_as_the_table(file, folder, name):
    """By DuckDB, with the types of the contract: every row and its order, in both directions."""
    columns = ", ".join(f'"{column.name}"::{column.type} AS "{column.name}"' for column in TABLES[name].columns)
    texts = dict.fromkeys(TABLES[name].column_names, "VARCHAR")
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{file.path}' AS held (READ_ONLY)")
        expected = connection.execute(f"SELECT * FROM held.{name}").fetchall()
        csv = connection.execute(
            f"SELECT {columns} FROM read_csv($path, columns = $texts, header = true, nullstr = '')",
            {"path": str(folder / f"{name}.csv"), "texts": texts},
        ).fetchall()
        parquet = connection.execute(
            f"SELECT {columns} FROM read_parquet($path)", {"path": str(folder / f"{name}.parquet")}
        ).fetchall()
    assert csv == expected
    assert parquet == expected


def test_other_readers_see_the_same(folder):
    terms = pd.read_csv(folder / "operator_terms.csv")
    assert terms["life_expectancy"].tolist() == [np.inf] * 3
    assert terms["nu_inf"].isna().all()
    counts = pd.read_csv(folder / "capture_history_counts.csv", dtype={"history": str})
    assert counts["history"].tolist() == ["100", "011"]
    assert pd.read_parquet(folder / "capture_history_counts.parquet")["history"].tolist() == ["100", "011"]


def test_the_package_is_valid_and_holds_what_is_there(folder):
    report = frictionless.validate(str(folder / "datapackage.json"))
    assert report.valid, report.flatten(["name", "message"])
    package = json.loads((folder / "datapackage.json").read_text())
    described = {resource["path"]: resource for resource in package["resources"]}
    assert sorted([*described, "datapackage.json"]) == sorted(path.name for path in folder.iterdir())
    for path, resource in described.items():
        content = (folder / path).read_bytes()
        assert (resource["bytes"], resource["hash"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        if resource["format"] != "tex":
            table = TABLES[path.split(".")[0]]
            fields = resource["schema"]["fields"]
            assert [field["name"] for field in fields] == list(table.column_names)
            assert [field["unit"] for field in fields] == [column.unit for column in table.columns]


def test_a_change_of_a_file_is_noticed(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    for name in ("crawls.csv", "crawls.parquet"):
        content = (folder / name).read_bytes()
        (tmp_path / "copy" / name).write_bytes(content.replace(b"label", b"lebal"))
        assert not frictionless.validate(str(tmp_path / "copy" / "datapackage.json")).valid
        (tmp_path / "copy" / name).write_bytes(content)


def test_the_same_tables_give_the_same_bytes_and_nothing_else_stays(file, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "stale.csv").touch()
    export_collection(file, TABLES_WRITTEN, folder, name="odd", title="Odd")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_table_that_is_missing_leaves_the_folder_as_it_was(file, folder):
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(MissingTableError, match="no table 'm_array'"):
        export_collection(file, [*TABLES_WRITTEN, "m_array"], folder, name="odd", title="Odd")
    assert {path.name for path in folder.iterdir()} == before


def environments(nodes):
    for node in nodes:
        if isinstance(node, LatexEnvironmentNode):
            yield node
            yield from environments(node.nodelist)


def check_latex(text, tmp_path):
    """Compile where there is a compiler; else parse strictly, and count the cells of every row."""
    parsed, *_ = LatexWalker(text, tolerant_parsing=False).get_latex_nodes()
    tabulars = [node for node in environments(parsed) if node.environmentname == "tabular"]
    assert len(tabulars) == 2
    for tabular in tabulars:
        columns, body = re.fullmatch(
            r"\\begin\{tabular\}\{([lr]+)\}(.*)\\end\{tabular\}", tabular.latex_verbatim(), re.DOTALL
        ).groups()
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows
        for row in rows:
            assert len(re.split(r"(?<!\\)&", row)) == len(columns), row
            outside_mathematics = "".join(re.split(r"(?<!\\)\$", row)[::2])
            assert not re.search(r"(?<!\\)[_^#%]", outside_mathematics), row
    compiler = shutil.which("pdflatex") or shutil.which("lualatex") or shutil.which("tectonic")
    if compiler:
        (tmp_path / "parameters.tex").write_text(text)
        page = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{parameters}\\end{document}\n"
        (tmp_path / "page.tex").write_text(page)
        flags = [] if compiler.endswith("tectonic") else ["-interaction=nonstopmode", "-halt-on-error"]
        subprocess.run([compiler, *flags, "page.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_latex_holds_intervals_status_infinity_and_no_withheld_number(folder, tmp_path):
    text = (folder / "parameters.tex").read_text()
    check_latex(text, tmp_path)
    first, odd, withheld = [line for line in text.splitlines() if line.startswith(("all &", r"a,"))]
    assert first == (
        r"all & joint & core shell & crawl & $0.400_{0.390}^{0.410}$ & -- & $1.00$ & $0.0000$ & ok$^\ast$ \\"
    )
    shown = (
        r'a,"b"\% \& \# \_ \$ \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \textless{}é\textgreater{}'
    )
    assert odd.startswith(f"{shown} & joint")
    assert odd.endswith(r"& not identified \\")
    assert withheld == r"all & joint & homogeneous & crawl & -- & -- & -- & -- & model violation \\"
    assert r"life expectancy after the present round & $\infty_{12.3}^{\infty}$ & crawls \\" in text


def test_of_a_withheld_headline_no_number_is_printed(tmp_path):
    fits = [fit(headline=True, status="model_violation")]
    text = parameters_tex(rows_of("parameters", fits), rows_of("operator_terms", fits), name="a_b")
    check_latex(text, tmp_path)
    assert "model violation" in text
    assert r"\label{tab:a_b:terms}" in text
    assert not re.search(r"\d\.\d", text)
