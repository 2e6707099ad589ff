"""Define the fit of core and shell to containment, in the form that the paper prints."""

from crawl_urn_dagster.estimates.fits.definition_builders import containment_core_shell_fit

DEFINITION = containment_core_shell_fit("paper", headline_rank=None)
