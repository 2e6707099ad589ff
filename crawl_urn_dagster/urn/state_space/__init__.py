"""Fit urns whose elements are temporarily absent, or avoided after a fetch: mixtures of hidden Markov classes."""
