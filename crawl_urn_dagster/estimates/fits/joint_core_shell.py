"""Define the fit of core and shell to all raw counts at once."""

from crawl_urn_dagster.estimates.fits.definition_builders import joint_fit

DEFINITION = joint_fit("core_shell", headline_rank=0)
