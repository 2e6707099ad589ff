"""Customise how a code location names, describes and runs the assets of a collection.

Does not read these settings from YAML (`component`), or build specs and steps (`asset_keys`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import dagster as dg
from pydantic import PrivateAttr

from crawl_urn_dagster.config.collection import Collection
from crawl_urn_dagster.orchestration.run_processes import record_process

#: Function that computes the assets of one step.
Compute: TypeAlias = Callable[[dg.AssetExecutionContext], Iterator[dg.MaterializeResult[None]]]


@dataclass(frozen=True)
class AssetOptions:
    """How a code location names, describes and runs the assets of its collections.

    Parameters
    ----------
    translate
        Takes the spec of an asset and its name in this package, such as ``headline``, and returns the spec to use. It
        may change the key; checks, jobs, sensors and dependencies then use the new key. None: the default specs.
    execute
        Takes the context of a step and the function that computes it, and yields the results.
    op_tags
        Tags of every step, for example the resources of its pod.
    retry_policy
        When a step that failed is tried again in the same run.
    executor
        Executor of the jobs. None: all steps of a job run in one process.

    Examples
    --------
    >>> from crawl_urn_dagster import build_defs, demo_collection
    >>> options = AssetOptions(translate=lambda spec, name: spec.replace_attributes(key=["web", "demo", name]))
    >>> definitions = build_defs([demo_collection()], options=options)
    >>> definitions.resolve_assets_def(["web", "demo", "headline"]).op.name
    'demo__headline'
    """

    translate: Callable[[dg.AssetSpec, str], dg.AssetSpec] | None = None
    execute: Callable[[dg.AssetExecutionContext, Compute], Iterator[dg.MaterializeResult[None]]] = (
        lambda context, compute: compute(context)
    )
    op_tags: Mapping[str, Any] = field(default_factory=dict)
    retry_policy: dg.RetryPolicy | None = None
    executor: dg.ExecutorDefinition | None = None


class CustomisedCollection(Collection):
    """A collection whose assets have other specs than by default."""

    _options: AssetOptions = PrivateAttr(default_factory=AssetOptions)
    _specs: dict[str, dg.AssetSpec] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(
        cls, collection: Collection, options: AssetOptions, specs: Mapping[str, dg.AssetSpec]
    ) -> "CustomisedCollection":
        """Return a collection with options.

        Parameters
        ----------
        specs
            Translated specs of its assets by name; the other assets have their default specs.
        """
        customised = cls.model_construct(_fields_set=collection.model_fields_set, **dict(collection))
        customised._options, customised._specs = options, dict(specs)
        return customised

    @property
    def options(self) -> AssetOptions:
        """Options of the code location."""
        return self._options

    @property
    def specs(self) -> Mapping[str, dg.AssetSpec]:
        """Specs by the name of the asset."""
        return self._specs


def translated_specs(
    collection: Collection, specs: Mapping[str, dg.AssetSpec], translate: Callable[[dg.AssetSpec, str], dg.AssetSpec]
) -> dict[str, dg.AssetSpec]:
    """Apply a translation to the specs of a collection's assets by name; dependencies between them are kept.

    Raises
    ------
    ValueError
        If two assets get the same key, or an asset gets other partitions.
    """
    translated = {name: translate(spec, name) for name, spec in specs.items()}
    names: dict[dg.AssetKey, str] = {}
    for name, spec in translated.items():
        where = f"translation of {collection.name}, asset {name}"
        if spec.key in names:
            raise ValueError(
                f"{where}: found key {spec.key.to_user_string()!r}, the key of asset {names[spec.key]}; expected a key "
                "for each, for example with {{ asset }} in it"
            )
        if spec.partitions_def != specs[name].partitions_def:
            raise ValueError(f"{where}: found other partitions than the asset has; remove partitions_def")
        names[spec.key] = name
    renamed = {spec.key: translated[name].key for name, spec in specs.items()}
    for name, spec in specs.items():
        own = {dep.asset_key: dg.AssetDep(renamed.get(dep.asset_key, dep.asset_key)) for dep in spec.deps}
        added = [dep for dep in translated[name].deps if dep.asset_key not in own]
        translated[name] = translated[name].replace_attributes(deps=[*own.values(), *added])
    return translated


def customised_step(
    options: AssetOptions, function: Callable[..., Any]
) -> Callable[[dg.AssetExecutionContext], Iterator[dg.MaterializeResult[None]]]:
    """Return the function of a step, which the options may wrap; the given one may take the context."""

    def compute(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        results = function(context) if function.__code__.co_argcount else function()
        yield from [results] if isinstance(results, dg.MaterializeResult) else results

    def execute(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        record_process(context.instance, context.run.run_id)  # Executors of other packages do not.
        yield from options.execute(context, compute)

    return execute


def options_of(collection: Collection) -> AssetOptions:
    """Return the options that the assets of a collection are built with."""
    return collection.options if isinstance(collection, CustomisedCollection) else AssetOptions()


def specs_of(collection: Collection) -> Mapping[str, dg.AssetSpec]:
    """Return the customised specs of a collection by the name of the asset; empty if none is customised."""
    return collection.specs if isinstance(collection, CustomisedCollection) else {}
