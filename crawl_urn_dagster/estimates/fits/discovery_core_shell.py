"""Define the fit of core and shell to the discovery curve."""

from crawl_urn_dagster.estimates.fits.families import discovery_fit

DEFINITION = discovery_fit("core_shell", headline_rank=4)
