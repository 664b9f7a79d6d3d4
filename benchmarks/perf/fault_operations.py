"""The operations of the fault campaign: how each is started, and what it left behind by item."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from .measuring import METAJUDGE, free_port

Process: TypeAlias = "subprocess.Popen[bytes]"

VARYING = frozenset(
    {
        *("latency_s", "calls", "cached_calls", "attempts", "cost_usd", "usage", "endpoint", "attempt", "run_id"),
        *("first_token_s", "total_s", "wall_s", "started_at", "finished_at", "panel_digest", "key", "raw_reply"),
        *("request_digest", "prompt_digest", "input_tokens", "output_tokens", "repaired", "replied_at", "seed"),
        *("spent_usd", "replies"),
    }
)
"""Fields in which equal results differ: time, attempts, cost, and where the server listened."""


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What became of one item: its result without what varies, and whether it says that something failed."""

    result: Any
    failed: bool


Outcomes = dict[str, list[ItemResult]]
"""By item, a list so that duplicates show."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing users do.

    Attributes:
        prepare: writes the input into a folder and returns the ids of its items.
        run: does it in that folder against a server; returns the exit code.
    """

    name: str
    prepare: Callable[[Path], list[str]]
    run: Callable[[Path, str], int]
    outcomes: Callable[[Path], Outcomes]


def environment() -> dict[str, str]:
    """The caller's, with keys that the double accepts."""
    return {**os.environ, "OPENAI_API_KEY": "key", "ANTHROPIC_API_KEY": "key", "METAJUDGE_STORE": "store.db"}


def command(*arguments: str) -> list[str]:
    """Metajudge in a process of its own."""
    return [sys.executable, *METAJUDGE, *arguments]


def agents(url: str) -> list[str]:
    """Two meta-judges, one a protocol."""
    return ["--agent", f"a=openai:gpt-4o-mini@{url}", "--agent", f"b=anthropic:claude-sonnet-4-5@{url}"]


def started(folder: Path, arguments: Sequence[str], before: Callable[[], None] | None = None) -> Process:
    """Starts a command in a folder, where its output is kept; ``before`` is called in its process first."""
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(arguments, cwd=folder, env=environment(), stdout=log, stderr=log, preexec_fn=before)


def execute(folder: Path, arguments: Sequence[str], before: Callable[[], None] | None = None) -> int:
    """Runs a command in a folder for at most two minutes."""
    process = started(folder, arguments, before)
    try:
        return process.wait(120)
    finally:
        process.kill()


def plain(value: Any) -> Any:
    """A result without what varies between equal runs."""
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items() if name not in VARYING}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def lines(path: Path) -> list[Any]:
    """The records of a JSONL file; none where it is missing."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def gathered(pairs: Sequence[tuple[str, ItemResult]]) -> Outcomes:
    """Outcomes by item."""
    found: Outcomes = {}
    for name, outcome in pairs:
        found.setdefault(name, []).append(outcome)
    return found


ITEMS = 12


def _judgment(number: int) -> dict[str, Any]:
    item = {
        "id": f"q{number}",
        "question": f"What is {number} + {number}?",
        "responses": {"A": str(2 * number), "B": str(2 * number + 1)},
        "label": "A>B",
    }
    verdict = "A>B" if number % 3 else "B>A"
    return {"id": f"j{number}", "item": item, "judge": "owl", "verdict": verdict, "rationale": f"I added {number}."}


def _write(path: Path, records: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def _judgments(folder: Path) -> list[str]:
    records = [_judgment(number) for number in range(ITEMS)]
    _write(folder / "judgments.jsonl", records)
    return [record["id"] for record in records]


def vet_command(url: str) -> list[str]:
    """A panel of two over the judgments of the folder."""
    return command("vet", "judgments.jsonl", *agents(url), "--no-early-exit", "--out", "out.jsonl")


def _assessed(assessment: Mapping[str, Any]) -> tuple[str, ItemResult]:
    troubled = assessment["status"] != "assessed" or any(one["failure"] for one in assessment["agents"])
    return assessment["judgment_id"], ItemResult(plain(assessment), troubled)


def _vet_outcomes(folder: Path) -> Outcomes:
    return gathered([_assessed(one) for one in lines(folder / "out.jsonl")])


VET = Operation("vet", _judgments, lambda folder, url: execute(folder, vet_command(url)), _vet_outcomes)


def _items(folder: Path) -> list[str]:
    items = [_judgment(number)["item"] for number in range(ITEMS)]
    _write(folder / "items.jsonl", items)
    return [f"{item['id']}/a/{order}" for item in items for order in ("given", "swapped")]


def _judge(folder: Path, url: str) -> int:
    judge = ["--judge", f"a=openai:gpt-4o-mini@{url}", "--out", "out.jsonl"]
    return execute(folder, command("judge", "items.jsonl", *judge))


def _judge_outcomes(folder: Path) -> Outcomes:
    found = [(one["id"], ItemResult(plain(one), one.get("verdict") is None)) for one in lines(folder / "out.jsonl")]
    listed = lines(folder / "out.jsonl.failures.jsonl")
    return gathered([*found, *((one["judgment_id"], ItemResult(plain(one), True)) for one in listed)])


JUDGE = Operation("judge", _items, _judge, _judge_outcomes)


def _prompts(folder: Path) -> list[str]:
    items = [{**_judgment(number)["item"], "label": None} for number in range(ITEMS // 2)]
    for item in items:
        item["responses"]["C"] = "no idea"
        del item["label"]
    _write(folder / "prompts.jsonl", items)
    return [str(item["id"]) for item in items]


def _clash(folder: Path, url: str) -> int:
    models = (f"a=openai:gpt-4o-mini@{url}", f"b=openai:gpt-4o@{url}", f"c=anthropic:claude-sonnet-4-5@{url}")
    judges = [part for model in models for part in ("--judge", model)]
    return execute(folder, command("clash", "prompts.jsonl", "--responses", "given", *judges, "--out", "out.jsonl"))


def _clash_outcomes(folder: Path) -> Outcomes:
    newest = {one["evaluation"]: one for one in lines(folder / "out.jsonl")}  # attempts are appended, the last counts
    return gathered([(one["item_id"], ItemResult(plain(one), _lost_a_vote(one))) for one in newest.values()])


def _lost_a_vote(evaluation: Mapping[str, Any]) -> bool:
    return evaluation["status"] == "error" or any(vote.get("failure") for vote in evaluation["votes"])


CLASH = Operation("clash", _prompts, _clash, _clash_outcomes)


def _benchmark(folder: Path) -> list[str]:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    pairs, games = [], []
    for number in range(ITEMS // 2):
        shared = {"dataset": "judgebench", "item_id": f"p{number}", "label": "A>B"}
        texts = {"question": f"What is {number} + {number}?", "response_a": str(2 * number), "response_b": "none"}
        pairs.append({**shared, **texts, "subset": "made", "category": "Math", "response_model": "writer"})
        for order, decision in (("AB", "A>B"), ("BA", "B>A")):
            outcome = {"decision": decision, "verdict": decision, "judgment_text": f"About {number}: [[{decision}]]"}
            by = {"judge_model": "owl", "judge_prompt": "arena_hard", "order": order}
            games.append({**shared, **outcome, "label": "A>B" if order == "AB" else "B>A", **by})
    _write(data / "pairs.jsonl", pairs)
    _write(data / "judgments.jsonl", games)
    return [f"p{number}/owl/{order}" for number in range(ITEMS // 2) for order in ("AB", "BA")]


def _bench(folder: Path, url: str) -> int:
    options = ["--data", "data", *agents(url), "--scores", "scores.jsonl", "--json-out", "found.json"]
    return execute(folder, command("bench", "judgebench", *options))


def _bench_outcomes(folder: Path) -> Outcomes:
    found = lines(folder / "scores.jsonl")
    pairs = ((one, one["final_score"] is None or one["renormalised"]) for one in found)
    return gathered([(one["judgment_id"], ItemResult(plain(one), troubled)) for one, troubled in pairs])


BENCH = Operation("bench", _benchmark, _bench, _bench_outcomes)


def _export_input(folder: Path) -> list[str]:
    names = _judgments(folder)
    execute(folder, command("vet", "judgments.jsonl", "--out", "out.jsonl"))  # by free evidence, no model
    return names


def export_command(_url: str = "") -> list[str]:
    """All verdicts of the folder's store as preference data."""
    return command("export", "preferences", "--all", "--format", "jsonl", "--out", "exported")


