"""The installed command, for tests: its environment, its configuration, and its UI in the background.

Here: starting and asking it. Not here: what it should say.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import requests
import yaml

COMMAND = Path(sys.executable).with_name("crawl-urn")


def environment(**values):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWL_URN", "DAGSTER"))}
    return {**clean, "COLUMNS": "160", **values}


def configure(folder, *collections):
    path = folder / "collections.yaml"
    listed = [collection.model_dump(mode="json", exclude_unset=True) for collection in collections]
    path.write_text(yaml.safe_dump({"collections": listed}))
    return path


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Ui:
    """`crawl-urn ui` in a process group of its own."""

    def __init__(self, folder, configuration, **values):
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        with (folder / "ui.log").open("a") as log:
            self.process = subprocess.Popen(
                [COMMAND, "ui", "--collections", configuration, "--home", folder / "home", "--port", str(self.port)],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment(**values),
                start_new_session=True,
                # As the shell starts a job in the background of a script: the UI must end on a signal nevertheless.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509 - no thread is running yet
            )

    def ask(self, query, **variables):
        answer = requests.post(f"{self.address}/graphql", json={"query": query, "variables": variables}, timeout=30)
        answer.raise_for_status()
        content = answer.json()
        assert "errors" not in content, json.dumps(content["errors"])[:2000]
        return content["data"]

    def wait_until(self, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, "the UI has ended"
            try:
                found = condition()
            except requests.ConnectionError:
                found = None
            if found:
                return found
            time.sleep(0.5)
        raise AssertionError("waited in vain")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=60)
