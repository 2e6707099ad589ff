"""Define the fit of a core and two shells to the mean curves."""

from crawl_urn_dagster.estimates.fits.definition_builders import mean_curves_fit

DEFINITION = mean_curves_fit("core_two_shells", replaced_by_histories=True)
