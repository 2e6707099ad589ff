"""Rows of the tables that belong to the headline."""

import numpy as np
import pandas as pd
import pytest

from crawl_urn_dagster.report.content import churn
from crawl_urn_dagster_tests.report.reading import headline_row


def test_terms_and_yearly_fit_belong_to_the_headline(tables, content_with):
    content, fit = content_with(), headline_row(tables)
    key = ["projection", "model", "form", "component"]
    assert [content.fit[name] for name in key] == [content.terms[name] for name in key] == fit[key].tolist()
    assert [content.yearly_fit[name] for name in key] == fit[key].tolist()
    assert (content.fit["clock"], content.yearly_fit["clock"]) == ("crawl", "year")


def test_homogeneous_fit_has_its_coverage_as_completeness(tables, content_with):
    parameters = tables["parameters"]
    is_joint = (parameters["projection"] == "joint") & (parameters["model"] == "homogeneous")
    headline = is_joint & (parameters["clock"] == "crawl")
    content = content_with(parameters=parameters.assign(headline=headline))
    assert content.crawl_shares["crawl_size"] == content.fit["coverage"]
    assert content.crawl_shares["nu_inf_low"] == content.terms["nu_inf_low"]
    assert not content.has_core


def test_mean_size_of_unknown_sizes_is_nan(tables, content_with):
    crawls = tables["crawls"]
    assert content_with().mean_size == pytest.approx(crawls["elements"].mean())
    unknown = crawls.assign(elements=crawls["elements"].astype("Int64").mask(crawls.index >= 0))
    assert np.isnan(content_with(crawls=unknown).mean_size)


def test_mean_size_leaves_out_crawls_that_were_set_aside(tables, content_with):
    crawls, tests = tables["crawls"], tables["adequacy_tests"]
    outlying = {
        **dict.fromkeys(tests),
        "test": "outlying_crawl",
        "verdict": "fails",
        "subject": crawls["crawl"].iloc[0],
    }
    content = content_with(
        crawls=crawls.assign(elements=[1, *crawls["elements"].iloc[1:]]),
        adequacy_tests=pd.concat([tests, pd.DataFrame([outlying])], ignore_index=True),
    )
    assert content.mean_size == pytest.approx(crawls["elements"].iloc[1:].mean())


def test_churn_swaps_the_ends_of_the_interval():
    fit = {"status": "ok", "alpha": 0.7, "alpha_low": 0.6, "alpha_high": 0.9}
    assert churn(fit) == {"status": "ok", "churn": 1 - 0.7, "churn_low": 1 - 0.9, "churn_high": 1 - 0.6}
