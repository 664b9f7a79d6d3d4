"""What a user sees of every fault of a model: exit code, status, kind of failure, requests sent, state of the cost.

Every fault meets every operation three times: at every request, then the same command again without it, and (slow) at the
first request to each model only. Waits between attempts pass at once; those of the service do not (slow).
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metajudge.panels.config import panel_config
from tests.api.conftest import app_module, running
from tests.doubles.llm_server import FAULTS, LLMServer
from tests.edges.quick_time import quick_time
from tests.edges.recorded import check
from tests.stored.commands import DATA, answer, inside, run

MODELS = ("a=openai:gpt-4o-mini@{}", "b=openai:gpt-4o@{}", "c=anthropic:claude-sonnet-4-5@{}")
PEERS = ("ant=openai:ant@{}", "bee=openai:bee@{}", "cat=anthropic:cat@{}")
LIMIT = ("--limit", "1", "--json")

OPERATIONS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "vet_one": (("vet", "judgments.jsonl", *LIMIT, "--out", "out.jsonl"), "--agent", MODELS[:1]),
    "vet_three": (("vet", "judgments.jsonl", *LIMIT, "--no-early-exit", "--out", "out.jsonl"), "--agent", MODELS),
    "judge": (("judge", "items.jsonl", *LIMIT, "--orders", "given", "--out", "out.jsonl"), "--judge", MODELS[:1]),
    "clash": (("clash", "items.jsonl", *LIMIT, "--responses", "given", "--out", "out.jsonl"), "--judge", MODELS),
    "case": (("case", "cases.jsonl", *LIMIT, "--concurrency", "1", "--out", "out.jsonl"), "--judge", MODELS[:1]),
    "peers": (
        *(("peers", "--questions", "questions.jsonl", *LIMIT, "--resamples", "0", "--out", "out.jsonl"),),
        *("--model", PEERS),
    ),
}
"""Name -> the command, the option that names a model, the models."""

WRITTEN = ("out.jsonl", "out.jsonl.failures.jsonl", "out.answers.jsonl")

OVER_HTTP = ("401", "404", "400-context", "refusal", "malformed_content", "no_usage")
RETRIED_OVER_HTTP = ("429", "500", "drop", "html", "empty_content")

TOLD = {
    *("status", "kind", "action", "calls", "cached_calls", "failed_calls", "end", "replied", "skipped", "winner"),
    *("judgments", "without_verdict", "assessed", "unscored", "failed", "verdict", "attempt", "score", "final_score"),
}
COUNTED = {"failures", "unscored_failures", "agent_failures", "actions"}
TRIED = {"calls", "requests", "failed_calls"}
COSTS = {"cost_usd", "known_cost_usd"}
LEFT = {
    *("item", "usage", "meta", "candidates", "criteria", "labels", "reports", "standings", "people", "order", "gate"),
    *("scores", "evaluations"),
}


class Faulty:
    """A server of models with one fault at a time."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self.only_first = False
        self._met: set[str] = set()
        self.server = LLMServer(answer, faults=self._fault_of, slow_s=0.2)

    def plan(self, fault: str | None, *, only_first: bool = False) -> None:
        self.fault, self.only_first, self._met = fault, only_first, set()

    def _fault_of(self, request: Any) -> str | None:
        model = str(request.body.get("model"))
        is_first = model not in self._met
        self._met.add(model)
        if model.startswith("fault "):
            return model.removeprefix("fault ")
        return self.fault if is_first or not self.only_first else None


@pytest.fixture(scope="module")
def faulty():
    made = Faulty()
    with made.server, quick_time(lambda: made.server.in_flight > 0):
        yield made


def said(value: Any) -> Any:
    """What of a record is typed: states, kinds, counts; of costs, whether they are known."""
    if isinstance(value, list):
        return [one for one in map(said, value) if one not in ({}, [], None)]
    if not isinstance(value, dict):
        return None
    found = {}
    for name, one in value.items():
        if name in TOLD | COUNTED:
            found[name] = said(one) if isinstance(one, dict | list) and name in TOLD else one
        elif name in COSTS:
            found[name] = "unknown" if one is None else "known" if one else "nothing"
        elif name not in LEFT and (inner := said(one)):
            found[name] = inner
    return found


