"""Draw `docs/architecture.svg`, the picture of the packages and the imports between them.

Rows are the layers of the import-linter contract in `pyproject.toml`; arrows are imports found by grimp. Does not draw
an import that is also made along a longer path, or imports of helper modules, which every package above may use.

Run ``python docs/_tools/architecture.py`` after a change of the packages or of their imports.
"""

from __future__ import annotations

import itertools
import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import grimp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "architecture.svg"
PACKAGE = "crawl_urn_dagster"
HELPERS = ("atomic", "formatting", "processes", "progress", "spreadsheets", "sql_loader")

_WIDTH, _ROW_HEIGHT, _BOX_WIDTH, _BOX_HEIGHT, _MARGIN = 900, 104, 210, 64, 16
_LINE_LENGTH = 35  # characters of the names of subpackages that fit into a box
_DAGSTER_FILL, _FILL, _HELPER_FILL = "#d9e4f7", "#f8efdc", "#eeeeee"
_LEGEND = "blue: imports Dagster; yellow: does not; grey: helper modules, imported from any row above"


class Architecture(NamedTuple):
    """Packages and modules directly below the project's package, and the imports between them.

    Attributes
    ----------
    layers
        Names, from the top layer to the bottom layer.
    imports
        Pairs of importing and imported name.
    subpackages
        Names of the subpackages of each package.
    """

    layers: list[list[str]]
    imports: set[tuple[str, str]]
    subpackages: dict[str, list[str]]


def read_architecture() -> Architecture:
    """Read the layers from `pyproject.toml` and the imports from the code."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == [PACKAGE])
    graph = grimp.build_graph(PACKAGE, include_external_packages=True)

    def top(module: str) -> str:
        return module.removeprefix(f"{PACKAGE}.").partition(".")[0]

    inside = [module for module in graph.modules if module.startswith(f"{PACKAGE}.")]
    imports = {
        (top(module), top(imported))
        for module in inside
        for imported in graph.find_modules_directly_imported_by(module)
        if imported.startswith(f"{PACKAGE}.") or imported == "dagster"
    }
    subpackages: dict[str, list[str]] = {}
    for module in sorted(inside):
        if module.count(".") == 2 and graph.find_children(module):
            subpackages.setdefault(top(module), []).append(module.rpartition(".")[2])
    return Architecture(
        [re.split(r"\s*[|:]\s*", layer) for layer in layers],
        {(importer, imported) for importer, imported in imports if importer != imported},
        subpackages,
    )


def find_arrows(imports: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the imports to draw: those without a longer path between the same names."""
    targets: dict[str, set[str]] = {}
    for importer, imported in imports:
        if imported != "dagster" and not {importer, imported} & set(HELPERS):
            targets.setdefault(importer, set()).add(imported)

    def reachable(name: str) -> set[str]:
        return set().union(*({one} | reachable(one) for one in targets.get(name, ())))

    return {
        (importer, imported)
        for importer, direct in targets.items()
        for imported in direct
        if not any(imported in reachable(other) for other in direct - {imported})
    }


def draw(architecture: Architecture) -> str:
    """Return the picture as SVG."""
    layers = [[name for name in layer if name not in HELPERS] for layer in architecture.layers]
    rows, lines = _route([layer for layer in layers if layer], sorted(find_arrows(architecture.imports)))
    rows = _order(rows, lines)
    centres = {
        name: (_WIDTH * (k + 0.5) / len(row), _MARGIN + _BOX_HEIGHT / 2 + number * _ROW_HEIGHT)
        for number, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    helper_row = _MARGIN + len(rows) * _ROW_HEIGHT
    height = helper_row + _BOX_HEIGHT + 2 * _MARGIN + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">',
        "<title>Packages of crawl_urn_dagster and the imports between them</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555555"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        *(_arrow([centres[name] for name in line]) for line in lines),
    ]
    on_dagster = {importer for importer, imported in architecture.imports if imported == "dagster"}
    for name in itertools.chain.from_iterable(layers):
        fill = _DAGSTER_FILL if name in on_dagster else _FILL
        parts += _box(name, centres[name], fill, architecture.subpackages.get(name, []))
    for k, name in enumerate(HELPERS):
        centre = (_WIDTH * (k + 0.5) / len(HELPERS), helper_row + _BOX_HEIGHT / 2)
        parts += _box(name, centre, _HELPER_FILL, [])
    parts.append(_text(_WIDTH / 2, height - _MARGIN + 6, _LEGEND, 13))
    return "\n".join([*parts, "</svg>", ""])


def _route(layers: list[list[str]], arrows: list[tuple[str, str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Add a place to every row that an arrow passes; return the rows and the places along each arrow."""
    rows, lines = [list(layer) for layer in layers], []
    row_of = {name: number for number, layer in enumerate(layers) for name in layer}
    for importer, imported in arrows:
        line = [importer]
        for number in range(row_of[importer] + 1, row_of[imported]):
            place = f"{importer} to {imported}, row {number}"
            rows[number].append(place)
            line.append(place)
        lines.append([*line, imported])
    return rows, lines


def _order(rows: list[list[str]], lines: list[list[str]]) -> list[list[str]]:
    """Order each row so that few arrows cross."""
    segments = [pair for line in lines for pair in itertools.pairwise(line)]

    def crossings(rows: list[list[str]]) -> int:
        at = {name: (number, k / len(row)) for number, row in enumerate(rows) for k, name in enumerate(row)}
        return sum(
            at[a][0] == at[c][0] and (at[a][1] - at[c][1]) * (at[b][1] - at[d][1]) < 0
            for (a, b), (c, d) in itertools.combinations(segments, 2)
        )

    rows = [sorted(row) for row in rows]
    for number in [*range(len(rows)), *reversed(range(len(rows)))]:
        choices = ([*rows[:number], list(order), *rows[number + 1 :]] for order in itertools.permutations(rows[number]))
        rows = min(choices, key=crossings)
    return rows


def _arrow(points: list[tuple[float, float]]) -> str:
    """Draw an arrow from the bottom of one box to the top of another."""
    (x, y), *between, (end_x, end_y) = points
    half = _BOX_HEIGHT / 2
    path = f"M{x:.0f},{y + half:.0f}"
    path += "".join(f" L{a:.0f},{b - half:.0f} L{a:.0f},{b + half:.0f}" for a, b in between)
    path += f" L{end_x:.0f},{end_y - half:.0f}"
    return f'<path d="{path}" fill="none" stroke="#555555" marker-end="url(#head)"/>'


def _box(name: str, centre: tuple[float, float], fill: str, subpackages: list[str]) -> list[str]:
    x, y = centre
    rectangle = (
        f'<rect x="{x - _BOX_WIDTH / 2:.0f}" y="{y - _BOX_HEIGHT / 2:.0f}" width="{_BOX_WIDTH}" '
        f'height="{_BOX_HEIGHT}" rx="6" fill="{fill}" stroke="#777777"/>'
    )
    lines = textwrap.wrap(", ".join(subpackages), _LINE_LENGTH)
    first = y + 5 - 7 * len(lines)
    small = [_text(x, first + 15 + 13 * k, line, 11) for k, line in enumerate(lines)]
    return [rectangle, _text(x, first, name, 16), *small]


def _text(x: float, y: float, text: str, size: int) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="middle">{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(draw(read_architecture()))
