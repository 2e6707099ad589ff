"""Define the fit of a core and a shell with spread coverage to the mean curves."""

from crawl_urn_dagster.estimates.fits.definition_builders import mean_curves_fit

DEFINITION = mean_curves_fit("beta_shell")
