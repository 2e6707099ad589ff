"""Run and serve collections from the command line."""
