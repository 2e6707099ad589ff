"""The Dagster Component: one collection from the YAML of somebody's own code location.

Here: the component's schema and its scaffolder. Not here: what is built (`build`), or what a collection is
(`collection`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest, scaffold_with
from pydantic import BeforeValidator, Field

from crawl_urn_dagster.config.collection import Collection, demo_collection
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.sources import SimulatedSource

_OPTIONS = """\
  # Results go to a folder per collection under home, which is taken from the project's root; let git ignore it.
  # home: crawl_urn_home
  # alerts: "{{ env.CRAWL_URN_ALERTS }}"   # addresses such as slack://... or mailto://...; without them nobody is told
  # ui_url: https://dagster.example.org    # for the links in alerts
"""


def _collection(_context: dg.ResolutionContext, model: Collection) -> Collection:
    return model


def _without_alternative(schema: dict[str, Any]) -> None:
    """Leave out the text that Dagster takes for any attribute, which hides what is wrong with a collection."""
    schema |= schema.pop("anyOf")[0]


class CrawlUrnScaffolder(Scaffolder):
    """Writes a component that works as it is: the embedded default."""

    def scaffold(self, request: ScaffoldRequest[Any]) -> None:
        """Write the component's file."""
        # Without its windows of drift, which only make the demonstration fast.
        demo = demo_collection().model_dump(mode="json", exclude_defaults=True, exclude={"drift"})
        # Two of one name would be one collection made twice.
        folder = re.sub("[^a-z0-9]+", "_", request.target_path.name.lower())[:48]
        demo["name"] = folder.lstrip("0123456789_").rstrip("_") or demo["name"]
        demo["source"]["type"] = SimulatedSource().type
        dg.scaffold_component(request, {"collection": demo})
        if request.scaffold_format == "yaml":
            file = request.target_path if request.append else request.target_path / "defs.yaml"
            with file.open("a", encoding="utf-8") as opened:
                opened.write(_OPTIONS)


@scaffold_with(CrawlUrnScaffolder)
class CrawlUrnComponent(dg.Component, dg.Model, dg.Resolvable):
    """One longitudinal crawl: from its statistics or lists to fitted urn parameters, figures and a report."""

    #: The collection, as in a collections file; relative paths are taken from the component's folder.
    # Declared as Any: Dagster would otherwise resolve the model's fields one by one and refuse their constraints.
    collection: Annotated[
        Any,
        dg.Resolver(_collection, model_field_type=Collection),
        Field(json_schema_extra=_without_alternative),
        # Before Dagster's alternative, whose error would stand beside the one that is true.
        BeforeValidator(Collection.model_validate),
    ]
    #: Folder for tables, figures and reports; a relative path is taken from the project's root. None: crawl_urn_home.
    home: str | None = None
    #: Where alerts are sent: addresses in apprise's notation, separated by spaces; best from the environment.
    alerts: str | None = None
    #: Where people see the UI, for the links in alerts.
    ui_url: str | None = None

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Definitions of the collection."""
        configured: Collection = self.collection
        source = configured.source.relative_to(context.path)
        collection = configured.model_copy(update={"source": source})
        home = context.project_root / Path(self.home or "crawl_urn_home").expanduser()
        return build_defs([collection], home=home, alerts=(self.alerts or "").split(), ui_url=self.ui_url)
