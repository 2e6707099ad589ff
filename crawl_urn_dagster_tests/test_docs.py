"""The documentation: links lead somewhere, and numbers are those that the code gives."""

import bz2
import json
import re
import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config
from dagster._core.workspace.config_schema import process_workspace_config

import crawl_urn_dagster as cu
from crawl_urn_dagster.config.loading import load_collections
from crawl_urn_dagster.sources import ObservableTablesSource, Source
from crawl_urn_dagster.urn import CoreShellUrn, Urn, fit_containment_core_shell, simulate
from crawl_urn_dagster.urn.curves.conversions import core_share_from_kappa, kappa_from_core_share
from crawl_urn_dagster.urn.fits.least_squares import mean_by
from crawl_urn_dagster_tests.sources.generated_indexes import write_host_index, write_index
from crawl_urn_dagster_tests.sources.generated_sketches import sketch, statistics

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(DOCS.rglob("*.md"))]
KAPPA, ALPHA, COVERAGE = 0.4, 0.75, 0.6
N_CRAWLS, CORE, SHELL = 51, 40_000, 60_000


def prose(page):
    """Text of a page with line breaks as spaces."""
    return " ".join((DOCS / page).read_text().split())


def exists(name):
    """Whether a dotted name is a module or an attribute of one."""
    parent, _, attribute = name.rpartition(".")
    return bool(parent and hasattr(import_module(parent), attribute)) or find_spec(name) is not None


def table_under(page, heading):
    """Cells of the first table under a heading, by the first cell of its row."""
    text = (DOCS / page).read_text().split(heading, 1)[1]
    rows = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE).group().splitlines()[2:]
    return {cells[0]: cells[1:] for cells in ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    targets = [link.split("#")[0] for link in links if not re.match(r"https?://|#", link)]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_link_anchors_match_headings(page):
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", page.read_text()):
        text = (page.parent / target if target else page).read_text()
        headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
        assert anchor in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_module_paths_exist(page):
    for name in set(re.findall(r"`(?:python -m )?(crawl_urn_dagster[\w.]*\w)[`\s]", page.read_text())):
        assert exists(name), name


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", DOCS / "architecture.md"], ids=lambda page: page.name)
def test_paths_of_the_project_exist(page):
    """Paths in code quotes start at the checkout or at the package."""
    paths = set(re.findall(r"`((?!\.\./)[\w.]+/[\w./]*)`", page.read_text()))
    assert [
        path for path in paths if not any((top / path).exists() for top in (ROOT, ROOT / "crawl_urn_dagster"))
    ] == []


def test_fits_page_names_exist():
    for cell in table_under("fits.md", "# Fits"):
        for name in re.findall(r"`([\w.]+)`", cell):
            assert exists(f"crawl_urn_dagster.urn.{name}"), name


def test_every_type_of_source_that_reads_something_has_a_section():
    types = {model.model_fields["type"].default for model in get_args(get_args(Source)[0])}
    headings = re.findall(r"^## .*\(`(\w+)`\)$", (DOCS / "sources.md").read_text(), flags=re.MULTILINE)
    assert sorted(headings) == sorted(types - {"simulated"})


def test_the_instance_of_a_cluster_is_one_that_dagster_takes(tmp_path):
    """But for what the launcher and the store of logs take, which are not dependencies."""
    cluster_settings, workspace = (
        yaml.safe_load(text)
        for text in re.findall("```yaml\n(.*?)```", (DOCS / "production.md").read_text(), flags=re.DOTALL)
        if text.startswith(("storage:", "load_from:"))
    )
    machine_settings = yaml.safe_load((ROOT / "crawl_urn_dagster" / "cli" / "dagster.yaml").read_text())
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump({**machine_settings, **cluster_settings}))
    settings, _ = dagster_instance_config(str(tmp_path))
    assert settings["run_launcher"]["config"]["instance_config_map"]
    assert process_workspace_config(workspace).success


def test_the_index_names_every_page():
    linked = set(re.findall(r"\]\((\w+\.md)\)", (DOCS / "README.md").read_text()))
    assert linked == {page.name for page in DOCS.glob("*.md")} - {"README.md"}


@pytest.fixture(scope="module")
def simulated():
    """Containment of every pair of a simulated urn: lags and values."""
    counts = simulate(
        times=np.arange(N_CRAWLS), core=CORE, shell=SHELL, alpha=ALPHA, coverage=COVERAGE, seed=1
    ).counts()
    intersections = counts.intersections()
    i, j = np.triu_indices(N_CRAWLS, k=1)
    return j - i, intersections[i, j] / np.diagonal(intersections)[i]


