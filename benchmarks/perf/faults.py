"""The fault campaign: what happens to every operation when models, networks, disks and processes fail.

    python -m metajudge bench perf faults [--fault F ...] [--operation O ...] [--json-out OUT] [--markdown OUT]

Runs from a checkout (the failing server is the tests' double). Each operation is run undisturbed once; then, for each
fault, with a third of its requests failing at their first attempt, and once more undisturbed. Counted are items lost
(without result or typed failure), results there twice, requests repeated though they had been answered to the full,
results that differ from the undisturbed run without saying so, and traces shown to a user: all have to be 0.
"""

import hashlib
import importlib
import json
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from .fault_operations import EXPORT, JOB, OPERATIONS, VET, Operation, Outcomes
from .fault_processes import (
    Disturbance,
    end_after,
    fill_disk,
    fill_output,
    forbid_writing,
    jump_clock,
    kill_export,
    kill_service,
    lock_store,
)
from .measuring import JsonOut, keep
from .upstream import instance

CURED = ("429", "429-no-header", "500", "503", "529", "drop", "slow", "truncated_body", "502-html")
"""Faults that a second attempt cures: results have to be equal to the undisturbed run."""

CONTENT = ("truncated_content", "malformed_content", "wrong_schema", "duplicate_criteria", "html")
"""Faults in a reply's content: fixed by one repair, or a typed failure."""

TYPED = ("refusal", "401", "400-context")
"""Faults that asking again does not cure."""


@dataclass(slots=True)
class Cell:
    """What one fault did to one operation.

    Attributes:
        equal: items whose result equals the undisturbed one; ``typed``: items that say what failed.
        repeated: finished calls that were asked again, in the disturbed run and the one after it.
        cured: items equal to the undisturbed run after the same command was given again.
        traces: Python traces that the command line showed to its user.
    """

    fault: str
    operation: str
    items: int
    injected: int = 0
    lost: int = 0
    duplicates: int = 0
    equal: int = 0
    typed: int = 0
    silent: int = 0
    repeated: int = 0
    cured: int = 0
    traces: int = 0
    exits: list[int] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing happened that must not."""
        return not (self.lost or self.duplicates or self.silent or self.repeated or self.traces)


class Server:
    """The tests' double with answers that depend on the question alone, and faults at first attempts.

    Args:
        fault: injected for a third of the requests, None for none.
    """

    def __init__(self, fault: str | None, latency_s: float = 0.0) -> None:
        try:
            double: Any = importlib.import_module("tests.doubles.llm_server")
        except ImportError:
            raise SystemExit("run this from a checkout: python -m metajudge bench perf faults") from None
        self._schema = double.requested_schema
        self.fault = fault
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.answered: Counter[str] = Counter()
        self.repeated = 0
        self.injected = 0
        self._by_answer = by_answer = fault in {"wrong_schema", "duplicate_criteria"}
        faults = (lambda _: None) if by_answer else (lambda asked: self.fault if self._strikes(asked.body) else None)
        self.server = double.LLMServer(self._answer, faults=faults, latency_s=latency_s, slow_s=1.0)

    def __enter__(self) -> "Server":
        self.server.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self.server.__exit__(*given)

    @property
    def url(self) -> str:
        return str(self.server.url)

    def _strikes(self, body: dict[str, Any]) -> bool:
        """Whether this request fails: a third of them, at the first attempt, or always where asking again is vain."""
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            if self.answered[name]:
                self.repeated += 1
            self._seen[name] += 1
            first = self._seen[name] == 1 and len(body["messages"]) <= 2
            struck = self.fault is not None and int(name, 16) % 3 == 0 and (first or self.fault in TYPED)
            self.injected += struck
            if not struck or self.fault == "slow":
                self.answered[name] += 1
        return struck

    def _answer(self, body: dict[str, Any]) -> str:
        schema = self._schema(body)
        # The judged material is in the last message of the request as first sent; a repair adds to it.
        asked = next(message["content"] for message in body["messages"] if message["role"] == "user")
        chosen = int(hashlib.sha256(json.dumps(asked).encode()).hexdigest(), 16)
        text = json.dumps(instance(schema, chosen)) if schema else "All is well."
        if not self._by_answer or not self._strikes(body):
            return text
        if self.fault == "wrong_schema":
            return json.dumps({"answer": 42, "notes": ["not what was asked for"]})
        return text[:-1] + "," + text[1:]  # every property a second time


class Campaign:
    """Runs cells, each in a folder of its own, against the undisturbed result of its operation."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._expected: dict[str, Outcomes] = {}

    def model_fault(self, fault: str, operation: Operation) -> Cell:
        """A fault of the model or the network, then the same command without it."""
        folder, names = self._fresh(operation)
        cell = Cell(fault, operation.name, len(names))
        with Server(fault) as server:
            cell.exits.append(operation.run(folder, server.url))
            self._count(cell, operation, names, operation.outcomes(folder))
            cell.injected = server.injected
            server.fault = None
            if operation is JOB:  # a job is over when it is over: a new one takes what is stored
                (folder / "out.jsonl").unlink(missing_ok=True)
            cell.exits.append(operation.run(folder, server.url))
            self._count_cured(cell, operation, operation.outcomes(folder))
            cell.repeated = server.repeated
        cell.traces = _traces(folder)
        return cell

    def process_fault(self, fault: str, operation: Operation, disturb: Disturbance) -> Cell:
        """A fault around the process, then the same command without it."""
        folder, names = self._fresh(operation)
        cell = Cell(fault, operation.name, len(names), injected=1)
        with Server(None, latency_s=0.15) as server:
            cell.exits.append(disturb(operation, folder, server.url, server))
            cell.exits.append(operation.run(folder, server.url))
            found = operation.outcomes(folder)
            self._count(cell, operation, names, found)
            self._count_cured(cell, operation, found)
        cell.repeated = _kept_twice(folder / "store.db")
        cell.traces = _traces(folder)
        return cell

    def expected(self, operation: Operation) -> Outcomes:
        """The undisturbed run's, made once."""
        if operation.name not in self._expected:
            folder = self._scratch / f"undisturbed-{operation.name.replace(' ', '-')}"
            folder.mkdir()
            operation.prepare(folder)
            with Server(None) as server:
                code = operation.run(folder, server.url)
            if code != 0:
                raise SystemExit(f"{operation.name} failed undisturbed ({code}): see {folder / 'log.txt'}")
            self._expected[operation.name] = operation.outcomes(folder)
        return self._expected[operation.name]

    def _fresh(self, operation: Operation) -> tuple[Path, list[str]]:
        self.expected(operation)
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        operation.prepare(folder)
        return folder, list(self._expected[operation.name])

    def _count(self, cell: Cell, operation: Operation, names: Sequence[str], found: Outcomes) -> None:
        expected = self.expected(operation)
        for name in names:
            outcomes = found.get(name, [])
            cell.duplicates += max(0, len(outcomes) - 1)
            if not outcomes:
                cell.lost += 1
            elif outcomes[0].result == expected[name][0].result:
                cell.equal += 1
            elif outcomes[0].failed:
                cell.typed += 1
            else:
                cell.silent += 1

    def _count_cured(self, cell: Cell, operation: Operation, found: Outcomes) -> None:
        expected = self.expected(operation)
        cell.cured = sum(name in found and found[name][0].result == one[0].result for name, one in expected.items())


