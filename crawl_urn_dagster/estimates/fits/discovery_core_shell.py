"""Define the fit of core and shell to the discovery curve."""

from crawl_urn_dagster.estimates.fits.definition_builders import discovery_fit

DEFINITION = discovery_fit("core_shell", headline_rank=4)
