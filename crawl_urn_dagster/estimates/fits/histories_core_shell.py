"""Define the fit of core and shell to capture histories."""

from crawl_urn_dagster.estimates.fits.definition_builders import histories_fit

DEFINITION = histories_fit("core_shell")
