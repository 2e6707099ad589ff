"""Define the fit of a core and two shells to capture histories."""

from crawl_urn_dagster.estimates.fits.definition_builders import histories_fit

DEFINITION = histories_fit("core_two_shells")
