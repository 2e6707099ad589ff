"""Test the registry of source types."""

from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from crawl_urn_dagster import sources
from crawl_urn_dagster.sources import PresenceSource, Source, TablesSource

REGISTERED = get_args(get_args(Source)[0])


def test_every_type_is_registered_once():
    types = [model.model_fields["type"].default for model in REGISTERED]
    assert len(types) == len(set(types)) == 14
    for model in REGISTERED:
        assert issubclass(model, PresenceSource | TablesSource)
        assert getattr(sources, model.__name__) is model


def test_the_key_type_selects_the_class():
    source = TypeAdapter(Source).validate_python({"type": "cdx", "path": "index.cdx"})
    assert isinstance(source, sources.CdxSource)
    with pytest.raises(ValidationError, match="'unknown' found using 'type' does not match any of the expected tags"):
        TypeAdapter(Source).validate_python({"type": "unknown"})