def _export_outcomes(folder: Path) -> Outcomes:
    rows = [row for part in sorted((folder / "exported").rglob("*.jsonl")) for row in lines(part)]
    return gathered([(json.dumps(row.get("item_id") or row), ItemResult(plain(row), False)) for row in rows])


EXPORT = Operation("export", _export_input, lambda folder, _: execute(folder, export_command()), _export_outcomes)


def serve_command(folder: Path, url: str) -> tuple[list[str], int]:
    """The service on a free port."""
    port = free_port()
    return command("serve", "--port", str(port), "--store", str(folder / "store.db"), *agents(url)), port


def ask(port: int, path: str, body: bytes | None = None, kind: str = "application/x-ndjson") -> Any:
    """One request to the service: lines where it answers with lines, else JSON."""
    headers = {"accept": "application/x-ndjson, application/json"} | ({"content-type": kind} if body else {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
        return lines_of(text) if "ndjson" in answer.headers["content-type"] else json.loads(text)


def lines_of(text: str) -> list[Any]:
    """Records of a JSONL answer."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def start_service(folder: Path, url: str) -> tuple[Process, int]:
    """Starts it and waits until it answers.

    Raises:
        SystemExit: it does not within a minute and a half.
    """
    arguments, port = serve_command(folder, url)
    process = started(folder, arguments)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            ask(port, "/healthz")
            return process, port
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    process.kill()
    raise SystemExit(f"the service did not start, see {folder / 'log.txt'}")


def _service_job(folder: Path, url: str) -> int:
    process, port = start_service(folder, url)
    try:
        job = ask(port, "/v1/vet/batch", (folder / "judgments.jsonl").read_bytes())["job_id"]
        state = finished_job(port, job)
        _write(folder / "out.jsonl", ask(port, f"/v1/jobs/{job}/results"))
        return 0 if state == "done" else 1
    finally:
        process.terminate()
        process.wait(20)


def finished_job(port: int, job: str) -> str:
    """Waits until a job has ended, a minute at most; returns its state."""
    deadline = time.monotonic() + 60
    while True:
        state = str(ask(port, f"/v1/jobs/{job}")["state"])
        if state in {"done", "failed", "cancelled"} or time.monotonic() > deadline:
            return state
        time.sleep(0.1)


def _job_outcomes(folder: Path) -> Outcomes:
    return gathered([_assessed(one.get("assessment", one)) for one in lines(folder / "out.jsonl")])


JOB = Operation("service job", _judgments, _service_job, _job_outcomes)

OPERATIONS = (VET, JUDGE, CLASH, BENCH, JOB)
"""What asks models; :data:`EXPORT` does not."""
