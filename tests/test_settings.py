"""Keys and the store's place, from the environment and a file."""

from dataclasses import replace

import pytest

from metajudge.errors import ConfigurationError
from metajudge.providers.spec import parse_agent_spec
from metajudge.settings import Settings

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def home(tmp_path):
    return {"HOME": str(tmp_path / "home")}


def settings_file(tmp_path, text, mode=0o600):
    path = tmp_path / "settings.toml"
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


def test_with_nothing_set_there_is_a_default_store_and_no_key(home):
    settings = Settings.load(environ=home)
    assert str(settings.store) == "metajudge.db"
    assert str(settings.file).endswith(".config/metajudge/settings.toml")
    with pytest.raises(ConfigurationError, match=r"set OPENAI_API_KEY, or write openai = .* in .*settings\.toml"):
        settings.key_for(parse_agent_spec("openai:gpt-4o"))


def test_the_environment_wins_over_the_file(home, tmp_path):
    path = settings_file(tmp_path, 'store = "a.duckdb"\n[keys]\nopenai = "from-file"\ngroq = "groq-file"\n')
    environ = home | {"OPENAI_API_KEY": "from-env", "METAJUDGE_SETTINGS": str(path), "METAJUDGE_STORE": "b.duckdb"}
    settings = Settings.load(environ=environ)
    assert str(settings.store) == "b.duckdb"
    assert settings.key_for(parse_agent_spec("openai:m")) == "from-env"
    assert settings.key_for(parse_agent_spec("groq:m")) == "groq-file"
    assert str(Settings.load(path, environ=home).store) == "a.duckdb"


@pytest.mark.parametrize(
    "agent",
    ["ollama:llama3", "openai:m@http://127.0.0.1:8000", "anthropic:m@http://localhost:1", "vllm:m@http://gpu:8000"],
)
def test_a_key_is_optional_on_this_machine_and_for_servers_that_run_without_one(home, agent):
    assert Settings.load(environ=home).key_for(parse_agent_spec(agent)) is None
    environ = home | dict.fromkeys(("OLLAMA_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "VLLM_API_KEY"), KEY)
    assert Settings.load(environ=environ).key_for(parse_agent_spec(agent)) == KEY


def test_an_empty_variable_is_no_key(home):
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        Settings.load(environ=home | {"OPENAI_API_KEY": " "}).key_for(parse_agent_spec("openai:m"))


def test_keys_are_not_in_the_repr(home, tmp_path):
    path = settings_file(tmp_path, f'service_key = "{KEY}"\n[keys]\nopenai = "{KEY}"\n')
    settings = Settings.load(path, environ=home | {"GROQ_API_KEY": KEY, "METAJUDGE_API_KEY": KEY})
    assert settings.service_key == KEY
    assert KEY not in repr(settings) + str(settings)


@pytest.mark.parametrize(("mode", "warned"), [(0o600, 0), (0o640, 1), (0o604, 1)])
def test_a_file_that_others_can_read_is_warned_about(home, tmp_path, mode, warned):
    path = settings_file(tmp_path, f'[keys]\nopenai = "{KEY}"\n', mode)
    assert len(Settings.load(path, environ=home).warnings) == warned
    harmless = settings_file(tmp_path, 'store = "a.duckdb"\n', mode)
    assert Settings.load(harmless, environ=home).warnings == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[keys\n", "not valid TOML"),
        ("[key]\nopenai = 'x'\n", "unknown settings: key"),
        ("keys = 3\n", "must be a table"),
        ("[keys]\nopnai = 'x'\n", "did you mean 'openai'"),
        ("[keys]\nopenai = 3\n", "key of openai must be a non-empty text"),
        ("[keys]\nopenai = ''\n", "key of openai must be a non-empty text"),
        ("store = 3\n", "store must be a text"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_where_and_what(home, tmp_path, text, said):
    path = settings_file(tmp_path, text)
    with pytest.raises(ConfigurationError, match=said) as refused:
        Settings.load(path, environ=home)
    assert str(path) in str(refused.value)


def test_a_file_that_is_named_must_exist_and_be_a_text(home, tmp_path):
    path = tmp_path / "settings.toml"
    with pytest.raises(ConfigurationError, match="no settings file"):
        Settings.load(environ=home | {"METAJUDGE_SETTINGS": str(path)})
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="cannot read"):
        Settings.load(path, environ=home)


def test_a_key_may_stand_in_a_variable_of_the_panel_files_choice(home):
    spec = parse_agent_spec("critic=openai:gpt-4o")
    settings = Settings.load(environ={**home, "TEAM_KEY": f" {KEY}\n"})
    assert settings.key_for(replace(spec, key_variable="TEAM_KEY")) == KEY
    for missing in ("OTHER_KEY", "EMPTY"):
        with pytest.raises(ConfigurationError, match=f"agent 'critic' needs its key in {missing}: set that variable"):
            settings.key_for(replace(spec, key_variable=missing))
