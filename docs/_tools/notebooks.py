"""Run the notebooks of `examples/notebooks`, and render them as pages of the documentation site.

A notebook is a Python file with cells that start with ``# %%``; those that start with ``# %% [markdown]`` are text. It
also runs as a script, and Jupyter opens it with jupytext.
"""

import ast
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

NOTEBOOKS = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
_CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n", flags=re.MULTILINE)


class Cell(NamedTuple):
    """A cell of a notebook: text or code, and what the code printed and drew."""

    text: str
    is_code: bool
    printed: str = ""
    figure: Figure | None = None


def run(notebook: Path) -> Iterator[Cell]:
    """Run a notebook, and return its cells; a figure that ends a cell is shown."""
    _, *parts = _CELL.split(notebook.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    for kind, source in zip(parts[::2], parts[1::2], strict=True):
        if kind:
            yield Cell(re.sub(r"^# ?", "", source.strip(), flags=re.MULTILINE), is_code=False)
            continue
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, notebook.name, "exec"), names)  # noqa: S102 - the notebooks are files of this repository
            value = None if last is None else eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)  # noqa: S307
        yield Cell(source.strip(), True, printed.getvalue(), value if isinstance(value, Figure) else None)


def render(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as a page of Markdown, and its figures by path on the site."""
    parts, figures = [], {}
    for cell in run(notebook):
        if not cell.is_code:
            parts.append(cell.text)
            continue
        parts.append(f"```python\n{cell.text}\n```")
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        if cell.figure is not None:
            buffer = io.BytesIO()
            cell.figure.savefig(buffer, format="png")
            name = f"{notebook.stem}_{len(figures)}.png"
            figures[f"notebooks/{name}"] = buffer.getvalue()
            parts.append(f"![figure of the cell above]({name})")
    return "\n\n".join(parts) + "\n", figures