def outcome(folder: Path, words: tuple[str, ...], server: LLMServer) -> dict[str, Any]:
    before = server.count
    done = run(*words)
    found: dict[str, Any] = {"exit": done.code, "requests": server.count - before}
    try:
        found["told"] = said(json.loads(done.stdout))
    except ValueError:
        found["told"] = "no document"
    assert "Traceback" not in done.stderr
    for name in WRITTEN:
        if (folder / name).exists():
            rows = [said(json.loads(line)) for line in (folder / name).read_text("utf-8").splitlines()]
            found[name] = sorted(rows, key=json.dumps)  # some are written as they come
    return found


def command(operation: str, url: str) -> tuple[str, ...]:
    words, option, models = OPERATIONS[operation]
    return (*words, *(part for model in models for part in (option, model.format(url))))


def by_fault(tmp_path: Path, faulty: Faulty, operation: str, act: Callable[[Path, tuple[str, ...]], Any]) -> Any:
    """What an operation does under each fault, each in an empty folder."""
    found = {}
    for fault in FAULTS:
        folder = tmp_path / fault
        folder.mkdir()
        for path in DATA.glob("*s.jsonl"):
            shutil.copy(path, folder)
        faulty.plan(fault)
        with inside(folder, faulty.server.url):
            os.environ["OPENAI_API_KEY"] = "none"
            found[fault] = act(folder, command(operation, faulty.server.url))
    return found


def steady(found: Any) -> Any:
    """The same with ``many`` for counts of calls that are tried until the time is up: jitter decides how many."""
    if isinstance(found, list):
        return [steady(one) for one in found]
    if not isinstance(found, dict):
        return found
    return {
        name: "many" if name in TRIED and type(one) is int and one > 4 else steady(one) for name, one in found.items()
    }


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_fault_at_every_request_and_the_same_command_again_without(operation, faulty, tmp_path):
    def act(folder: Path, words: tuple[str, ...]) -> Any:
        first = outcome(folder, words, faulty.server)
        faulty.plan(None)
        again = outcome(folder, words, faulty.server)
        return {"first": first, "again": {name: again[name] for name in ("exit", "requests")}}

    check(f"faults/{operation}.always", steady(by_fault(tmp_path, faulty, operation, act)))


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_fault_at_the_first_request_to_each_model(operation, faulty, tmp_path):
    def act(folder: Path, words: tuple[str, ...]) -> Any:
        faulty.plan(faulty.fault, only_first=True)
        return outcome(folder, words, faulty.server)

    check(f"faults/{operation}.once", by_fault(tmp_path, faulty, operation, act))


def over_http(faulty: Faulty, folder: Path, faults: tuple[str, ...]) -> dict[str, Any]:
    """What ``POST /v1/vet`` answers; each fault has an agent of its own, whose model's name says it."""
    judgment = json.loads((DATA / "judgments.jsonl").read_text("utf-8").splitlines()[0])
    model = f"openai:fault {{}}@{faulty.server.url}"
    agents = {fault: [{"name": "a", "model": model.format(fault)}] for fault in faults}
    settings = {"rubric": "baseline", "retry": {"attempts": 6}}
    panels = {fault: panel_config({"agents": agents[fault], **settings}) for fault in faults}
    found = {}
    with inside(folder, faulty.server.url):
        os.environ["OPENAI_API_KEY"] = "none"
        with running(app_module.ServiceOptions(panels=panels, store=folder / "s.duckdb")) as client:
            for fault in faults:
                before = faulty.server.count
                done = client.post("/v1/vet", json={"judgment": judgment, "panel": fault}, timeout=60)
                sent = faulty.server.count - before
                found[fault] = {"status": done.status_code, "requests": sent, "body": said(done.json())}
    return found


def test_a_fault_over_http(faulty, tmp_path):
    check("faults/http_vet", over_http(faulty, tmp_path, OVER_HTTP))


@pytest.mark.slow
def test_a_fault_over_http_that_is_tried_again(faulty, tmp_path):
    check("faults/http_vet_retried", over_http(faulty, tmp_path, RETRIED_OVER_HTTP))
