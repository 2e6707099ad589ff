"""Report sections on results without the urn model: first returns, revisit delays and other estimators.

Does not compute them; see `estimates.capture_recapture` and `urn.curves.revisit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from crawl_urn_dagster.formatting import count_noun
from crawl_urn_dagster.report.blocks import Block, Folded, Section, Table
from crawl_urn_dagster.report.markdown import captioned_table, format_estimates

if TYPE_CHECKING:
    from crawl_urn_dagster.report.content import Content


def model_free_section(content: Content) -> Section | None:
    """Return first returns and revisit delays; None if there are neither."""
    frames = content.frames
    blocks: list[Block] = []
    returns = frames.get("first_returns", pd.DataFrame())
    if len(returns):
        columns = ["lag_crawls", "fraction", "fraction_se", "n_starts"]
        table = captioned_table("First returns by lag", returns[columns], max_rows=6, source="first_returns")
        blocks += [
            "The table shows the mean share of a crawl that is first recaptured at each lag, with its standard error. "
            "Under an urn model with constant coverage, this share does not increase with the lag.",
            table,
        ]
    delays = frames["revisit_regimes"]["delay_crawls"]
    if (delays > 0).any():
        blocks += _revisit_delays(content)
    if not blocks:
        return None
    title, answer = "Results without the urn model", _answer(content, returns, delays)
    # These are what remains when no parameter may be used.
    return Section(title, blocks, answer) if content.withheld_reason is None else Section(title, [answer, *blocks])


def _answer(content: Content, returns: pd.DataFrame, delays: pd.Series) -> str:
    """State the share recaptured by the next crawl, and whether the crawler avoids recent fetches."""
    sentences = []
    if len(returns) and not pd.isna(share := returns.iloc[0]["fraction"]):
        sentences.append(f"The next crawl captures {100 * share:.3g} % of the {content.noun}s of a crawl again.")
    delay = delays.iloc[-1] if len(delays) else 0
    if delay > 0:
        skipped = count_noun(int(delay), "crawl")
        sentences.append(f"**The crawler avoids recent fetches.** It skips a fetched {content.noun} for {skipped}.")
    return " ".join(sentences) or "The crawler avoided recent fetches at times."


def _revisit_delays(content: Content) -> list[Block]:
    period = ["first_crawl", "last_crawl", "delay_crawls"]
    regimes = format_estimates(content.frames["revisit_regimes"], ["fraction"])
    parameters = content.frames["parameters"]
    names = ["alpha", "coverage", "revisit_coverage"]
    fits = format_estimates(parameters[parameters["model"] == "revisit_delay"], names)
    return [
        "The table shows the shares first recaptured after one, two and three "
        "crawls, by period of start crawls within which they do not change. The delay is the number of crawls during "
        "which the crawler skips a fetched element.",
        captioned_table(
            "First returns by period",
            regimes[[*period, "lag_crawls", "fraction", "p_value"]],
            formatted=["fraction"],
            source="revisit_regimes",
        ),
        "Fits of model `revisit_delay` account for the delay. They estimate coverage and survival, but no core.",
        captioned_table(
            "Fits that account for the revisit delay",
            fits[[*period, *names, "residual_rms", "n_points", "status", "reason"]],
            formatted=names,
            source="parameters",
        ),
    ]


def other_estimators_section(content: Content) -> Section | None:
    """Return capture-recapture models and closed-population estimators; None without capture histories."""
    if "comparators" not in content.frames:
        return None
    models, closed = content.frames["capture_recapture"], content.frames["comparators"]
    is_refuted = content.headline.is_refuted
    adapted = {
        name: closed[name].map(content.adapt, na_action="ignore") for name in ("target", "unit", "bias", "reason")
    }
    return Section(
        "Other estimators",
        [
            Folded(
                "Capture-recapture models",
                [
                    "Maximum-likelihood fits to the same capture histories, each with independent draws. Only "
                    "`core_and_shell` has a separate core; the estimates of the other models include it."
                    + (" Tests of the collection refute independent draws or one shell." if is_refuted else ""),
                    _estimates_table(
                        "Capture-recapture models", models, ["model", "parameter", "estimate", "status", "reason"]
                    ),
                    *content.figures("survival_and_coverage_by_crawl"),
                ],
            ),
            Folded(
                "Closed-population estimators",
                [
                    "These estimators assume a closed population, but elements of the urn are replaced. The table "
                    "states what each estimates instead. "
                    f"N is the number of {content.noun}s eligible at one time, M the number in one crawl, K the number "
                    "in the core, D the number of crawls between the two that are compared, α and c are survival and "
                    "coverage of the shell, c̄ = 1 − c, and ν∞ is the long-run unique rate. The intervals are those "
                    "that the estimators claim.",
                    _estimates_table(
                        "Closed-population estimators",
                        closed.assign(**adapted),
                        ["estimator", "target", "unit", "estimate", "bias", "status", "reason"],
                    ),
                ],
            ),
        ],
        "Estimates of models and estimators from the literature, for comparison. This page quotes none of them.",
    )


def _estimates_table(caption: str, frame: pd.DataFrame, columns: list[str]) -> Table:
    return captioned_table(caption, format_estimates(frame, ["estimate"])[columns], formatted=["estimate"])
