"""Send one alert per event to the configured targets.

Does not decide when a check fails (`checks`) or implement the services of the targets (Apprise).
"""
