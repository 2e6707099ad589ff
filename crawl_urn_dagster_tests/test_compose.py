"""The compose file, as far as it can be tested without Docker: its commands, files, names and Dagster settings."""

import re
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config
from dagster._core.workspace.config_schema import process_workspace_config

# Click 9 merges these arguments into others.
pytestmark = pytest.mark.filterwarnings("ignore:.*protected_args:DeprecationWarning")
ROOT = Path(__file__).resolve().parents[1]
COMPOSE = ROOT / "examples" / "compose"
FILE = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
SERVICES = FILE["services"]
COMMANDS = {name: service["command"] for name, service in SERVICES.items() if "command" in service}
COMMANDS["health of code"] = SERVICES["code"]["healthcheck"]["test"][1:]
#: Groups of commands of the console scripts, whose functions only call them.
GROUPS = {
    "dagster": "dagster._cli:create_dagster_cli",
    "dagster-webserver": "dagster_webserver.cli:dagster_webserver",
    "dagster-daemon": "dagster._daemon.cli:create_dagster_daemon_cli",
}


def parse(command, arguments, name):
    """Parse arguments as the command does, without running it; return the values by name."""
    context = command.make_context(name, list(arguments), resilient_parsing=False)
    if isinstance(command, click.Group):
        chosen, subcommand, rest = command.resolve_command(context, [*context.protected_args, *context.args])
        return parse(subcommand, rest, chosen)
    assert context.args == []
    return context.params


def options(service):
    script, *arguments = COMMANDS[service]
    assert any(one.name == script for one in entry_points(group="console_scripts"))
    module, _, name = GROUPS[script].partition(":")
    group = getattr(import_module(module), name)
    return parse(group if isinstance(group, click.Command) else group(), arguments, script)


@pytest.mark.parametrize("service", COMMANDS)
def test_commands_accept_their_options(service):
    assert options(service)


def test_code_location_matches_the_workspace():
    code = options("code")
    assert import_module("".join(code["module_name"])).definitions
    workspace = yaml.safe_load((COMPOSE / "workspace.yaml").read_text())
    assert process_workspace_config(workspace).success
    (server,) = (one["grpc_server"] for one in workspace["load_from"])
    assert server["host"] in SERVICES
    assert server["port"] == code["port"] == options("health of code")["port"]


def test_instance_is_that_of_one_machine_with_postgres(tmp_path):
    files = [ROOT / path for path in re.findall(r"/src/(\S+\.yaml)", (COMPOSE / "Dockerfile").read_text())]
    assert all(file.exists() for file in files)
    machine, storage, workspace = files
    text = machine.read_text() + storage.read_text()
    (tmp_path / "dagster.yaml").write_text(text)
    settings, _ = dagster_instance_config(str(tmp_path))
    assert settings["storage"]["postgres"]["postgres_url"] == {"env": "DAGSTER_PG_URL"}
    assert set(yaml.safe_load(text)) == {*yaml.safe_load(machine.read_text()), "storage"}
    assert workspace == COMPOSE / "workspace.yaml"


def test_all_services_share_the_log_and_one_has_the_data():
    for name in ("code", "webserver", "daemon"):
        assert SERVICES[name]["environment"]["DAGSTER_PG_URL"].startswith("postgresql://dagster:")
        assert "logs:/opt/dagster/dagster_home/storage" in SERVICES[name]["volumes"]
    read = set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', (ROOT / "crawl_urn_dagster" / "definitions.py").read_text()))
    assert read == {name for name in SERVICES["code"]["environment"] if name.startswith("CRAWL_URN")}
    named = {volume.partition(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert {volume for volume in named if not volume.startswith(".")} == set(FILE["volumes"])
    for service in SERVICES.values():
        for other, condition in service.get("depends_on", {}).items():
            assert condition == {"condition": "service_healthy"}
            assert "healthcheck" in SERVICES[other]


def test_the_page_names_the_files():
    page = (ROOT / "docs" / "production.md").read_text()
    assert {path.name for path in COMPOSE.iterdir()} == set(re.findall(r"\(\.\./examples/compose/([\w.]+)\)", page))
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["webserver"]["ports"])
