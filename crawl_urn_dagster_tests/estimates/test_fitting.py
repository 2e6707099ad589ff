"""Fits of a collection: exactly the registered ones."""

import numpy as np

from crawl_urn_dagster.estimates.collection_data import CollectionData
from crawl_urn_dagster.estimates.fits import primary_fits
from crawl_urn_dagster.estimates.fitting import fit_primary
from crawl_urn_dagster.observables.tables import crawls_table, tables_from_histories
from crawl_urn_dagster.urn import CountingError
from crawl_urn_dagster_tests.collections_for_tests import dated_crawls, histories


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
