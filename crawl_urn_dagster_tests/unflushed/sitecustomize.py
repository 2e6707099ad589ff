"""Let SQLite leave flushing to the system in this process; on the path of a command, it does so from its start.

Dagster opens and closes its files for every event, and waits for the disk for longer than the steps of a test take.
"""

import sqlite3
from sqlite3 import dbapi2

_connect = sqlite3.connect


def _connect_unflushed(*args, **kwargs):
    connection = _connect(*args, **kwargs)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


sqlite3.connect = dbapi2.connect = _connect_unflushed
