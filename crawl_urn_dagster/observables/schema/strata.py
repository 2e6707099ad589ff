"""Tables that assess and compare the strata of a collection, and the ranks of its elements between crawls.

Does not include the fits of the strata; see `fits`.
"""

from __future__ import annotations

from crawl_urn_dagster.observables.schema.columns import Column, Table, interval, required, with_interval

_LOG_ODDS = "log odds"

STRATUM_VERDICTS = Table(
    "stratum_verdicts",
    "Verdict on each stratum, from the same tests as that on the collection, and the numbers that may be quoted.",
    (
        required("stratum", "VARCHAR", "stratum of the elements"),
        required("verdict", "VARCHAR", "verdict; see table diagnosis"),
        required("quotable", "VARCHAR", "whether the numbers may be quoted: yes; yes, with a reservation; or no"),
        required("meaning", "VARCHAR", "meaning of the verdict, crawls set aside and recommended action"),
        Column("model", "VARCHAR", "selected model; null: no model is adequate, or none was tested"),
        *(
            column
            for name, unit in (
                ("completeness", "fraction"),
                ("population", "elements"),
                ("survival", "fraction"),
                ("kappa", "fraction"),
                ("core_share", "fraction"),
            )
            for column in with_interval(name, "see table quantities; null: not reported", unit)
        ),
        Column("core_limit", "DOUBLE", "largest core fraction that the data allow; null: see kappa", "fraction"),
    ),
    ("stratum",),
)

STRATUM_PROFILE = Table(
    "stratum_profile",
    "Parameters of each stratum, as estimated from it alone and partially pooled with the other strata.",
    (
        required("stratum", "VARCHAR", "stratum of the elements"),
        required("parameter", "VARCHAR", "kappa, core_share, alpha or coverage"),
        required("clock", "VARCHAR", "clock of the fits"),
        Column(
            "estimate",
            "DOUBLE",
            "estimate of the selected fit of the stratum; null: not reported, or not allowed by the verdict",
            "fraction",
        ),
        *interval("estimate", "fraction"),
        *with_interval(
            "pooled",
            "partially pooled value of the process of the stratum: closer to the mean of the strata the larger the "
            "error of the estimate; null: fewer than two strata have an estimate, or the fit is refuted",
            "fraction",
        ),
        Column(
            "mean_weight",
            "DOUBLE",
            "weight of the mean of the strata in pooled; 1: the stratum has too few elements for an estimate",
            "fraction",
        ),
        Column("between_sd", "DOUBLE", "standard deviation of the values between strata", _LOG_ODDS),
        Column(
            "p_value",
            "DOUBLE",
            "probability of differences at least this large between strata of one process",
            "probability",
        ),
        *with_interval(
            "slope",
            "change of the log odds of the parameter if the rank is e times as large; null: fewer than three bands, "
            "strata that are not rank bands, or lists that end at a rank, which have a gradient in any case",
            _LOG_ODDS,
        ),
        Column("lost_by_cut", "DOUBLE", "see table rank_changes; null: unknown, or not a rank band", "fraction"),
        required("status", "VARCHAR", "status of the selected fit of the stratum"),
        Column("verdict", "VARCHAR", "verdict on the stratum; see table stratum_verdicts"),
    ),
    ("stratum", "parameter"),
)

RANK_CHANGES = Table(
    "rank_changes",
    "How elements of each rank band move from one crawl to the next, as means over all pairs of consecutive crawls.",
    (
        required("stratum", "VARCHAR", "rank band at the earlier crawl"),
        required("elements", "DOUBLE", "mean number of elements of the band at the earlier crawl", "elements"),
        required("stayed", "DOUBLE", "share of them that is in the same band at the next crawl", "fraction"),
        required("to_better", "DOUBLE", "share that is in a better band", "fraction"),
        required("to_worse", "DOUBLE", "share that is in a worse band, or has no rank", "fraction"),
        required("lost", "DOUBLE", "share that the next crawl does not contain", "fraction"),
        required("from_better", "DOUBLE", "elements that come from a better band, divided by elements", "ratio"),
        required(
            "from_worse", "DOUBLE", "elements that come from a worse band or have no rank, divided by elements", "ratio"
        ),
        required("entered", "DOUBLE", "elements that the earlier crawl did not contain, divided by elements", "ratio"),
        *with_interval(
            "net_flux", "arrivals minus departures, divided by elements; 0 if the flux is balanced", "per crawl"
        ),
        *with_interval(
            "drift", "mean change of the natural logarithm of the rank; positive: ranks get worse", "per crawl"
        ),
        *with_interval("diffusion", "half the variance of this change", "per crawl"),
        Column("list_end", "BIGINT", "rank at which every list ends; null: none was found", "rank"),
        Column(
            "passing",
            "DOUBLE",
            "share of the band whose rank passes the end of the list, by drift and diffusion; null: unknown",
            "fraction",
        ),
        Column(
            "lost_by_cut",
            "DOUBLE",
            "passing divided by lost, at most 1: share of the losses that the end of the list explains if ranks move "
            "by a normal amount; too small if ranks jump past the end, too large if they flicker; null: unknown",
            "fraction",
        ),
    ),
    ("stratum",),
)