def _traces(folder: Path) -> int:
    """Tracebacks in the commands' output; the service's own log is not shown to a user."""
    log = folder / "log.txt"
    text = log.read_text("utf-8", "replace") if log.exists() else ""
    return 0 if "Uvicorn" in text else text.count("Traceback (most recent call last)")


def _kept_twice(store: Path) -> int:
    """Calls whose answer was kept in the ledger, and that were asked and kept again."""
    twice = "SELECT count(*) FROM (SELECT key FROM calls WHERE status = 'ok' GROUP BY key HAVING count(*) > 1)"
    with closing(sqlite3.connect(store)) as connection:
        ((count,),) = connection.execute(twice).fetchall()
    return int(count)


PROCESS_CELLS: tuple[tuple[str, Operation, Disturbance], ...] = (
    ("clock jump", VET, jump_clock),
    ("disk full", VET, fill_disk(20_000)),
    ("disk full", EXPORT, fill_disk(2_000)),
    ("disk full under --out", VET, fill_output),
    ("read-only folder", VET, forbid_writing),
    ("store locked", VET, lock_store),
    ("store locked", EXPORT, lock_store),
    ("Ctrl-C twice", VET, end_after(10, [signal.SIGINT, signal.SIGINT])),
    ("kill -9 of the client", VET, end_after(10, [signal.SIGKILL])),
    ("kill -9 of the client", EXPORT, kill_export),
    ("kill -9 of the service", JOB, kill_service),
)


def cells(scratch: Path, faults: Sequence[str], operations: Sequence[str]) -> list[Cell]:
    """Runs the campaign; an empty choice is everything."""
    campaign, found = Campaign(scratch), list[Cell]()
    of_models = [(fault, one, None) for fault in (*CURED, *CONTENT, *TYPED) for one in OPERATIONS]
    for fault, operation, disturb in (*of_models, *PROCESS_CELLS):
        if fault in (faults or (fault,)) and operation.name in (operations or (operation.name,)):
            if disturb is None:
                found.append(campaign.model_fault(fault, operation))
            else:
                found.append(campaign.process_fault(fault, operation, disturb))
            sys.stderr.write(f"{'ok ' if found[-1].sound else 'BAD'} {found[-1]}\n")
    return found


MATRIX = {
    "fault": "fault",
    "operation": "operation",
    "items": "items",
    "injected": "failed requests",
    "lost": "lost",
    "duplicates": "twice",
    "silent": "silent",
    "repeated": "finished calls repeated",
    "equal": "equal at once",
    "typed": "typed failure",
    "cured": "equal after the same command again",
}
"""Field of a cell -> its column."""


def markdown(found: Sequence[Cell]) -> str:
    """The matrix as a table."""
    rule = "|---|---|" + "---:|" * (len(MATRIX) - 2)
    rows = [list(MATRIX.values()), *([getattr(cell, name) for name in MATRIX] for cell in found)]
    head, *others = (f"| {' | '.join(map(str, row))} |" for row in rows)
    return "\n".join([head, rule, *others]) + "\n"


def main(
    fault: Annotated[list[str] | None, typer.Option()] = None,
    operation: Annotated[list[str] | None, typer.Option()] = None,
    out: JsonOut = None,
    table: Annotated[Path | None, typer.Option("--markdown")] = None,
    folder: Annotated[Path | None, typer.Option("--keep", help="keep every cell's folder here")] = None,
) -> None:
    """Runs the campaign and prints the matrix; exit code 1 where something happened that must not."""
    scratch = folder or Path(tempfile.mkdtemp(prefix="metajudge-faults-"))
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        found = cells(scratch, fault or (), operation or ())
    finally:
        if folder is None:
            shutil.rmtree(scratch, ignore_errors=True)
    sys.stdout.write(markdown(found))
    keep([asdict(cell) for cell in found], out)
    if table is not None:
        table.write_text(markdown(found))
    raise SystemExit(0 if all(cell.sound for cell in found) else 1)
