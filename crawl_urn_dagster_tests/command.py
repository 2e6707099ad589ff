"""The installed command: its environment, its configuration, and its UI in the background.

Does not assert what it prints.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import requests
import yaml

from crawl_urn_dagster.processes import PROCESSES
from crawl_urn_dagster_tests.unflushed import sitecustomize

COMMAND = Path(sys.executable).with_name("crawl-urn")
#: Its `sitecustomize` is loaded when a command starts.
UNFLUSHED = Path(__file__).with_name("unflushed")
#: Environment of a command that starts no processes for its steps and whose figures are empty.
FAST = {sitecustomize.UNDRAWN: "1", PROCESSES: "1"}
#: Time that a process has for what takes seconds on an idle machine.
PATIENT_SECONDS = 300


def environment(**values):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWL_URN", "DAGSTER"))}
    path = os.pathsep.join(filter(None, (str(UNFLUSHED), clean.get("PYTHONPATH"))))
    return {**clean, "COLUMNS": "160", "PYTHONPATH": path, **values}


def configure(folder, *collections):
    path = folder / "collections.yaml"
    listed = [collection.model_dump(mode="json", exclude_unset=True) for collection in collections]
    path.write_text(yaml.safe_dump({"collections": listed}))
    return path


def free_port():
    """Return a port that stays free until it is used: the system gives no such port to other sockets."""
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def crawl_urn(*arguments, cwd, **values):
    """Run the command to its end."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=environment(**values),
        timeout=600,
    )


def start(*arguments, cwd, **values):
    """Start the command in the background, and return it after its fifth step."""
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment(**values),
    )
    for line in process.stdout:
        if line.strip().startswith("5/"):
            return process
    raise AssertionError("the command ended before its fifth step")


class Ui:
    """`crawl-urn ui` in a separate process group."""

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
                # A shell starts a background job of a script like this, and the UI must still end on a signal.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509 - no thread is running yet
            )

    def query(self, query, **variables):
        answer = requests.post(
            f"{self.address}/graphql", json={"query": query, "variables": variables}, timeout=PATIENT_SECONDS
        )
        answer.raise_for_status()
        content = answer.json()
        assert "errors" not in content, json.dumps(content["errors"])[:2000]
        return content["data"]

    def wait_until(self, condition, seconds=PATIENT_SECONDS, *, every=1.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, "the UI ended"
            try:
                found = condition()
            except requests.ConnectionError:
                found = None
            if found:
                return found
            time.sleep(every)
        raise AssertionError(f"the condition was not met within {seconds} s")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENT_SECONDS)
