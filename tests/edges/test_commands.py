"""What every command does on small inputs, as recorded: exit codes, decisions, figures, and the files it writes."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.doubles.llm_server import LLMServer
from tests.edges import inputs, tables
from tests.edges.recorded import RECORDINGS, check, steady
from tests.edges.series import Series, answer, outcomes
from tests.edges.tree import leaves, options

SHARED = "commands"


@pytest.fixture(scope="module")
def models() -> Iterator[LLMServer]:
    """Models that say the same to the same request."""
    with LLMServer(answer) as server:
        yield server


def _cases() -> list[Any]:
    found = []
    for name, one in tables.ALL.items():
        marks = [pytest.mark.slow] if one.slow or one.needs_data else []
        found.append(pytest.param(name, one, id=name, marks=marks))
    return found


@pytest.mark.parametrize(("name", "given"), _cases())
def test_a_command_does_what_it_did(name: str, given: Series, tmp_path: Path, models: LLMServer) -> None:
    if given.needs_data and not tables.DATA:
        pytest.skip("METAJUDGE_DATA names no folder with recorded judgments")
    check(f"{SHARED}/{name}", outcomes(given, tmp_path, models.url), tolerance=given.tolerance)


def test_every_command_has_a_recording() -> None:
    recorded = {leaf for leaf in leaves() for one in tables.ALL.values() if _shows(one, leaf)}
    assert sorted(" ".join(leaf) for leaf in set(leaves()) - recorded) == []


def test_every_entry_of_the_tables_is_recorded_and_every_recording_has_an_entry() -> None:
    written = {path.relative_to(RECORDINGS / SHARED).with_suffix("").as_posix() for path in _written()}
    assert written - {"options", "mcp_exchange"} == set(tables.ALL)


def test_every_command_has_the_options_it_had() -> None:
    check(f"{SHARED}/options", options())


@pytest.mark.slow
def test_an_assistant_vets_a_verdict_over_mcp(tmp_path: Path) -> None:
    place = tmp_path / "verdicts"
    place.mkdir()
    inputs.write(place, "s6.jsonl")
    check(f"{SHARED}/mcp_exchange", asyncio.run(_exchange(place)))


async def _exchange(place: Path) -> Any:
    words = ["-m", "metajudge", "mcp", "--folder", str(place), "--store", str(place / "store.db")]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(place / "config")}
    server = StdioServerParameters(command=sys.executable, args=words, env=environment, cwd=str(place))
    given = json.loads((place / "s6.jsonl").read_text("utf-8").splitlines()[0])
    async with Client(server) as client:
        tools = sorted(one.name for one in (await client.list_tools()).tools)
        found = await client.call_tool("vet_verdict", {"judgment": given})
        missing = await client.call_tool("audit_file", {"file": "../elsewhere.jsonl"})
    said = steady(json.loads(found.content[0].text), place)
    return {"tools": tools, "vet_verdict": said, "audit_file_elsewhere": {"is_error": bool(missing.is_error)}}


def _shows(given: Series, leaf: tuple[str, ...]) -> bool:
    words = [tuple(step.removeprefix("~").split()) for step in given.steps]
    return any(one[: len(leaf)] == leaf and "--help" not in one for one in words)


def _written() -> list[Path]:
    return sorted((RECORDINGS / SHARED).rglob("*.json"))
