"""Define the Dagster component that adds one collection to a user's code location, and its scaffolder.

Does not define the collection (`config.collection`) or its Dagster objects (`build`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator  # noqa: TC003 - pydantic reads the annotations
from pathlib import Path
from typing import Annotated, Any, Literal

import dagster as dg
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest, scaffold_with
from dagster.components.utils.translation import TranslationFnResolver
from pydantic import AfterValidator, BeforeValidator, Field

from crawl_urn_dagster.config.collection import Collection, demo_collection
from crawl_urn_dagster.orchestration.alerts.delivery import targets_without_scheme
from crawl_urn_dagster.orchestration.build import build_defs
from crawl_urn_dagster.orchestration.customisation import AssetOptions, Compute
from crawl_urn_dagster.sources import SimulatedSource

_OPTIONS = """\
  # Results are written to one folder per collection under home, relative to the project's root; add it to .gitignore.
  # home: crawl_urn_home
  # alerts: "{{ env.CRAWL_URN_ALERTS }}"   # Apprise URLs such as slack://... or mailto://...; without them no alerts
  # ui_url: https://dagster.example.org    # for the links in alerts
  # translation: {key_prefix: [web_team]}  # keys, group, tags, owners and automation of the assets
"""


def _collection(_context: dg.ResolutionContext, model: Collection) -> Collection:
    return model


def _without_alternative(schema: dict[str, Any]) -> None:
    """Remove the string alternative that Dagster adds to any attribute, because it hides errors in a collection."""
    schema |= schema.pop("anyOf")[0]


def _model_or_template(schema: dict[str, Any]) -> None:
    """Validate a mapping as the model only, because errors then name the invalid key; accept a template or null too."""
    model = next(one for one in schema.pop("anyOf") if "$ref" in one)
    schema |= {"type": ["object", "string", "null"], "if": {"type": "object"}, "then": model}


class RetrySettings(dg.Model):
    """When a step that failed is tried again in the same run; the fields of `dagster.RetryPolicy`."""

    #: Number of further attempts.
    max_retries: int = Field(default=1, ge=1)
    #: Seconds before a further attempt.
    delay: float | None = Field(default=None, ge=0)
    #: How the delay grows. None: it stays the same.
    backoff: Literal["linear", "exponential"] | None = None
    #: How the delay is randomised. None: not at all.
    jitter: Literal["full", "plus_minus"] | None = None


def _retry_policy(_context: dg.ResolutionContext, model: RetrySettings | None) -> dg.RetryPolicy | None:
    if model is None:
        return None
    return dg.RetryPolicy(
        max_retries=model.max_retries,
        delay=model.delay,
        backoff=dg.Backoff(model.backoff.upper()) if model.backoff else None,
        jitter=dg.Jitter(model.jitter.upper()) if model.jitter else None,
    )


# The jobs run their steps in one process unless the component names another executor.
_EXECUTORS = {"in_process": None, "multiprocess": dg.multiprocess_executor}


def _executor(context: dg.ResolutionContext, name: str | None) -> dg.ExecutorDefinition | None:
    """Return an executor by its name, or the one that a template gives."""
    value = None if name is None else context.resolve_value(name)
    if value is None or isinstance(value, dg.ExecutorDefinition):
        return value
    if value not in _EXECUTORS:
        raise ValueError(
            f"executor: found {value!r}, expected in_process, multiprocess, or a template that returns an executor"
        )
    return _EXECUTORS[value]


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

    #: Changes of every asset's spec: key or key_prefix, group_name, tags, owners, description, automation_condition, ….
    #: Templates may use `asset` (the asset's name), `collection` (the collection's name) and `spec`.
    translation: Annotated[
        Callable[[dg.AssetSpec, dict[str, str]], dg.AssetSpec] | None,
        TranslationFnResolver[dict[str, str]](lambda names: names),
        Field(json_schema_extra=_model_or_template),
    ] = None
    #: Tags of every step, for example the resources of its pod.
    op_tags: dict[str, Any] | None = None
    #: When a step that failed is tried again in the same run. None: not at all.
    retry_policy: Annotated[
        Any,
        dg.Resolver(_retry_policy, model_field_type=RetrySettings | None),
        Field(json_schema_extra=_model_or_template),
    ] = None
    #: Executor of the jobs: `in_process`, `multiprocess`, or a template that gives one. None: in_process.
    executor: Annotated[Any, dg.Resolver(_executor, model_field_type=str | None)] = None

    def get_asset_spec(self, spec: dg.AssetSpec, name: str) -> dg.AssetSpec:
        """Return the spec of an asset; override it for what `translation` cannot express.

        Parameters
        ----------
        spec
            The spec by default, with the key ``<collection>/<name>``.
        name
            Name of the asset in this package, such as ``headline``.

        Examples
        --------
        >>> class Ours(CrawlUrnComponent):
        ...     def get_asset_spec(self, spec, name):
        ...         tags = {"tier": "gold"} if name == "headline" else {}
        ...         return super().get_asset_spec(spec, name).merge_attributes(tags=tags)
        """
        if self.translation is None:
            return spec
        translated: dg.AssetSpec = self.translation(spec, {"asset": name, "collection": self.collection.name})
        return translated

    def execute(self, context: dg.AssetExecutionContext, compute: Compute) -> Iterator[dg.MaterializeResult[None]]:
        """Run one step; override it to add to every step, for example a log line or metadata.

        Parameters
        ----------
        context
            Context of the step; `selected_asset_keys` are its assets.
        compute
            Takes the context, computes the assets and yields their results.
        """
        yield from compute(context)

    @property
    def _translates(self) -> bool:
        return self.translation is not None or type(self).get_asset_spec is not CrawlUrnComponent.get_asset_spec

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Build the definitions of the collection."""
        configured: Collection = self.collection
        collection = configured.relative_to(context.path)
        home = context.project_root / Path(self.home or "crawl_urn_home").expanduser()
        options = AssetOptions(
            translate=self.get_asset_spec if self._translates else None,
            execute=self.execute,
            op_tags=self.op_tags or {},
            retry_policy=self.retry_policy,
            executor=self.executor,
        )
        targets = (self.alerts or "").split()
        return build_defs([collection], home=home, alerts=targets, ui_url=self.ui_url, options=options)
