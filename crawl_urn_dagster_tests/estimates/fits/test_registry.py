"""Registry of fits: its entries, and adding or removing a fit by one line."""

import subprocess
import sys

import pytest

from crawl_urn_dagster.estimates import fits as registry
from crawl_urn_dagster.estimates.estimation import estimate
from crawl_urn_dagster.estimates.fits import definition_of, primary_fits, register, supplementary_fits
from crawl_urn_dagster.estimates.fits.definition import PrimaryFit
from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.estimates.selection import select_headline
from crawl_urn_dagster.urn import FitKind
from crawl_urn_dagster_tests.estimates.observed import collection_data, urn

BOTH = {"containment", "discovery_curve"}
PARAMETERS = {"kappa", "core_share", "alpha", "coverage"}


@pytest.fixture
def data():
    return collection_data(urn(6, core=400, shell=600, alpha=0.75, coverage=0.6, seed=3), histories=False)


@pytest.fixture
def restored_registry(monkeypatch):
    monkeypatch.setattr(registry, "REGISTRY", list(registry.REGISTRY))


def test_names_of_fits_are_unique():
    names = [definition.name for definition in registry.REGISTRY]
    assert len(names) == len(set(names)) == 15


def test_headline_ranks_are_unique():
    ranks = [one.headline_rank for one in primary_fits(BOTH) if one.headline_rank is not None]
    assert sorted(ranks) == list(range(6))


@pytest.mark.parametrize(
    ("observables", "projections"),
    [
        (BOTH, {"joint", "containment", "discovery_curve", "discovery_tail", "discovery_increments"}),
        ({"containment"}, {"joint", "containment"}),
        ({"discovery_curve"}, {"joint", "discovery_curve", "discovery_tail", "discovery_increments"}),
    ],
)
def test_available_fits_follow_the_observables(observables, projections):
    assert {one.projection for one in primary_fits(observables)} == projections


def test_fits_report_their_stated_parameters(data):
    for fit in fit_primary(data):
        definition = definition_of(fit.kind)
        assert set(fit.estimates) == set(definition.parameters), fit.kind
        assert set(definition.parameters) <= PARAMETERS


def test_registry_is_read_without_numpy():
    code = (
        "import sys; from crawl_urn_dagster.estimates.fits import primary_fits; assert primary_fits(['containment']); "
        "print([name for name in ('numpy', 'pandas', 'scipy') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.usefixtures("restored_registry")
def test_fit_is_in_tables_only_while_registered(data):
    """The entry in the registry alone decides in which tables a fit appears."""
    tail = definition_of(FitKind("discovery_tail", "homogeneous", "exact", "crawl"))
    before = estimate(data, clock="crawl").tables
    registry.REGISTRY.remove(tail)
    without = estimate(data, clock="crawl").tables
    register(tail)
    after = estimate(data, clock="crawl").tables
    for name in ("parameters", "operator_terms"):
        projections = [set(tables[name]["projection"]) for tables in (before, without, after)]
        assert projections[0] - projections[1] == {"discovery_tail"}
        assert projections[2] == projections[0]


@pytest.mark.usefixtures("restored_registry")
def test_registered_fit_appears_everywhere(data):
    """A fit from outside is fitted, refitted for its intervals, and may give the headline."""
    base = definition_of(FitKind("joint", "core_shell", "exact", "crawl"))

    def fit(data, clock):
        from dataclasses import replace

        found = definition_of(FitKind("containment", "core_shell", "exact", clock)).fit(data, clock)
        return replace(found, kind=FitKind("containment", "core_shell", "own", clock))

    containment = definition_of(FitKind("containment", "core_shell", "exact", "crawl"))
    own = PrimaryFit(
        projection="containment",
        model="core_shell",
        form="own",
        label="own fit",
        fit=fit,
        refit=containment.refit,
        needs=frozenset({"containment"}),
        parameters=base.parameters,
        headline_rank=-0,
    )
    register(own)
    with pytest.raises(ValueError, match="is registered already"):
        register(own)
    tables = estimate(data, clock="crawl").tables
    rows = tables["parameters"][tables["parameters"]["form"] == "own"]
    assert rows["component"].tolist() == ["core", "shell", "core", "shell"]
    assert rows["kappa_low"].notna().all()
    assert set(tables["operator_terms"]["form"]) == {"exact", "paper", "own"}
    assert own.check_name("year") in {one.check_name(clock) for one in primary_fits(BOTH) for clock in one.clocks}


def test_supplementary_fits_are_no_headline_candidates(data):
    assert select_headline(fit_primary(data), clock="crawl").kind.projection == "joint"
    assert all(not isinstance(one, PrimaryFit) for one in supplementary_fits())
