"""The operations of the fault campaign: how each is started, and what it left behind by item."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .measuring import METAJUDGE, Process, free_port, listening

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


@dataclass(frozen=True)
class Operation:
    """One thing users do: a command in a folder, against a server of models.

    Attributes:
        prepare: writes the input into a folder and returns the ids of its items.
        words: of the command, given the server's URL.
    """

    name: str
    prepare: Callable[[Path], list[str]]
    words: Callable[[str], list[str]]
    outcomes: Callable[[Path], Outcomes]

    def command(self, url: str) -> list[str]:
        """Metajudge in a process of its own."""
        return command(*self.words(url))

    def run(self, folder: Path, url: str) -> int:
        """Does it; returns the exit code."""
        return execute(folder, self.command(url))


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
    return lines_of(path.read_text("utf-8")) if path.exists() else []


def lines_of(text: str) -> list[Any]:
    """Records of JSONL."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def gathered(results: Iterable[tuple[str, Any, bool]]) -> Outcomes:
    """Outcomes by item, given its name, its result and whether that says that something failed."""
    found: Outcomes = {}
    for name, result, failed in results:
        found.setdefault(name, []).append(ItemResult(plain(result), failed))
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


def _assessed(assessments: Iterable[Mapping[str, Any]]) -> Outcomes:
    return gathered(
        (one["judgment_id"], one, one["status"] != "assessed" or any(agent["failure"] for agent in one["agents"]))
        for one in assessments
    )


VET = Operation(
    "vet",
    _judgments,
    lambda url: ["vet", "judgments.jsonl", *agents(url), "--no-early-exit", "--out", "out.jsonl"],
    lambda folder: _assessed(lines(folder / "out.jsonl")),
)


def _items(folder: Path) -> list[str]:
    items = [_judgment(number)["item"] for number in range(ITEMS)]
    _write(folder / "items.jsonl", items)
    return [f"{item['id']}/a/{order}" for item in items for order in ("given", "swapped")]


def _judge_outcomes(folder: Path) -> Outcomes:
    judged = [(one["id"], one, one.get("verdict") is None) for one in lines(folder / "out.jsonl")]
    return gathered([*judged, *((one["judgment_id"], one, True) for one in lines(folder / "out.jsonl.failures.jsonl"))])


JUDGE = Operation(
    "judge",
    _items,
    lambda url: ["judge", "items.jsonl", "--judge", f"a=openai:gpt-4o-mini@{url}", "--out", "out.jsonl"],
    _judge_outcomes,
)


def _prompts(folder: Path) -> list[str]:
    items = [{**_judgment(number)["item"], "label": None} for number in range(ITEMS // 2)]
    for item in items:
        item["responses"]["C"] = "no idea"
        del item["label"]
    _write(folder / "prompts.jsonl", items)
    return [str(item["id"]) for item in items]


def _clash(url: str) -> list[str]:
    models = (f"a=openai:gpt-4o-mini@{url}", f"b=openai:gpt-4o@{url}", f"c=anthropic:claude-sonnet-4-5@{url}")
    judges = [part for model in models for part in ("--judge", model)]
    return ["clash", "prompts.jsonl", "--responses", "given", *judges, "--out", "out.jsonl"]


def _clash_outcomes(folder: Path) -> Outcomes:
    newest = {one["evaluation"]: one for one in lines(folder / "out.jsonl")}  # attempts are appended, the last counts
    return gathered(
        (one["item_id"], one, one["status"] == "error" or any(vote.get("failure") for vote in one["votes"]))
        for one in newest.values()
    )


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


def _bench_outcomes(folder: Path) -> Outcomes:
    found = lines(folder / "scores.jsonl")
    return gathered((one["judgment_id"], one, one["final_score"] is None or one["renormalised"]) for one in found)


BENCH = Operation(
    "bench",
    _benchmark,
    lambda url: [
        *("bench", "judgebench", "--data", "data", *agents(url), "--scores", "scores.jsonl"),
        *("--json-out", "found.json"),
    ],
    _bench_outcomes,
)


def _export_input(folder: Path) -> list[str]:
    names = _judgments(folder)
    execute(folder, command("vet", "judgments.jsonl", "--out", "out.jsonl"))  # by free evidence, no model
    return names


def _export_outcomes(folder: Path) -> Outcomes:
    rows = [row for part in sorted((folder / "exported").rglob("*.jsonl")) for row in lines(part)]
    return gathered((json.dumps(row.get("item_id") or row), row, False) for row in rows)


EXPORT = Operation(
    "export",
    _export_input,
    lambda _: ["export", "preferences", "--all", "--format", "jsonl", "--out", "exported"],
    _export_outcomes,
)


def ask(port: int, path: str, body: bytes | None = None, kind: str = "application/x-ndjson") -> Any:
    """One request to the service: lines where it answers with lines, else JSON."""
    headers = {"accept": "application/x-ndjson, application/json"} | ({"content-type": kind} if body else {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
        return lines_of(text) if "ndjson" in answer.headers["content-type"] else json.loads(text)


@contextmanager
def serving(folder: Path, url: str) -> Iterator[tuple[Process, int]]:
    """The service on a free port, once it listens: its process and the port."""
    port = free_port()
    words = [*METAJUDGE, "serve", "--port", str(port), "--store", str(folder / "store.db"), *agents(url)]
    with listening(words, port, folder / "log.txt", folder, environment()) as process:
        yield process, port


class ServiceJob(Operation):
    """The same by a job of the service."""

    def run(self, folder: Path, url: str) -> int:
        """Starts the service, sends the judgments and waits for the job."""
        with serving(folder, url) as (_, port):
            return results_of(port, start_job(port, folder), folder)


def start_job(port: int, folder: Path) -> str:
    """Sends the judgments of a folder; returns the job's id."""
    return str(ask(port, "/v1/vet/batch", (folder / "judgments.jsonl").read_bytes())["job_id"])


def results_of(port: int, job: str, folder: Path) -> int:
    """Waits until a job has ended, a minute at most, and keeps its results; 0 where it is done."""
    deadline = time.monotonic() + 60
    while True:
        state = str(ask(port, f"/v1/jobs/{job}")["state"])
        if state in {"done", "failed", "cancelled"} or time.monotonic() > deadline:
            _write(folder / "out.jsonl", ask(port, f"/v1/jobs/{job}/results"))
            return 0 if state == "done" else 1
        time.sleep(0.1)


JOB = ServiceJob(
    "service job",
    _judgments,
    VET.words,
    lambda folder: _assessed(one.get("assessment", one) for one in lines(folder / "out.jsonl")),
)

OPERATIONS = (VET, JUDGE, CLASH, BENCH, JOB)
"""What asks models; :data:`EXPORT` does not."""
