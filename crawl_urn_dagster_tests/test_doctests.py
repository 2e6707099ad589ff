"""Examples in the docstrings of the package, run as doctests."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import crawl_urn_dagster
from crawl_urn_dagster import sources, urn


def source_of(module):
    """Return the text of a module without importing it."""
    return module.module_finder.find_spec(module.name).loader.get_source(module.name)


#: Modules with examples, found by their text because an import of all modules would slow down the collection of tests.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(crawl_urn_dagster.__path__, "crawl_urn_dagster.")
    if ">>> " in source_of(module)
)
PUBLIC = [(package, name) for package in (crawl_urn_dagster, urn, sources) for name in package.__all__]


def import_or_skip(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.startswith("crawl_urn_dagster"):
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


def examples(package, name):
    """Return the section Examples of a public name; a result may refer to the function that returns it."""
    text = (inspect.getdoc(getattr(package, name)) or "").partition("Examples\n--------\n")[2]
    reference = re.match(r"See `(\w+)`\.", text)
    return examples(package, reference[1]) if reference else text


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_the_shown_results(name):
    results = doctest.testmod(import_or_skip(name))
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=[f"{package.__name__}.{name}" for package, name in PUBLIC])
def test_public_classes_and_functions_have_examples(package, name):
    try:
        value = getattr(package, name)
    except ModuleNotFoundError as error:
        pytest.skip(f"{name} needs {error.name}, which is not installed")
    if inspect.isclass(value) or inspect.isfunction(value):
        assert ">>> " in examples(package, name)
