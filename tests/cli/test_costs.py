"""What a command costs before it works: CPU of imports, as a ratio measured in one run, and which packages are loaded."""

import json
import os
import resource
import subprocess
import sys

import pytest

from metajudge.readers import write_jsonl
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

TAKEN = 5
VET_NEEDS = "typer, rich.console, rich.table, pydantic, numpy, duckdb, orjson, yaml, jinja2, uvloop, asyncio, sqlite3"
"""The packages of ``metajudge vet`` without agents."""

VET_RATIO = 2.5
"""Own modules take about as much as the packages do."""

HEAVY = ("openai", "anthropic", "aiohttp", "httpx2", "sklearn", "scipy.stats", "scipy.optimize", "pandas", "xllamacpp")
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
        (tmp_path / "metajudge.duckdb").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, *map(str, words)], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done

    return python


def cpu_s(run, *words):
    """The least CPU time of several runs, after one that fills the cache of byte code."""
    run(*words)
    found = []
    for _ in range(TAKEN):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(found)


@pytest.mark.slow
def test_help_takes_at_most_twice_the_cpu_of_importing_typer_and_rich(run):
    assert cpu_s(run, "-m", "metajudge", "--help") <= 2 * cpu_s(run, "-c", "import typer, rich")


@pytest.mark.slow
def test_vet_without_agents_stays_near_the_cpu_of_importing_its_packages(run):
    # One after the other, several times: what else the machine does then falls on both.
    pairs = [
        (cpu_s(run, "-m", "metajudge", "vet", "one.jsonl"), cpu_s(run, "-c", f"import {VET_NEEDS}")) for _ in range(3)
    ]
    assert min(spent for spent, _ in pairs) <= VET_RATIO * min(least for _, least in pairs)


def loaded(run, *words):
    done = run("-c", LOADED, ",".join(HEAVY), *words)
    return set(json.loads(done.stderr.splitlines()[-1].replace("'", '"')))


@pytest.mark.slow
def test_vet_without_agents_loads_no_sdk_and_no_statistics_package(run):
    assert loaded(run, "vet", "one.jsonl") == set()


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "other"), [("openai", "anthropic"), ("anthropic", "openai")])
def test_with_one_agent_the_sdk_of_its_provider_is_loaded_and_no_other(run, provider, other):
    with LLMServer(answer=score_answer(5)) as server:
        found = loaded(run, "vet", "one.jsonl", "--agent", f"a={provider}:gpt-4o-mini@{server.url}")
    assert provider in found
    assert found.isdisjoint({other, "sklearn", "scipy.stats", "scipy.optimize", "pandas", "xllamacpp"})
