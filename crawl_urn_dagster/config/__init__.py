"""Configure collections in typed YAML.

Does not define the settings of each source; see `sources`.
"""
