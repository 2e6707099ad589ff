"""Hold the counts that urns are fitted to."""
