"""Define the Dagster component that adds one collection to a user's code location, and its scaffolder.

Does not define the collection (`config.collection`) or its Dagster objects (`build`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest, scaffold_with
from pydantic import AfterValidator, BeforeValidator, Field

from crawl_urn_dagster.config.collection import Collection, demo_collection
from crawl_urn_dagster.orchestration.alerts.delivery import targets_without_scheme
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.sources import SimulatedSource

_OPTIONS = """\
  # Results are written to one folder per collection under home, relative to the project's root; add it to .gitignore.
  # home: crawl_urn_home
  # alerts: "{{ env.CRAWL_URN_ALERTS }}"   # Apprise URLs such as slack://... or mailto://...; without them no alerts
  # ui_url: https://dagster.example.org    # for the links in alerts
"""


def _collection(_context: dg.ResolutionContext, model: Collection) -> Collection:
    return model


def _without_alternative(schema: dict[str, Any]) -> None:
    """Remove the string alternative that Dagster adds to any attribute, because it hides errors in a collection."""
    schema |= schema.pop("anyOf")[0]


# `dg check yaml` reads the file before its templates are filled in.
_TEMPLATE = r"\{\{"
_TARGETS = rf"{_TEMPLATE}|^\s*(\S+://\S+\s*)*$"
_ADDRESS = rf"{_TEMPLATE}|^(https?://\S+)?$"


def _check_targets(alerts: str | None) -> str | None:
    invalid = targets_without_scheme((alerts or "").split())
    if invalid and not re.search(_TEMPLATE, alerts or ""):
        raise ValueError("; ".join(invalid))
    return alerts


class CrawlUrnScaffolder(Scaffolder):
    """Scaffold a component of the demo collection, which works without changes."""

    def scaffold(self, request: ScaffoldRequest[Any]) -> None:
        """Write the component's file."""
        # The demo's drift settings only shorten its run.
        demo = demo_collection().model_dump(mode="json", exclude_defaults=True, exclude={"drift"})
        # Two components with the same collection name would clash.
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
    """Estimate the urn model of one collection: from its statistics or lists to parameters, figures and a report.

    Examples
    --------
    >>> source = {"type": "simulated"}
    >>> component = CrawlUrnComponent(collection={"name": "demo", "granularity": "url", "source": source})
    >>> component.collection.name
    'demo'
    """

    #: The collection, as in a collections file; relative paths start at the component's folder.
    # Declared as Any because Dagster otherwise resolves the model's fields one by one and rejects their constraints.
    collection: Annotated[
        Any,
        dg.Resolver(_collection, model_field_type=Collection),
        Field(json_schema_extra=_without_alternative),
        # Runs before Dagster's alternative, whose error would otherwise be reported as well.
        BeforeValidator(Collection.model_validate),
    ]
    #: Folder for tables, figures and reports; a relative path starts at the project's root. None: crawl_urn_home.
    home: str | None = None
    #: Targets of alerts: Apprise URLs separated by spaces, preferably from the environment.
    alerts: Annotated[str | None, AfterValidator(_check_targets), Field(json_schema_extra={"pattern": _TARGETS})] = None
    #: Address of the UI, for the links in alerts.
    ui_url: Annotated[str | None, Field(json_schema_extra={"pattern": _ADDRESS})] = None

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Build the definitions of the collection."""
        configured: Collection = self.collection
        source = configured.source.relative_to(context.path)
        collection = configured.model_copy(update={"source": source})
        home = context.project_root / Path(self.home or "crawl_urn_home").expanduser()
        return build_defs([collection], home=home, alerts=(self.alerts or "").split(), ui_url=self.ui_url)
