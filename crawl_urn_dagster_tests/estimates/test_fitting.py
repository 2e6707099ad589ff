"""Fits of a collection: exactly the registered ones, and refuted where tests refute them."""

import numpy as np

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.fits import primary_fits
from crawl_urn_dagster.estimates.fitting import fit_primary, with_refutation
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError, Reason, ReasonCode, Status
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories
from crawl_urn_dagster_tests.estimates.fit_results import fit


def test_all_registered_fits_and_no_others_are_made():
    counts = histories(6).counts()
    crawls = crawls_table(dated_crawls(np.diagonal(counts.intersections())))
    frames = tables_from_histories(crawls, counts, CountingError())
    for containment, discovery_curve in ((True, True), (True, False), (False, True)):
        data = CollectionData(
            crawls,
            frames["containment"] if containment else None,
            frames["discovery_curve"] if discovery_curve else None,
        )
        fits = fit_primary(data)
        listed = {(*one.name, clock) for one in primary_fits(data.observables) for clock in one.clocks}
        assert {fit.kind for fit in fits} == listed
        assert len(fits) == len(listed)


def test_refutation_comes_first_and_keeps_unreported_numbers_so():
    reason = Reason(ReasonCode.REFUTED)
    refuted = with_refutation(fit("joint", status="at_bound"), {"core_shell"})
    assert (refuted.status, refuted.reasons[0]) == (Status.REFUTED, reason)
    unidentified = with_refutation(fit("joint", status="not_identified"), {"core_shell"})
    assert (unidentified.status, unidentified.reasons[0]) == (Status.NOT_IDENTIFIED, reason)
    for same in (fit("joint", status="not_converged"), fit("joint", "homogeneous")):
        assert with_refutation(same, {"core_shell"}) is same