def test_exact_containment_is_simulated_and_printed_not(simulated):
    lag, containment = simulated
    lags, mean = mean_by(lag, containment)[:2]
    urn = CoreShellUrn(KAPPA, ALPHA, COVERAGE)
    exact, printed = urn.containment(lags), urn.containment(lags, "paper")
    # In one pair: the shell's part of the first crawl is binomial, and of it that which is in the second, too. Pairs of
    # a lag share elements, so their mean may scatter as much.
    shell_captured, chance = SHELL * COVERAGE, COVERAGE * ALPHA**lags
    crawl_size = CORE + shell_captured
    variance = shell_captured * chance * (1 - chance) + (chance - exact) ** 2 * shell_captured * (1 - COVERAGE)
    se = np.sqrt(variance) / crawl_size
    assert (np.abs(mean - exact) < 5 * se).all()
    assert (exact - printed > 50 * se).all()
    core_share = float(urn.core_share)
    assert exact - printed == pytest.approx((core_share - KAPPA) * (1 - chance))

    shown = table_under("mathematics.md", "How far off.")
    assert list(shown) == ["1", "2", "5", "10", "20"]
    for row, cells in shown.items():
        at = list(lags).index(float(row))
        assert cells == [f"{curve[at]:.4f}" for curve in (mean, exact, printed)]

    text = prose("mathematics.md")
    fits = {form: fit_containment_core_shell(lags, mean, form=form, clock="crawl") for form in ("paper", "exact")}
    assert (
        f'it returns "κ" = {fits["paper"].kappa:.3f} = μ, where the exact form returns {fits["exact"].kappa:.3f}.'
        in text
    )
    assert fits["paper"].kappa == pytest.approx(core_share, abs=5e-4)
    assert fits["exact"].kappa == pytest.approx(kappa_from_core_share(fits["paper"].kappa, fits["paper"].coverage))


@pytest.mark.parametrize("coverage", [0.6, 0.3, 0.1])
def test_how_far_the_printed_form_may_be_off(coverage):
    kappa = np.linspace(0, 1, 100_001)
    off = core_share_from_kappa(kappa, coverage) - kappa
    root = np.sqrt(coverage)
    assert off.max() == pytest.approx((1 - root) / (1 + root), abs=1e-8)
    assert kappa[off.argmax()] == pytest.approx(root / (1 + root), abs=1e-4)
    assert f"{off.max():.3f} at c = {coverage}" in prose("mathematics.md")


def test_the_example_of_the_concepts():
    terms = Urn(ALPHA, COVERAGE).operator_terms()
    seen = KAPPA + (1 - KAPPA) * COVERAGE
    share = float(core_share_from_kappa(KAPPA, COVERAGE))
    text = prose("concepts.md")
    assert (
        f"stays eligible for another {terms.life_expectancy:.0f} crawls on average: {terms.sampled_time:.1f} of them"
        in text
    )
    assert f"capture it, and {terms.hidden_time:.1f} miss it." in text
    assert f"that is {1 / (1 - ALPHA):.0f} crawls, of which {COVERAGE / (1 - ALPHA):.1f} capture it" in text
    assert (
        f"the captured share is {100 * seen:.0f} %, and the core share μ of each crawl is {100 * share:.0f} %" in text
    )
    shell_rate = float(terms.nu_inf)
    assert f"The shell unique rate is {100 * shell_rate:.0f} %, which corresponds to a unique rate of" in text
    assert f"unique rate of {100 * (1 - share) * shell_rate:.0f} % of the whole crawl" in text
    assert f"is {ALPHA**6:.2f} a year" in text


