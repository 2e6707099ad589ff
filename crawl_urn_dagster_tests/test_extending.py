"""The worked examples of docs/extending.md run as they are, and what is shown there is what is in the files."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import dagster as dg
import jsonschema
import numpy as np
import pytest
import yaml

import crawl_urn_dagster as cu
from crawl_urn_dagster.config.loading import CollectionsError
from crawl_urn_dagster.entry_points import entry_points_of, load_entry_point
from crawl_urn_dagster.estimates import fits as registry
from crawl_urn_dagster.figures import catalogue
from crawl_urn_dagster.observables.schema import TABLES
from crawl_urn_dagster.orchestration.assets.estimates import INFERENCE_TABLES
from crawl_urn_dagster.sources import PresenceSource, SourceError
from crawl_urn_dagster.sources.registry import source_class
from crawl_urn_dagster.urn import FitKind
from crawl_urn_dagster_tests.collections_for_tests import ALPHA, COVERAGE, KAPPA, histories, labels, presence_of
from crawl_urn_dagster_tests.pipeline import ALL_BUT_OBSERVABLES, Pipeline

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "extending"
N_CRAWLS = 10
#: Tables of the step that fits.
PARAMETER_TABLES = {"parameters", "operator_terms", *INFERENCE_TABLES}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder into which pip has installed the package of the examples."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, folder, EXAMPLES], check=True)
    return folder


@pytest.fixture
def package(installed, monkeypatch):
    """The installed package, which is forgotten after the test."""
    monkeypatch.setattr(registry, "REGISTRY", list(registry.REGISTRY))
    monkeypatch.syspath_prepend(str(installed))
    entry_points_of.cache_clear()
    yield "sitemap_urn"
    entry_points_of.cache_clear()
    catalogue.CATALOGUE.pop("containment_matrix", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sitemap_urn"]:
        del sys.modules[name]


@pytest.fixture
def sitemaps(tmp_path):
    (tmp_path / "sitemaps").mkdir()
    for crawl, elements in presence_of(histories(N_CRAWLS, urn=20_000)).items():
        lines = [f"https://example.org/{element}\n" for element in elements]
        (tmp_path / "sitemaps" / f"{crawl}.txt").write_text("".join(lines))
    return str(tmp_path / "sitemaps" / "*.txt")


def test_page_shows_the_files_of_the_example():
    page = (ROOT / "docs" / "extending.md").read_text()
    for language, name in (("toml", "pyproject.toml"), ("yaml", "collections.yaml")):
        (shown,) = re.findall(f"```{language}\n(.*?)```", page, flags=re.DOTALL)
        assert shown in (EXAMPLES / name).read_text()


def test_own_fit_and_figure_load_without_matplotlib(installed, tmp_path):
    code = (
        "import sys, crawl_urn_dagster as cu; from pathlib import Path; "
        f"cu.build_defs(cu.load_collections(Path({str(configure(tmp_path))!r})), home='home'); "
        "assert not {'matplotlib', 'pandas', 'scipy'} & set(sys.modules)"
    )
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    (tmp_path / "sitemaps").mkdir()
    (tmp_path / "sitemaps" / "2024-01-01.txt").touch()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


def configure(folder, **settings):
    """The collections file of the examples, with other settings."""
    content = yaml.safe_load((EXAMPLES / "collections.yaml").read_text())
    content["collections"][0] |= settings
    path = folder / "collections.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.slow
def test_own_source_fit_and_figure_run_with_the_others(tmp_path, sitemaps, package):
    (collection,) = cu.load_collections(configure(tmp_path, granularity="url"))
    line = Pipeline(collection, tmp_path)
    dg.Definitions.validate_loadable(line.defs)
    assert line.run(without=ALL_BUT_OBSERVABLES - PARAMETER_TABLES).success, line.outcome.errors
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


def test_own_source_is_read_without_dagster(sitemaps, tmp_path, package):
    source = import_module(f"{package}.source").SitemapSource(path=sitemaps)
    crawls = cu.read_source(source, last_crawl=labels(N_CRAWLS)[1])
    assert crawls.tables["crawls"]["crawl"].tolist() == labels(N_CRAWLS)[:2]
    sizes = np.diagonal(histories(N_CRAWLS, urn=20_000).counts().intersections())
    assert crawls.tables["crawls"]["elements"].tolist() == sizes[:2].tolist()
    (tmp_path / "sitemaps" / f"{labels(N_CRAWLS)[0]}.txt").write_text("https://example.org/\nno URL\n")
    with pytest.raises(SourceError, match=r"2020-01-06.txt, line 2: found 'no URL', expected a URL"):
        cu.read_source(source)
    with pytest.raises(SourceError, match="there is no such file"):
        cu.read_source(source.model_copy(update={"path": str(tmp_path / "none" / "*.txt")}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"source": {"type": "sitemap_urn.sitemap", "path": "x"}},
            " names 'sitemap_urn.sitemap', but no installed package has this entry point of group "
            "crawl_urn_dagster.sources (installed: sitemap_urn.sitemaps); install the package",
        ),
        (
            {"source": {"type": "sitemap_urn.sitemaps", "pth": "x"}},
            "collections[0] (sitemaps).source.path: is missing, and has no default",
        ),
        (
            {"source": {"type": "sitemap_urn.sitemaps", "path": "x", "colour": "red"}},
            "collections[0] (sitemaps).source.colour: unknown key;",
        ),
        (
            {"fits": ["sitemap_urn.shell"]},
            "collections[0] (sitemaps).fits: ['sitemap_urn.shell'] names 'sitemap_urn.shell', but",
        ),
        ({"figures": ["matrix"]}, "collections[0] (sitemaps).figures: ['matrix'] names 'matrix', but"),
    ],
)
def test_invalid_names_and_settings_are_explained(tmp_path, package, settings, message):
    with pytest.raises(CollectionsError) as raised:
        cu.load_collections(configure(tmp_path, **settings))
    assert message in str(raised.value)


def test_dg_check_yaml_knows_the_settings_of_an_installed_source(package):
    schema = jsonschema.Draft202012Validator(cu.CrawlUrnComponent.get_model_cls().model_json_schema())
    collection = {"name": "a", "granularity": "url", "source": {"type": "sitemap_urn.sitemaps", "path": "x"}}
    assert list(schema.iter_errors({"collection": collection})) == []
    collection["source"]["colour"] = "red"
    (error,) = schema.iter_errors({"collection": collection})
    assert list(error.path) == ["collection", "source"]
    assert "'colour' was unexpected" in error.message


def test_collections_have_the_fits_and_figures_they_name(tmp_path, sitemaps, package):
    other = cu.Collection(name="other", granularity="url", source=cu.demo_collection().source)
    (collection,) = cu.load_collections(configure(tmp_path))
    defs = cu.build_defs([collection, other], home=tmp_path)
    keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
    assert "sitemaps/containment_matrix" in keys
    assert "other/containment_matrix" not in keys
    own = registry.definition_of(FitKind("containment", "stretched_shell", "exact", "crawl"))
    assert own in registry.supplementary_fits(collection.fits)
    assert own not in registry.supplementary_fits(other.fits)
    assert "containment_matrix" not in catalogue.drawable(TABLES)


def write_package(folder, group, name, value):
    """A package that is installed as pip leaves it behind: a folder with its metadata on the path."""
    info = folder / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[crawl_urn_dagster.{group}]\n{name} = {value}\n")


@pytest.mark.parametrize(
    ("group", "name", "value", "message"),
    [
        (
            "sources",
            "no_dot",
            "json:loads",
            "broken: found entry point 'no_dot' of group crawl_urn_dagster.sources, expected",
        ),
        ("fits", "a.b", "json:loads", "names 'a.b', which is json:loads; expected SupplementaryFit or PrimaryFit"),
        ("sources", "a.b", "decimal:Decimal", "names 'a.b', which is decimal:Decimal; expected PresenceSource"),
        (
            "sources",
            "a.b",
            "crawl_urn_dagster.sources:CdxSource",
            """has no field `type: Literal["a.b"] = "a.b"`; add it""",
        ),
    ],
)
def test_invalid_entry_points_are_explained(tmp_path, monkeypatch, group, name, value, message):
    write_package(tmp_path, group, name, value)
    monkeypatch.syspath_prepend(str(tmp_path))
    entry_points_of.cache_clear()
    expected = {"sources": PresenceSource, "fits": (registry.SupplementaryFit, registry.PrimaryFit)}[group]
    try:
        with pytest.raises(ValueError, match=re.escape(message)):
            source_class(name) if value.endswith("CdxSource") else load_entry_point(group, name, expected)
    finally:
        entry_points_of.cache_clear()
