"""The worked examples of docs/extending.md run as they are, and what is shown there is what is in the files."""

import importlib.util
import sys
from pathlib import Path

import dagster as dg
import numpy as np
import pandas as pd
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster_tests.collections_for_tests import ALPHA, COVERAGE, KAPPA, histories, labels, presence_of
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, Pipeline

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "extending"
N_CRAWLS = 10


def load(name, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sitemaps(tmp_path):
    (tmp_path / "sitemaps").mkdir()
    for crawl, elements in presence_of(histories(N_CRAWLS, urn=20_000)).items():
        lines = [f"https://example.org/{element}\n" for element in elements]
        (tmp_path / "sitemaps" / f"{crawl}.txt").write_text("".join(lines))
    return str(tmp_path / "sitemaps" / "*.txt")


def test_a_source_a_model_and_a_figure_of_ones_own_run_beside_ours(tmp_path, sitemaps, monkeypatch):
    monkeypatch.setenv("SITEMAPS", sitemaps)
    monkeypatch.setenv("CRAWL_URN_HOME", str(tmp_path / "home"))
    module = load("definitions", monkeypatch)
    dg.Definitions.validate_loadable(module.defs)
    line = Pipeline(module.sitemaps, tmp_path)
    line.defs = module.defs
    assert line.run(without=ALL_BUT_OBSERVABLES).success, line.outcome.errors
    crawls = line.home.observables.read("crawls")
    assert crawls["crawl"].tolist() == labels(N_CRAWLS)

    found = pd.read_csv(line.home.path / "stretched_shell.csv").set_index("parameter")
    assert (found["status"] == "ok").all()
    core_share = KAPPA / (KAPPA + (1 - KAPPA) * COVERAGE)
    # Fifteen standard deviations of the counts: the limits, by a jackknife over few crawls, may be too narrow.
    for name, truth in {"core_share": core_share, "coverage": COVERAGE, "alpha": ALPHA, "stretch": 1}.items():
        assert found.loc[name, "estimate"] == pytest.approx(truth, abs=0.15), name
        assert found.loc[name, "estimate_low"] < found.loc[name, "estimate"] < found.loc[name, "estimate_high"]
    assert (line.home.figures / "containment_matrix.png").stat().st_size > 10_000
    assert line.metadata("containment_matrix")["png"].endswith("containment_matrix.png")


def test_a_source_of_ones_own_is_read_without_dagster_and_says_what_is_wrong(sitemaps, tmp_path, monkeypatch):
    source = load("source", monkeypatch).SitemapSource(path=sitemaps)
    crawls = cu.read_source(source, last_crawl=labels(N_CRAWLS)[1])
    assert crawls.tables["crawls"]["crawl"].tolist() == labels(N_CRAWLS)[:2]
    sizes = np.diagonal(histories(N_CRAWLS, urn=20_000).counts().intersections())
    assert crawls.tables["crawls"]["elements"].tolist() == sizes[:2].tolist()
    (tmp_path / "sitemaps" / f"{labels(N_CRAWLS)[0]}.txt").write_text("https://example.org/\nno URL\n")
    with pytest.raises(SourceError, match=r"2020-01-06.txt, line 2: found 'no URL', expected a URL"):
        cu.read_source(source)
    with pytest.raises(SourceError, match="there is no such file"):
        cu.read_source(source.model_copy(update={"path": str(tmp_path / "none" / "*.txt")}))
