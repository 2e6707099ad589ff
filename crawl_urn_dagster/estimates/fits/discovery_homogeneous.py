"""Define the fit of the homogeneous urn to the discovery curve."""

from crawl_urn_dagster.estimates.fits.definition_builders import discovery_fit

DEFINITION = discovery_fit("homogeneous", headline_rank=5)
