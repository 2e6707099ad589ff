"""Define the fit of the homogeneous urn to all raw counts at once."""

from crawl_urn_dagster.estimates.fits.definition_builders import joint_fit

DEFINITION = joint_fit("homogeneous", headline_rank=2)
