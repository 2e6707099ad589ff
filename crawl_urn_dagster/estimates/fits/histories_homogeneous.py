"""Define the fit of the homogeneous urn to capture histories."""

from crawl_urn_dagster.estimates.fits.definition_builders import histories_fit

DEFINITION = histories_fit("homogeneous")
