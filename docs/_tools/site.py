"""Hooks of the documentation site: add generated pages and adapt links.

The pages in `docs` link to each other and to files of the repository by relative paths, so they also work on GitHub.
This module adds files outside `docs` to the site and generates the gallery, the API reference and the examples page.
"""

import html
import json
import os
import posixpath
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# Hooks are loaded by path, without their folder.
sys.path.insert(0, str(Path(__file__).parent))
from notebooks import NOTEBOOKS, render

ROOT = Path(__file__).resolve().parents[2]
#: Page of the site by path in the repository. All other files keep their path, without the folder `docs`.
PAGES = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "examples": "examples.md",
    "examples/extending": "examples.md",
}
SOURCES = {page: path for path, page in PAGES.items() if path.endswith(".md")}
PACKAGES = ("urn", "sources", "observables", "estimates", "figures", "report", "export")
LINK = re.compile(r"(?<=\]\()(?!https?://|#)([^)\s#]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files that are not in `docs`."""
    for page, path in SOURCES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    generated = {"examples.md": _examples(), **_reference()}
    figures, generated["gallery.md"] = _gallery()
    figures = {f"gallery/{name}": content for name, content in figures.items()}
    for notebook in sorted(NOTEBOOKS.glob("*.py")):
        generated[f"notebooks/{notebook.stem}.md"], drawn = render(notebook)
        figures |= drawn
    for page, text in generated.items():
        files.append(File.generated(config, page, content=text))
    for name, content in figures.items():
        files.append(File.generated(config, name, content=content))
    for path in sorted(_linked_files(files)):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files of the repository by links to files of the site."""
    del config, files
    here = posixpath.dirname(page.file.src_uri) or "."

    def replace(link: re.Match[str]) -> str:
        return posixpath.relpath(_in_site(_in_repository(link[0], page.file.src_uri)), here)

    return LINK.sub(replace, markdown)


def _in_repository(link: str, page: str) -> str:
    """Return the path in the repository of the target of a link on a page of the site."""
    source = SOURCES.get(page, f"docs/{page}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def _in_site(path: str) -> str:
    """Return the path in the site of a file of the repository."""
    return PAGES.get(path, path.removeprefix("docs/"))


def _linked_files(files: Files) -> set[str]:
    """Return the paths of files outside `docs` that a page links to."""
    targets = {
        _in_repository(link, file.src_uri)
        for file in files.documentation_pages()
        if (file.src_uri in SOURCES or file.generated_by is None) and file.abs_src_path
        for link in LINK.findall(Path(file.abs_src_path).read_text())
    }
    return {path for path in targets - PAGES.keys() if not path.startswith("docs/") and (ROOT / path).is_file()}


def _examples() -> str:
    """Show every example file."""
    parts = ["# Examples\n"]
    for path in sorted((ROOT / "examples").rglob("*.*")):
        language = {".yaml": "yaml", ".py": "python"}.get(path.suffix)
        if language:
            name = path.relative_to(ROOT / "examples").as_posix()
            parts.append(f"## `{name}`\n\n```{language}\n{path.read_text().rstrip()}\n```\n")
    return "\n".join(parts)


def _reference() -> dict[str, str]:
    """Return the pages of the API reference, each a directive of mkdocstrings."""
    pages = {"reference/crawl_urn_dagster.md": "::: crawl_urn_dagster\n"}
    for package in PACKAGES:
        exports = "__all__" in (ROOT / "crawl_urn_dagster" / package / "__init__.py").read_text()
        options = "" if exports else "    options:\n      show_submodules: true\n"
        pages[f"reference/{package}.md"] = f"::: crawl_urn_dagster.{package}\n{options}"
    return pages


def _gallery() -> tuple[dict[str, bytes], str]:
    """Return the figures of the demo as PNG, and the page that shows them with their captions."""
    home = os.environ.get("CRAWL_URN_DEMO_HOME")
    if home is not None:
        return _read_figures(Path(home))
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("crawl-urn")), "run", "--home", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        return _read_figures(Path(folder))


def _read_figures(home: Path) -> tuple[dict[str, bytes], str]:
    figures, parts = {}, ["# Gallery\n\nThe figures of the demo. [figures.md](figures.md) explains each of them.\n"]
    for path in sorted((home / "demo" / "figures").glob("*.json")):
        caption = json.loads(path.read_text())
        figures[f"{path.stem}.png"] = path.with_suffix(".png").read_bytes()
        image = f'<img src="gallery/{path.stem}.png" alt="{html.escape(caption["alt"])}">'
        parts.append(f"## `{path.stem}`\n\n{image}\n\n{caption['caption']}\n")
    return figures, "\n".join(parts)
