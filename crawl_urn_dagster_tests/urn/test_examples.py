"""Examples in the docstrings of the urn, run as doctests."""

import doctest
import importlib
import pkgutil

import pytest

from crawl_urn_dagster import urn

MODULES = sorted(module.name for module in pkgutil.walk_packages(urn.__path__, f"{urn.__name__}.") if not module.ispkg)


@pytest.mark.parametrize("module", MODULES)
def test_examples_give_the_shown_results(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0
