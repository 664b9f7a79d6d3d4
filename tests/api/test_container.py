"""The image and the compose file name what is there: no Docker is needed to find out."""

import ast
import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from metajudge.cli.app import app
from metajudge.panels.config import load_panel_file
from metajudge.settings import PROVIDERS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
options_module = importlib.import_module("metajudge.api.options")
app_module = importlib.import_module("metajudge.api.app")
server = importlib.import_module("metajudge.api.server")


@pytest.fixture(scope="module")
def steps():
    """The Dockerfile's instructions: name, rest."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


def given(steps, name):
    return [rest for found, rest in steps if found == name]


def checked(command):
    """A command of ours whose options there are; what they are set to."""
    assert command[0] in PROJECT["project"]["scripts"]
    serve = get_command(app).commands[command[1]]
    known = {name: option for option in serve.params for name in option.opts}
    assert {word for word in command if word.startswith("--")} <= set(known)
    return dict(zip(command[2::2], command[3::2], strict=True))


def test_what_is_copied_is_there_and_is_all_that_the_package_needs(steps):
    sources = [word for rest in given(steps, "COPY") for word in rest.split()[:-1]]
    assert all((ROOT / name).exists() for name in sources)
    needed = {"metajudge", *PROJECT["tool"]["setuptools"]["package-dir"].values(), "pyproject.toml"}
    needed |= {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert needed <= set(sources)


def test_it_does_not_run_as_root_and_owns_its_data(steps):
    names = [name for name, _ in steps]
    assert given(steps, "USER")[-1] not in ("root", "0")
    assert names.index("USER") < names.index("CMD")
    (made,) = [rest for rest in given(steps, "RUN") if rest.startswith("useradd")]
    assert f"--uid {given(steps, 'USER')[-1]}" in made
    store = next(rest for rest in given(steps, "ENV") if rest.startswith("METAJUDGE_STORE"))
    assert Path(store.partition("=")[2]).parent == Path(given(steps, "VOLUME")[0])


def test_the_command_the_port_and_the_health_check_fit(steps):
    options = checked(json.loads(given(steps, "CMD")[0]))
    assert options["--host"] == "0.0.0.0"
    assert options["--port"] == given(steps, "EXPOSE")[0]
    (check,) = given(steps, "HEALTHCHECK")
    python, flag, code = json.loads(check.partition("CMD ")[2])
    assert (python, flag) == ("python", "-c")
    ast.parse(code)
    port, path = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", code).groups()
    assert port == options["--port"]
    paths = app_module.create_app(app_module.ServiceOptions()).openapi()["paths"]
    assert "get" in paths[path]


def test_nothing_secret_is_in_the_image(steps):
    assert not any("KEY" in rest or "SECRET" in rest for rest in given(steps, "ENV") + given(steps, "ARG"))
    assert ".env" in (ROOT / ".dockerignore").read_text("utf-8").splitlines()


def test_the_compose_file_runs_this_image_with_what_is_in_the_repository(compose):
    service = compose["services"]["metajudge"]
    assert (ROOT / service["build"] / "Dockerfile").exists()
    options = checked(service["command"])
    mounts = [one.split(":") for one in service["volumes"]]
    binds = {target: ROOT / source for source, target, *_ in mounts if source.startswith(".")}
    named = {source for source, *_ in mounts if not source.startswith(".")}
    assert named == set(compose["volumes"])
    inside = Path(options["--config"])
    file = binds[str(inside.parent)] / inside.name
    loaded = options_module.load_service_file(file)
    for panel in loaded.panels.values():
        assert load_panel_file(panel).agents
    assert service["ports"] == [f"127.0.0.1:8080:{options['--port']}"]


def test_it_reads_no_variable_that_nobody_reads_and_demands_a_key(compose):
    environment = compose["services"]["metajudge"]["environment"]
    traces = importlib.import_module("metajudge.api.server").ENDPOINTS
    known = {"METAJUDGE_API_KEY", "METAJUDGE_STORE", *traces, *(one.key_variable for one in PROVIDERS.values())}
    assert set(environment) <= known
    assert ":?" in environment["METAJUDGE_API_KEY"]
    assert ":-/data/" in environment["METAJUDGE_STORE"]


def test_it_writes_to_its_volume_and_tmp_alone(compose):
    service = compose["services"]["metajudge"]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert [one for one in service["volumes"] if one.startswith(".")] == ["./service:/etc/metajudge:ro"]
