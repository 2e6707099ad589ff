"""Build the definitions of fits that differ in their model only.

Does not import numpy or pandas before a fit is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawl_urn_dagster.estimates.fits.definition import PrimaryFit, SupplementaryFit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crawl_urn_dagster.estimates.collection_data import CollectionData
    from crawl_urn_dagster.estimates.fits.data_points import IndexArray
    from crawl_urn_dagster.urn import Bootstrap, Clock, Counts
    from crawl_urn_dagster.urn.curves.model import Form
    from crawl_urn_dagster.urn.data.histories import FloatArray
    from crawl_urn_dagster.urn.fits.histories import HistoriesModel
    from crawl_urn_dagster.urn.fits.least_squares import Model
    from crawl_urn_dagster.urn.results.result import AnyFit

#: Estimates that a model reports.
PARAMETERS = {"homogeneous": ("alpha", "coverage"), "core_shell": ("kappa", "core_share", "alpha", "coverage")}


def joint_fit(model: Model, *, headline_rank: int) -> PrimaryFit:
    """Return the definition of a fit to all raw counts of pairs and windows."""

    def fit(data: CollectionData, clock: Clock) -> AnyFit:
        from crawl_urn_dagster.urn.fits.joint import fit_joint
        from crawl_urn_dagster.urn.results.reasons import Reason, ReasonCode
        from crawl_urn_dagster.urn.results.result import FitKind, no_fit

        counts = data.counts(clock)
        if counts is None:
            return no_fit(FitKind("joint", model, "exact", clock), Reason(ReasonCode.NO_COUNTS))
        return fit_joint(counts, model=model, clock=clock)

    return PrimaryFit(
        projection="joint",
        model=model,
        label="joint fit of all pairs and windows",
        fit=fit,
        parameters=PARAMETERS[model],
        headline_rank=headline_rank,
    )


def containment_core_shell_fit(form: Form, *, headline_rank: int | None) -> PrimaryFit:
    """Return the definition of a fit of core and shell to one form of containment."""

    def fit(data: CollectionData, clock: Clock) -> AnyFit:
        from crawl_urn_dagster.estimates.fits.data_points import containment_points
        from crawl_urn_dagster.urn import fit_containment_core_shell

        return fit_containment_core_shell(*containment_points(data, clock), form=form, clock=clock)

    def refit(fit: AnyFit, data: CollectionData, counts: Counts) -> Mapping[str, Any]:
        from crawl_urn_dagster.estimates.fits.data_points import containment_replicates
        from crawl_urn_dagster.urn.fits.batched import fit_containment_batch

        curves, _ = containment_replicates(data, fit.kind.clock, counts)
        again = fit_containment_batch(fit.details.abscissa, curves, model="core_shell", form=form)
        return {name: getattr(again, name) for name in fit.estimates}

    return PrimaryFit(
        projection="containment",
        model="core_shell",
        form=form,
        label="fit of containment",
        fit=fit,
        refit=refit,
        needs=frozenset({"containment"}),
        parameters=PARAMETERS["core_shell"],
        headline_rank=headline_rank,
    )


def discovery_fit(model: Model, *, headline_rank: int) -> PrimaryFit:
    """Return the definition of a fit to the discovery curve."""

    def fit(data: CollectionData, clock: Clock) -> AnyFit:
        from crawl_urn_dagster.estimates.fits.data_points import discovery_points
        from crawl_urn_dagster.urn import fit_discovery_core_shell, fit_discovery_homogeneous

        fitter = {"core_shell": fit_discovery_core_shell, "homogeneous": fit_discovery_homogeneous}[model]
        return fitter(*discovery_points(data, clock), clock=clock)

    def refit(fit: AnyFit, data: CollectionData, counts: Counts) -> Mapping[str, Any]:
        from crawl_urn_dagster.estimates.fits.data_points import discovery_replicates
        from crawl_urn_dagster.urn.fits.batched import fit_discovery_batch

        curves, _ = discovery_replicates(data, fit.kind.clock, counts)
        if fit.kind.clock == "year":  # every window has its own gaps, which a batch cannot fit
            return linear_refits(fit, curves)
        again = fit_discovery_batch(fit.details.abscissa, curves, model=model)
        return {name: getattr(again, name) for name in fit.estimates}

    return PrimaryFit(
        projection="discovery_curve",
        model=model,
        label="fit of the discovery curve",
        fit=fit,
        refit=refit,
        needs=frozenset({"discovery_curve"}),
        parameters=PARAMETERS[model],
        headline_rank=headline_rank,
    )


def mean_discovery_fit(
    projection: str,
    model: Model,
    label: str,
    *,
    fitter: Callable[[IndexArray, FloatArray], AnyFit],
    points: Callable[[FloatArray, IndexArray, FloatArray], FloatArray],
) -> PrimaryFit:
    """Return the definition of a fit to the mean discovery curve, which is defined for equal gaps only.

    Parameters
    ----------
    projection, model, label
        As in `FitDefinition`.
    fitter
        Fit crawls after the first, shape (points,), and the mean curve.
    points
        Points of the fit in each replicate, from its curves, shape (replicates, lengths), the crawls after the first,
        and the abscissa of the fit.
    """

    def fit(data: CollectionData, clock: Clock) -> AnyFit:
        from crawl_urn_dagster.estimates.fits.data_points import discovery_points

        _, _, t, ratio = discovery_points(data, clock)
        return fitter(t, ratio)

    def refit(fit: AnyFit, data: CollectionData, counts: Counts) -> Mapping[str, Any]:
        from crawl_urn_dagster.estimates.fits.data_points import discovery_replicates

        curves, lengths = discovery_replicates(data, fit.kind.clock, counts)
        return linear_refits(fit, points(curves, lengths, fit.details.abscissa))

    return PrimaryFit(
        projection=projection,
        model=model,
        label=label,
        fit=fit,
        refit=refit,
        needs=frozenset({"discovery_curve"}),
        clocks=("crawl",),
        parameters=PARAMETERS[model],
    )


def histories_fit(model: HistoriesModel) -> SupplementaryFit:
    """Return the definition of a maximum-likelihood fit to capture histories, on the clock of the headline."""

    def fit(data: CollectionData, clock: Clock, _: Bootstrap | None) -> Sequence[AnyFit]:
        from crawl_urn_dagster.urn import fit_histories

        counts = data.counted_histories
        return [] if counts is None else [fit_histories(counts, data.times(clock), model=model, clock=clock)]

    return SupplementaryFit(
        projection="histories", model=model, label="maximum-likelihood fit of capture histories", fit=fit
    )


def mean_curves_fit(model: str, *, replaced_by_histories: bool = False) -> SupplementaryFit:
    """Return the definition of a fit to both mean curves, per crawl.

    Parameters
    ----------
    model
        Key of `start_curves.CURVE_MODELS`.
    replaced_by_histories
        Whether a collection with capture histories, which identify the model far better, has no such fit.
    """

    def fit(data: CollectionData, _: Clock, bootstrap: Bootstrap | None) -> Sequence[AnyFit]:
        from crawl_urn_dagster.estimates.intervals import apply_interval_rule
        from crawl_urn_dagster.estimates.start_curves import fit_mean_curves

        counts = data.counts("crawl")
        if counts is None or (replaced_by_histories and data.histories is not None):
            return []
        fitted = fit_mean_curves(model, counts, bootstrap)
        return [apply_interval_rule(fitted, fitted.intervals)]

    return SupplementaryFit(projection="curves", model=model, label="fit of both mean curves", fit=fit)


def linear_refits(fit: AnyFit, curves: FloatArray) -> Mapping[str, Any]:
    """Return the estimates of every replicate, to first order."""
    refits: Mapping[str, Any] = fit.details.linear_refits(fit.estimates, curves)
    return refits
