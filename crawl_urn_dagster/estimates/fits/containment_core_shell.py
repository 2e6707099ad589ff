"""Define the fit of core and shell to containment, in its exact form."""

from crawl_urn_dagster.estimates.fits.definition_builders import containment_core_shell_fit

DEFINITION = containment_core_shell_fit("exact", headline_rank=1)
