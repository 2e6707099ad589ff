"""The worked examples of docs/extending.md run as they are, and what is shown there is what is in the files."""

import importlib.util
import sys
from pathlib import Path

import dagster as dg
import numpy as np
import pytest

import crawl_urn_dagster as cu
from crawl_urn_dagster.estimates import fits as registry
from crawl_urn_dagster.orchestration.assets.estimates import INFERENCE_TABLES
from crawl_urn_dagster.sources import SourceError
from crawl_urn_dagster_tests.collections_for_tests import ALPHA, COVERAGE, KAPPA, histories, labels, presence_of
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, Pipeline

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "extending"
N_CRAWLS = 10
#: Tables of the step that fits.
OF_PARAMETERS = {"parameters", "operator_terms", *INFERENCE_TABLES}


def load(name, monkeypatch):
    monkeypatch.setattr(registry, "REGISTRY", list(registry.REGISTRY))
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


def test_own_source_fit_and_figure_run_with_the_others(tmp_path, sitemaps, monkeypatch):
    monkeypatch.setenv("SITEMAPS", sitemaps)
    monkeypatch.setenv("CRAWL_URN_HOME", str(tmp_path / "home"))
    module = load("definitions", monkeypatch)
    dg.Definitions.validate_loadable(module.defs)
    line = Pipeline(module.sitemaps, tmp_path)
    line.defs = module.defs
    assert line.run(without=ALL_BUT_OBSERVABLES - OF_PARAMETERS).success, line.outcome.errors
    crawls = line.home.observables.read("crawls")
    assert crawls["crawl"].tolist() == labels(N_CRAWLS)

    table = line.home.observables.read("parameters")
    found = table[table["model"] == "stretched_shell"].set_index("component")
    assert (found["status"] == "ok").all()
    assert not found["headline"].any()
    shell = found.loc["shell"]
    core_share = KAPPA / (KAPPA + (1 - KAPPA) * COVERAGE)
    # Fifteen standard deviations of the counts: intervals by a jackknife over few crawls may be too narrow.
    for name, truth in {"core_share": core_share, "coverage": COVERAGE, "alpha": ALPHA}.items():
        assert shell[name] == pytest.approx(truth, abs=0.15), name
        assert shell[f"{name}_low"] < shell[name] < shell[f"{name}_high"]
    assert (line.home.figures / "containment_matrix.png").stat().st_size > 10_000
    assert line.metadata("containment_matrix")["png"].endswith("containment_matrix.png")


def test_own_source_is_read_without_dagster(sitemaps, tmp_path, monkeypatch):
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
