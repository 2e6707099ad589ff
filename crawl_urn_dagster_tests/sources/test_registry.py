"""Test the registry of source types and the examples in the docstrings of public names."""

import doctest
import importlib
import inspect
import pkgutil
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from crawl_urn_dagster import sources
from crawl_urn_dagster.sources import PresenceSource, Source, TablesSource

REGISTERED = get_args(get_args(Source)[0])
MODULES = [module.name for module in pkgutil.walk_packages(sources.__path__, f"{sources.__name__}.")]


def test_every_type_is_registered_once():
    types = [model.model_fields["type"].default for model in REGISTERED]
    assert len(types) == len(set(types)) == 10
    for model in REGISTERED:
        assert issubclass(model, PresenceSource | TablesSource)
        assert getattr(sources, model.__name__) is model


def test_the_key_type_selects_the_class():
    source = TypeAdapter(Source).validate_python({"type": "cdx", "path": "index.cdx"})
    assert isinstance(source, sources.CdxSource)
    with pytest.raises(ValidationError, match="'unknown' found using 'type' does not match any of the expected tags"):
        TypeAdapter(Source).validate_python({"type": "unknown"})


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_give_the_shown_results(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.failed == 0


def test_every_public_name_has_an_example():
    public = {name: getattr(sources, name) for name in sources.__all__ if name != "Source"}
    assert [name for name, value in public.items() if "Examples\n" not in inspect.getdoc(value)] == []
