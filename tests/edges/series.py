"""Series of commands in one folder, as the tables list them, and what came of them."""

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from tests.doubles.hosted_systems import ArgillaServer, LangfuseServer, LangSmithServer
from tests.doubles.verdict_systems import MLflowServer, PhoenixServer
from tests.doubles.webhook_receiver import Receiver
from tests.edges import inputs
from tests.edges.commands import told
from tests.stored.commands import answer as models_answer
from tests.stored.commands import inside, run

SERVERS: Mapping[str, Callable[[], Any]] = {
    "mlflow": MLflowServer,
    "phoenix": PhoenixServer,
    "langfuse": LangfuseServer,
    "langsmith": LangSmithServer,
    "argilla": ArgillaServer,
    "hook": Receiver,
}
"""What ``$mlflow`` and so on stand for in a command: the address of a double."""

_FROM = re.compile(r"\$(\w+)((?:\.\w+)*)")


@dataclass(frozen=True)
class Series:
    """Commands in one folder, each one line as a user types it, and ``>> FILES`` that it writes.

    Of a command with ``~`` before it only the exit code is kept. In a command ``$0.reviews.1.review_id`` is what the first command printed there with ``--json``, ``$mlflow`` the
    address of a double, and ``$data`` the folder that METAJUDGE_DATA names. Files of :mod:`tests.edges.inputs` are
    written before the first command that names them.

    Args:
        steps: the commands, without ``metajudge``.
        inputs: files that no command names but a file does.
        tolerance: how far floats may lie apart; fits end within 1e-8 of each other on other machines.
        slow: takes more than a second or two.
        edits: name of a file -> what is made of its text before the command after the one that wrote it.
        environment: further variables of the environment.
        part: what of an outcome is the same on every machine; all of it, if not given.
    """

    steps: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    tolerance: float = 1e-9
    slow: bool = False
    edits: Mapping[str, Callable[[str], str]] | None = None
    environment: Mapping[str, str] | None = None
    part: Callable[[dict[str, Any]], dict[str, Any]] = dict

    @property
    def needs_data(self) -> bool:
        """Whether it reads the recorded benchmarks."""
        return any("$data" in step for step in self.steps)


def series(*steps: str, **options: Any) -> Series:
    """A series of commands."""
    return Series(steps, **options)


NOWHERE = "http://127.0.0.1:9"
_AWAY = {
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "HTTPS_PROXY": NOWHERE,
    "https_proxy": NOWHERE,
    "PIP_RETRIES": "0",
    "PIP_NO_INDEX": "1",
    "PIP_INDEX_URL": NOWHERE,
    "UV_OFFLINE": "1",
    "UV_INDEX_URL": NOWHERE,
}
"""No command prints wider or in colour on some machine, and none reaches the network."""


def one_at_a_time(given: Series) -> Series:
    """The same with one call in flight at a time: some texts name the judgment that was answered first."""
    return replace(given, steps=tuple(_one_call(step) if step.startswith("vet ") else step for step in given.steps))


def _one_call(step: str) -> str:
    command, mark, files = step.partition(" >> ")
    return step if "--concurrency" in command else f"{command} --concurrency 1{mark}{files}"


FIT = 1e-6
"""Tolerance of what follows from a fit."""


def outcomes(given: Series, folder: Path, proxy: str) -> list[dict[str, Any]]:
    """Runs the commands one after another, and says what came of each."""
    for name in given.inputs:
        inputs.write(folder, name)
    edits = dict(given.edits or {})
    said: list[Any] = []
    found: list[dict[str, Any]] = []
    environment = {**_AWAY, **(given.environment or {})}
    data = os.environ.get("METAJUDGE_DATA", "")
    with ExitStack() as open_servers, inside(folder, proxy), mock.patch.dict(os.environ, environment):
        servers = _Servers(open_servers)
        for step in given.steps:
            command, _, files = step.removeprefix("~").partition(" >> ")
            words = [_filled(word, said, servers, data) for word in shlex.split(command)]
            for word in words:
                if not (folder / word).exists():
                    inputs.write(folder, word)
                elif word in edits:
                    (folder / word).write_text(edits.pop(word)((folder / word).read_text("utf-8")), "utf-8")
            done = run(*words)
            said.append(_json(done.stdout))
            outcome = _ordered(told(done, folder, shlex.split(command), files.split()))
            found.append(given.part({"exit": done.code} if step.startswith("~") else outcome))
    return found


def _ordered(value: Any) -> Any:
    """The same with notices and calls in alphabetical order, since they come as replies arrive, and no id of a run."""
    if isinstance(value, dict):
        return {name: _ordered_field(name, one) for name, one in value.items()}
    return [_ordered(one) for one in value] if isinstance(value, list) else value


def _ordered_field(name: str, value: Any) -> Any:
    if name == "next" and isinstance(value, str) and value.startswith("metajudge show "):
        return "metajudge show *"
    if name == "call_id" or (name in _RUNS and isinstance(value, str) and _RUN.fullmatch(value)):
        return "*"
    found = _ordered(value)
    return sorted(found, key=json.dumps) if name in ("notices", "calls") and isinstance(found, list) else found


_RUNS = ("run", "Run", "first", "second")
_RUN = re.compile(r"[0-9a-f]{12}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _filled(word: str, said: list[Any], servers: "_Servers", data: str) -> str:
    def value(match: re.Match[str]) -> str:
        name, path = match.groups()
        if name == "data":
            return data
        if not name.isdigit():
            return servers.url(name)
        found = said[int(name)]
        for part in path.split(".")[1:]:
            found = found[int(part)] if part.isdigit() else found[part]
        return str(found)

    return _FROM.sub(value, word)


class _Servers:
    """Doubles, started when a command names them."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._started: dict[str, Any] = {}

    def url(self, name: str) -> str:
        if name not in self._started:
            server: AbstractContextManager[Any] = SERVERS[name]()
            self._started[name] = self._stack.enter_context(server)
            keys = getattr(self._started[name], "keys", None) or {}
            self._stack.enter_context(mock.patch.dict(os.environ, keys))
        return str(self._started[name].url)


def answer(body: dict[str, Any]) -> str:
    """What the models say; one whose name begins with ``refiner`` makes two criteria of two notes."""
    if not str(body["model"]).startswith("refiner"):
        return models_answer(body)
    criteria = [
        {
            "name": name,
            "title": name.title(),
            "description": f"Whether it has {name}.",
            "weight": weight,
            "levels": {str(point): f"{name} at {point}" for point in range(1, 6)},
            "notes": [weight],
        }
        for weight, name in enumerate(("correctness", "clarity"), start=1)
    ]
    slots = {f"c{number}": criteria[number - 1] if number <= len(criteria) else None for number in range(1, 11)}
    return json.dumps({"title": "Judging sums", "description": "What matters.", **slots})