def test_a_mirror_of_common_crawl_is_read_as_shown(tmp_path):
    shown = (DOCS / "sources.md").read_text().split("## Common Crawl from a local mirror")[1].split("\n## ")[0]
    layout, configuration = re.findall(r"```\w+\n(.*?)```", shown, flags=re.DOTALL)
    (tmp_path / "mirror.yaml").write_text(configuration)
    mirror = tmp_path / "mirror"
    crawls = ["CC-MAIN-2024-10", "CC-MAIN-2024-18"]
    write_index(mirror, crawls, files=1, rows=100)
    write_host_index(mirror, [*crawls, "CC-MAIN-2024-22"], rows=100)
    shutil.rmtree(mirror / "projects/host-index-testing/v2/crawl=CC-MAIN-2024-22")  # listed, not mirrored
    keys = np.random.default_rng(1).integers(0, 2**64, 300, dtype=np.uint64)
    for number, crawl in enumerate(crawls):
        files = {"stats/part-00000.gz": statistics(crawl, sketch(keys[: 200 + 100 * number]))}
        for part in range(10):
            files[f"count/part-{part:05d}.bz2"] = bz2.compress(f'[3, "{crawl}{part}.org", {number}]\t1\n'.encode())
        for name, content in files.items():
            path = mirror / "crawl-analysis" / crawl / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    calendar = [
        {"id": crawl, "from": f"2024-0{month}-01"} for month, crawl in enumerate([*crawls, "CC-MAIN-2024-22"], 2)
    ]
    (mirror / "collinfo.json").write_text(json.dumps(calendar))

    assert all(len(list(tmp_path.glob(pattern))) >= 1 for pattern in layout.split())
    assert {path for pattern in layout.split() for path in tmp_path.glob(pattern)} >= {
        path for path in mirror.rglob("*") if path.is_file() and "robotstxt" not in str(path)
    }
    elements = {}
    for collection in load_collections(tmp_path / "mirror.yaml"):
        read = cu.read_source(collection.source).tables["crawls"]
        assert read["crawl"].tolist() == crawls
        elements[collection.name] = read["elements"].tolist()
    assert elements["mirrored_counts"] == [10, 10]
    assert elements["mirrored_sketches"] == pytest.approx([200, 300], rel=0.05)
    assert min(elements["mirrored_host_index"] + elements["mirrored_index"]) > 0


def test_large_crawl_configuration_loads(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "scale.md").read_text(), flags=re.DOTALL)
    (tmp_path / "urls").mkdir()
    (tmp_path / "urls/a.parquet").touch()
    on_spark = re.sub(r"^( *)engine: .*\n *# engine:", r"\1engine:", text, flags=re.MULTILINE)
    for shown, engine in ((text, "local"), (on_spark, "spark")):
        (tmp_path / "collections.yaml").write_text(shown)
        (collection,) = load_collections(tmp_path / "collections.yaml")
        assert (collection.sample_one_in, collection.engine.type) == (64, engine)


def test_real_archives_configuration_loads(tmp_path, shared_data):
    shown = (DOCS / "sources.md").read_text().split("## Real archives")[1]
    (text,) = re.findall(r"```yaml\n(.*?)```", shown, flags=re.DOTALL)
    files = {path.name: path for path in shared_data.rglob("*") if path.is_file()}
    for name in set(re.findall(r"[\w-]+\.(?:csv\.gz|csv|json)", text)):
        (tmp_path / name).symlink_to(files[name])
    (tmp_path / "collections.yaml").write_text(text)
    names = [collection.name for collection in load_collections(tmp_path / "collections.yaml")]
    assert names == ["common_crawl_urls", "us_gov_hosts", "edu_urls", "edu_urls_2013_2016", "gaw"]


def test_the_german_academic_web_is_as_shown(shared_data):
    names = {"size_i": "unique_urls_i", "size_j": "unique_urls_j", "intersection": "intersection_est"}
    dates = {"started_i": "start_i", "started_j": "start_j"}
    path = str(shared_data / "gaw" / "gaw_pairs_2012-2018.csv")
    source = ObservableTablesSource(pairs=path, columns={**names, **dates})
    parameters = cu.fit(cu.read_source(source, first_crawl="2013-12")).tables["parameters"]
    fits = parameters.query("projection == 'containment' and model == 'core_shell' and component == 'shell'")
    found = {
        f"{fit['form']}, per {fit['clock']}": [
            *(
                f"{fit[name]:.3f} ({fit[f'{name}_low']:.3f} to {fit[f'{name}_high']:.3f})"
                for name in ("kappa", "alpha", "coverage", "core_share")
            ),
            fit["status"],
        ]
        for fit in fits.to_dict("records")
    }
    assert table_under("fits.md", "## The German Academic Web") == found
    urn = parameters.query("projection == 'containment' and model == 'homogeneous' and clock == 'crawl'").iloc[0]
    shown = f"{urn['coverage']:.3f} ({urn['coverage_low']:.3f} to {urn['coverage_high']:.3f}), homogeneous"
    assert shown in prose("paper/README.md")


def test_the_windows_and_events_of_the_operators_are_as_shown(shared_data, capsys):
    from crawl_urn_dagster_tests.benchmarks import ground_truth

    ground_truth.windows()
    printed = capsys.readouterr().out.strip().splitlines()[2:]
    events = ["| " + " | ".join(map(str, row)) + " |" for row in ground_truth.events()]
    shown = (DOCS / "ground_truth.md").read_text().splitlines()
    assert [row for row in (*printed, *events) if row not in shown] == []
