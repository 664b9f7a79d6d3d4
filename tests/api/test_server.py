"""When the service does not start, and what it says then."""

import importlib
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
from metajudge.settings import Settings
from tests.api.service_process import process

options_module = importlib.import_module("metajudge.api.options")
keys = importlib.import_module("metajudge.api.keys")
server = importlib.import_module("metajudge.api.server")

GOOD = "mj_7Qm3vXr0pLwZt5Yh9Ke2Ds8Ua1"


@pytest.fixture(autouse=True)
def nothing_is_served(monkeypatch, tmp_path):
    """A service that would start is caught before it listens."""
    import uvicorn

    def run(self, *_, **__):
        raise AssertionError("it would have started")

    monkeypatch.setattr(uvicorn.Server, "run", run)
    monkeypatch.setattr(importlib.import_module("metajudge.api.logs"), "configure_logs", lambda **_: None)
    monkeypatch.chdir(tmp_path)
    for name in ("API_KEY", "STORE", "SETTINGS", "CONFIG", "ALLOWED_HOSTS"):
        monkeypatch.delenv(f"METAJUDGE_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def started(*arguments):
    return CliRunner().invoke(app, ["serve", *arguments])


def refusal(*arguments):
    """What the command says when it does not start."""
    error = started(*arguments).exception
    assert isinstance(error, ConfigurationError), error
    return str(error)


def test_without_its_extra_packages_it_says_how_to_install_them(monkeypatch):
    monkeypatch.delitem(sys.modules, "metajudge.api.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert re.search(r"needs extra packages \(uvicorn\): .*api", refusal())


def test_a_setting_that_the_file_does_not_know_is_refused():
    with pytest.raises(ValueError, match="prot"):
        server.run([], lambda _file, _flags: panel_config({}), prot=1)


OPEN, STARTS = "opens the service to the network: set METAJUDGE_API_KEY", "would have started"
OF_AGENT, TOO_WEAK = "the key of agent .* is a placeholder", "placeholder or shorter"
MODEL = ("--agent", "openai:gpt-4o-mini")


@pytest.mark.parametrize(
    ("environ", "arguments", "said"),
    [
        ({}, (), STARTS),
        *(
            ({}, ("--host", host), OPEN)
            for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", "localhost.example.org")
        ),
        ({"METAJUDGE_API_KEY": GOOD}, ("--host", "0.0.0.0"), STARTS),
        ({"OPENAI_API_KEY": "your-openai-key"}, MODEL, OF_AGENT),
        ({"OPENAI_API_KEY": "sk-proj-3f9a8c7e6d5b4a3f2e1d0c9b"}, MODEL, STARTS),
        ({"OPENAI_API_KEY": "changeme"}, ("--agent", "openai:m@http://127.0.0.1:9"), STARTS),
        *(
            ({"METAJUDGE_API_KEY": key}, arguments, TOO_WEAK)
            for arguments in ((), ("--host", "0.0.0.0"))
            for key in (
                *("changeme", "Secret", "short-key", "change-me-please-change-me", "your-api-key-goes-here"),
                *("replace-with-a-long-key", "<put the key here please>", "${METAJUDGE_API_KEY_HERE}", "x" * 32),
                *("sk-placeholder-0123456789", "insert-your-secret-key-here", "example-0123456789-key"),
            )
        ),
    ],
)
def test_it_starts_with_real_keys_and_open_to_the_network_only_with_one(monkeypatch, environ, arguments, said):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    error = started(*arguments).exception
    assert re.search(said, str(error))
    assert isinstance(error, AssertionError if said is STARTS else ConfigurationError)


def test_what_its_file_says_is_checked_too(tmp_path):
    digests = map(keys.hashed, ("changeme", "PASSWORD", "secret"))
    weak = (f'[[service.keys]]\nname = "a"\nsha256 = "{one}"\nscopes = ["vet"]\n' for one in digests)
    for text, said in (('[service]\nhost = "0.0.0.0"\n', OPEN), *((one, "placeholder") for one in weak)):
        (tmp_path / "s.toml").write_text(text)
        assert said in refusal("--config", "s.toml")


def test_a_placeholder_for_the_webhooks_secret():
    settings = replace(Settings.load(environ={"HOME": "/nowhere"}), webhook_secret="replace-me")
    with pytest.raises(ConfigurationError, match="METAJUDGE_WEBHOOK_SECRET"):
        server.check_provider_keys([panel_config({})], settings)


class TestAllowedHosts:
    @pytest.fixture
    def options(self, monkeypatch):
        """The options of a service that was about to start."""
        made = []
        application = importlib.import_module("metajudge.api.app")
        build = application.create_app
        monkeypatch.setattr(application, "create_app", lambda given, **rest: made.append(given) or build(given, **rest))
        return made

    def test_flags_win_over_the_file_and_the_file_over_the_environment(self, options, monkeypatch, tmp_path):
        (tmp_path / "s.toml").write_text('[service]\nallowed_hosts = ["File.example"]\n')
        monkeypatch.setenv("METAJUDGE_ALLOWED_HOSTS", "env.example, ::1")
        started("--config", "s.toml", "--allowed-host", "flag.example", "--allowed-host", "b.example")
        started("--config", "s.toml")
        started()
        found = [one.allowed_hosts for one in options]
        assert found == [("flag.example", "b.example"), ("file.example",), ("env.example", "::1")]

    def test_what_is_no_name_is_refused_with_its_place(self, monkeypatch, tmp_path):
        assert "--allowed-host: '*' is not a host name" in refusal("--allowed-host", "*")
        (tmp_path / "s.toml").write_text('[service]\nallowed_hosts = ["http://a"]\n')
        assert "s.toml: service.allowed_hosts: 'http://a'" in refusal("--config", "s.toml")
        monkeypatch.setenv("METAJUDGE_ALLOWED_HOSTS", "a:80")
        assert "METAJUDGE_ALLOWED_HOSTS: 'a:80'" in refusal()


class TestFactory:
    def test_it_always_demands_a_key(self):
        with pytest.raises(ConfigurationError, match="set METAJUDGE_API_KEY"):
            server.app()

    def test_it_reads_its_file_from_the_environment(self, monkeypatch, tmp_path):
        (tmp_path / "p.toml").write_text('rubric = "baseline"\n')
        (tmp_path / "s.toml").write_text('[service]\nmax_body_mb = 1\n[service.panels]\nmine = "p.toml"\n')
        monkeypatch.setenv("METAJUDGE_CONFIG", str(tmp_path / "s.toml"))
        monkeypatch.setenv("METAJUDGE_API_KEY", GOOD)
        assert server.app().title == "metajudge"

    def test_a_file_that_is_not_there(self, monkeypatch):
        monkeypatch.setenv("METAJUDGE_CONFIG", "nowhere.toml")
        with pytest.raises(ConfigurationError, match=r"nowhere\.toml"):
            server.app()


class TestServiceFile:
    def written(self, tmp_path, text):
        path = tmp_path / "service.toml"
        path.write_text(text)
        return path

    def test_paths_are_relative_to_it(self, tmp_path):
        path = self.written(tmp_path, '[service]\nstore = "a.duckdb"\n[service.limits]\nin_flight = 3\n')
        file = options_module.load_service_file(path)
        assert file.store == tmp_path / "a.duckdb"
        assert file.limits.in_flight == 3

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[service]\nstroe = 1\n", "service.stroe"),
            ("[service.limits]\nin_flight = 0\n", "in_flight"),
            ("[service.limits]\nin_flihgt = 1\n", "in_flihgt"),
            ('[[service.keys]]\nname = "a"\nsha256 = "b"\nscopes = ["vet"]\n', "sha256"),
            (f'[[service.keys]]\nname = "a"\nsha256 = "{"ab" * 32}"\nscopes = ["fly"]\n', "scopes"),
            ('[service]\ncors_origins = ["*"]\n', "cors_origins"),
            ("[service]\n[other]\n", "unknown tables other"),
            ("[service\n", "not valid TOML"),
            ("service = 3\n", "table"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path, text, said):
        with pytest.raises(ConfigurationError, match=said):
            options_module.load_service_file(self.written(tmp_path, text))

    def test_a_new_key_fits_the_file(self, tmp_path):
        key, lines = server.new_key_lines('c"i', ["vet"])
        file = options_module.load_service_file(self.written(tmp_path, lines))
        ring = keys.KeyRing([keys.ApiKey(**dict(one)) for one in file.keys])
        assert ring.caller(key).name == 'c"i'
        assert ring.caller(key + "x") is None
        assert key not in lines

    def test_two_services_files_are_one_too_many(self, tmp_path):
        self.written(tmp_path, "[service]\n")
        assert "give one" in refusal("--config", "service.toml", "--config", "service.toml")


@pytest.mark.slow
class TestProcesses:
    def serve(self, folder, *arguments):
        command = [sys.executable, "-m", "metajudge", "serve", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)

    def test_a_file_that_is_no_store_is_said_in_one_line_with_exit_code_2(self, tmp_path):
        (tmp_path / "s.db").write_bytes(b"something else")
        done = self.serve(tmp_path, "--port", "0", "--store", "s.db")
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("metajudge: ")
        assert "Traceback" not in done.stderr

    def test_what_it_creates_is_for_its_own_user_alone(self, tmp_path):
        with process(tmp_path) as (_, client):
            assert client.get("/readyz").status_code == 200
            made = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir() if ".duckdb" in path.name}
        assert "s.duckdb" in made
        assert not any(made.values()), made

    def test_a_port_in_use_is_said_with_exit_code_2(self, tmp_path):
        with process(tmp_path) as (_, client):
            second = self.serve(tmp_path, "--port", str(client.base_url.port))
        assert second.returncode == 2
        assert "try another --port" in second.stderr
