"""The collection model: names, and the JSON schema that a component's file is checked with."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.sources import SimulatedSource


@given(name=st.text(max_size=60))
def test_accepted_names_match_the_pattern(name):
    """Names become keys, files, groups and pools."""
    fits = re.fullmatch("[a-z]([a-z0-9_]{0,46}[a-z0-9])?", name) is not None
    try:
        collection = Collection(name=name, granularity="url", source=SimulatedSource())
    except ValidationError:
        assert not fits
    else:
        assert fits
        assert collection.name == name


@pytest.mark.parametrize("name", ["a\n", "a" * 49, "A", "_a", "1a", "é", "a-b", ""])
def test_other_names_are_rejected(name):
    with pytest.raises(ValidationError):
        Collection(name=name, granularity="url", source=SimulatedSource())


def test_json_schema_accepts_the_former_key_of_containment_drop():
    keys = Collection.model_json_schema()["properties"]
    assert "deprecated" not in keys["containment_drop"]
    assert keys["coverage_drop"] == {**keys["containment_drop"], "deprecated": True}
