"""The picture of the architecture is current, and the layers contract covers each of its arrows."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "_tools" / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def architecture(tool):
    return tool.read_architecture()


def test_picture_is_current(tool, architecture):
    """After a change of the packages, run ``python docs/_tools/architecture.py``."""
    assert tool.PICTURE.read_text() == tool.draw(architecture)


def test_layers_contract_covers_every_import(architecture):
    layer_of = {name: number for number, layer in enumerate(architecture.layers) for name in layer}
    internal = {(importer, imported) for importer, imported in architecture.imports if imported != "dagster"}
    assert {name for pair in internal for name in pair} <= layer_of.keys()
    assert [pair for pair in internal if layer_of[pair[0]] >= layer_of[pair[1]]] == []


def test_arrows_leave_out_imports_along_longer_paths(tool):
    imports = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "atomic"), ("a", "dagster")}
    assert tool.find_arrows(imports) == {("a", "b"), ("b", "c")}


def test_every_package_is_described(architecture):
    table = re.search(r"(?:^\|.*\n)+", (ROOT / "docs" / "architecture.md").read_text(), flags=re.MULTILINE).group()
    described = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()))
    assert sorted(described) == sorted(name for layer in architecture.layers for name in layer)
