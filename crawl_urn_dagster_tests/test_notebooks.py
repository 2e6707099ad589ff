"""The notebooks of the gallery run, print what their text says, and are pages of the site."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))
#: Pattern of the output of each notebook, to which its text refers.
PRINTED = {
    "drift": r"coverage +True +True +2024-0[234]\n",
    "five_lines": r"κ 0\.(3[5-9]|4[0-5])",
    "forecast": r"crawl_size: \d+ \(95 % PI \d+ to \d+\)\nnew_elements: \d+",
    "own_simulation": r"kappa: true 0\.30, estimate 0\.(2[7-9]|3[0-3])",
    "two_archives": r"large: crawl completeness 0\.(7[7-9]|8[0-3]), survival per crawl 0\.(8[7-9]|9[0-3])\n",
}


def load_tool():
    spec = spec_from_file_location("notebooks", ROOT / "docs" / "_tools" / "notebooks.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_prints_what_its_text_says(notebook):
    page, figures = load_tool().render(notebook)
    assert re.search(PRINTED[notebook.stem], page)
    assert page.startswith("# ")
    assert len(figures) == page.count("![") == 1
    assert all(content.startswith(b"\x89PNG") for content in figures.values())


def test_every_notebook_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert {path.stem for path in NOTEBOOKS} == set(PRINTED)
    assert [path.stem for path in NOTEBOOKS if f"notebooks/{path.stem}.md" not in navigation] == []


def test_cells_show_text_code_and_prints(tmp_path):
    notebook = tmp_path / "small.py"
    notebook.write_text("# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nvalue = 2\nprint(value)\nvalue + 1\n")
    page, figures = load_tool().render(notebook)
    assert page == "# Title\n\nText.\n\n```python\nvalue = 2\nprint(value)\nvalue + 1\n```\n\n```text\n2\n```\n"
    assert figures == {}
