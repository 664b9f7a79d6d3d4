"""Which packages a command loads before it works; ``metajudge bench perf start`` measures what that takes."""

import json
import os
import subprocess
import sys

import pytest

from metajudge.readers import write_jsonl
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

HEAVY = (
    *("openai", "anthropic", "aiohttp", "httpx2", "genai_prices", "sklearn", "scipy.stats", "scipy.optimize"),
    *("pandas", "pyarrow", "fastapi", "starlette", "matplotlib"),
)
LIGHT = ("numpy", "duckdb", "pydantic_core", "rich", "jinja2", "yaml", "uvloop", "scipy")
LOADED = """
import sys
from metajudge.cli.boundary import guarded
code = guarded(sys.argv[2:])
print([name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def run(tmp_path):
    """Runs Python in a folder with one judgment, with byte code that is kept from run to run."""
    write_jsonl(tmp_path / "one.jsonl", [judgment("j")])
    dropped = {"PYTHONDONTWRITEBYTECODE", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def python(*words):
        (tmp_path / "metajudge.db").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, *map(str, words)], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done

    return python


def loaded(run, *words):
    done = run("-c", LOADED, ",".join((*HEAVY, *LIGHT)), *words)
    return set(json.loads(done.stderr.splitlines()[-1].replace("'", '"')))


@pytest.mark.slow
def test_vet_without_agents_loads_nothing_that_sends_and_no_statistics_package(run):
    assert loaded(run, "vet", "one.jsonl").isdisjoint(HEAVY)


def test_help_loads_no_package_but_those_that_print_it(run):
    assert loaded(run, "--help") <= {"pydantic_core"}


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_with_an_agent_its_own_sdk_is_loaded_and_no_other(run, provider):
    with LLMServer(answer=score_answer(5)) as server:
        found = loaded(run, "vet", "one.jsonl", "--agent", f"a={provider}:gpt-4o-mini@{server.url}")
    assert found.intersection(HEAVY) <= {"aiohttp", "genai_prices", "httpx2", provider}
    assert {"aiohttp", provider} <= found
