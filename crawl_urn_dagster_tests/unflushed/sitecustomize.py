"""Let SQLite leave flushing to the system in this process; on the path of a command, it does so from its start.

Dagster opens and closes its files for every event, and waits for the disk for longer than the steps of a test take.
With `UNDRAWN` in the environment, the figures of the process are empty, because to draw them takes half of an update.
"""

import importlib.abc
import importlib.util
import os
import sqlite3
import sys
from sqlite3 import dbapi2

UNDRAWN = "CRAWL_URN_TESTS_UNDRAWN"
_FILES = "crawl_urn_dagster.figures.files"
_connect = sqlite3.connect


def _connect_unflushed(*args, **kwargs):
    connection = _connect(*args, **kwargs)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


sqlite3.connect = dbapi2.connect = _connect_unflushed


def draw_nothing(*_, **__):
    """Return an empty figure in place of `crawl_urn_dagster.figures.files.draw`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(1, 1))


class _Undrawn(importlib.abc.MetaPathFinder):
    """Replace `draw` when the module that writes figures is imported."""

    def find_spec(self, fullname, path, target=None):
        if fullname != _FILES:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def execute_and_replace(module):
            execute(module)
            module.draw = draw_nothing

        spec.loader.exec_module = execute_and_replace
        return spec


if UNDRAWN in os.environ:
    sys.meta_path.insert(0, _Undrawn())
