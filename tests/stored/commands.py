"""The commands that wrote the stored data, and how they are run again to test that it still counts.

The models have one fixed address, ``http://models.test``: an endpoint's URL is part of what replies are stored under.
No such host exists. Every request goes through the proxy that the environment names, and that is a
:class:`tests.doubles.llm_server.LLMServer` on a free port, which therefore sees and counts every request.
"""

import contextlib
import gzip
import io
import json
import os
import shutil
import signal
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2

from metajudge.cli import main
from metajudge.panels.config import load_panel_file
from tests.api.conftest import app_module, running
from tests.doubles.cases import ANALYSIS, RELEVANCE
from tests.doubles.cases import reply as case_reply
from tests.doubles.llm_server import requested_schema, score_answer
from tests.doubles.ranking import criteria_answer, shown_in
from tests.peers import fake_models

DATA = Path(__file__).with_name("data")
STORE = "store.db"

OPENAI_STYLE = "vllm:{}@http://models.test/v1"
ANTHROPIC_STYLE = "anthropic:{}@http://models.test"
_JUDGES = ("--judge", f"jay={OPENAI_STYLE.format('jay-1')}", "--judge", f"kite={ANTHROPIC_STYLE.format('kite-1')}")
_THREE = (*_JUDGES, "--judge", f"lark={OPENAI_STYLE.format('lark-1')}")
_PEERS = [part for n in fake_models.NAMES[:3] for part in ("--model", f"{n}={OPENAI_STYLE.format(n)}")]

COMMANDS: dict[str, tuple[str, ...]] = {
    "vet_panel": ("vet", "judgments.jsonl", "--config", "panel.toml", "--out", "vet_panel.out.jsonl", "--json"),
    "vet_discussion": (
        *("vet", "judgments.jsonl", "--limit", "4", "--config", "discussion.toml"),
        *("--out", "vet_discussion.out.jsonl", "--json"),
    ),
    "vet_rejudge": (
        *("vet", "judgments.jsonl", "--limit", "6", "--agent", f"rex={OPENAI_STYLE.format('rex-1')}"),
        *("--strategy", "rejudge", "--threshold", "3", "--out", "vet_rejudge.out.jsonl", "--json"),
    ),
    "vet_signals": ("vet", "many.jsonl", "--out", "vet_signals.out.jsonl", "--json"),
    "vet_calibrated": (
        *("vet", "many.jsonl", "--calibration", "calibration.json"),
        *("--out", "vet_calibrated.out.jsonl", "--json"),
    ),
    "vet_policy": (
        *("vet", "judgments.jsonl", "--config", "panel.toml", "--policy", "verdict_score", "--audit-share", "1"),
        *("--out", "vet_policy.out.jsonl", "--json"),
    ),
    "judge": ("judge", "items.jsonl", *_JUDGES, "--seed", "7", "--out", "judge.out.jsonl", "--json"),
    "grade": ("judge", "items.jsonl", "--grade", *_JUDGES, "--out", "grade.out.jsonl", "--json"),
    "clash": (
        *("clash", "prompts.jsonl", "--candidate", f"ant={OPENAI_STYLE.format('ant-1')}"),
        *("--candidate", f"bee={ANTHROPIC_STYLE.format('bee-1')}", *_THREE, "--observers"),
        *("--criteria-model", OPENAI_STYLE.format("namer-1"), "--out", "clash.attempts.jsonl"),
        *("--json-out", "clash.out.json"),
    ),
    "clash_given": (
        *("clash", "items.jsonl", "--responses", "given", *_THREE, "--repeats", "2"),
        *("--out", "clash_given.attempts.jsonl", "--json-out", "clash_given.out.json"),
    ),
    "case": ("case", "cases.jsonl", *_JUDGES, "--audit-share", "1", "--out", "case.out.jsonl", "--json"),
    "peers": (
        *("peers", "--questions", "questions.jsonl", *_PEERS, "--resamples", "0"),
        *("--out", "peers.ballots.jsonl", "--json-out", "peers.out.json"),
    ),
}
"""Name -> the command, in the order in which they ran."""


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        return json.loads(self.stdout)


def run(*arguments: str) -> Done:
    """Runs ``metajudge ARGUMENTS...`` in this process, in the current folder."""
    out, err = io.StringIO(), io.StringIO()
    before = signal.getsignal(signal.SIGINT)
    try:
        with (
            mock.patch.object(sys, "argv", ["metajudge", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as end:
        return Done(int(end.code or 0), out.getvalue(), err.getvalue())
    finally:
        signal.signal(signal.SIGINT, before)
    raise AssertionError("main always exits")


@contextlib.contextmanager
def inside(folder: Path, proxy: str) -> Iterator[None]:
    """Works in a folder with its store; models are reached through a proxy."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith(("_API_KEY", "_PROXY"))}
    kept = {name: value for name, value in kept.items() if not name.startswith("METAJUDGE_")}
    away = {"NO_PROXY": "127.0.0.1,localhost", "HTTP_PROXY": proxy}
    away |= {name.lower(): value for name, value in away.items()}
    ours = {"METAJUDGE_STORE": STORE, "ANTHROPIC_API_KEY": "none", "XDG_CONFIG_HOME": str(folder / "config")}
    with mock.patch.dict(os.environ, {**kept, **away, **ours}, clear=True), contextlib.chdir(folder):
        yield


@contextlib.contextmanager
def service(folder: Path) -> Iterator[httpx2.Client]:
    """The service over the folder's store, with the panel of ``service.toml``."""
    options = app_module.ServiceOptions(
        panels={"service": load_panel_file(folder / "service.toml")}, store=folder / STORE
    )
    with running(options) as client:
        yield client


def requests(folder: Path) -> dict[str, Any]:
    """Path -> the body that was posted there."""
    judgment, item = records(folder / "judgments.jsonl")[0], records(folder / "items.jsonl")[1]
    return {
        "/v1/vet": judgment,
        "/v1/judge": {"item": item},
        "/v1/clash": {"item": item, "seed": 5},
        "/v1/cases": {"case": {**records(folder / "cases.jsonl")[0], "id": "over-http"}},
    }


def unpack(folder: Path) -> None:
    """Copies the stored data into a folder."""
    for path in DATA.iterdir():
        if path.suffix == ".gz":
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copy(path, folder / path.name)


def results(folder: Path) -> dict[str, Any]:
    """What the commands found, by name, in the few fields that every later version must find again."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        if (path := folder / f"{name}.out.jsonl").is_file():
            found[name] = [FIELDS[name.split("_")[0]](one) for one in records(path)]
    return found


def records(path: Path) -> list[Any]:
    """The records of a file of one JSON object a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def _vetted(one: dict[str, Any]) -> list[Any]:
    probability = one.get("probability")
    return [
        *(one["judgment_id"], one["panel_digest"], one["status"], one["final_score"], one["accepted"]),
        *(None if probability is None else round(probability, 6), (one.get("decision") or {}).get("action")),
    ]


def _judged(one: dict[str, Any]) -> list[Any]:
    return [one["id"], one["judge"], one["verdict"]]


FIELDS = {
    "vet": _vetted,
    "judge": _judged,
    "grade": _judged,
    "case": lambda one: [one["case_id"], one["action"], round(one["overall_quality_score"], 6)],
}
"""Kind of command -> the few fields of a result that every later version must find again."""


def answer(body: dict[str, Any]) -> str:
    """What the models said when the data were written: the same for the same request."""
    schema = requested_schema(body)
    if body["model"] in fake_models.NAMES:
        return fake_models.answer(body)
    if schema is None:
        return f"This is how it works: {'because, ' * len(body['model'])}so it is."
    wanted, chance = schema["properties"], zlib.crc32(json.dumps(body, sort_keys=True).encode())
    if "c5" in wanted:
        return json.dumps(criteria_answer())
    if "source_relevance" in wanted:
        return case_reply(ANALYSIS if "completeness" in wanted else RELEVANCE)
    if "ranking" in wanted:
        return _ranking(body, schema)
    if "verdict" in wanted:
        return json.dumps(
            {"reasoning": "The first one adds correctly.", "verdict": wanted["verdict"]["enum"][chance % 5]}
        )
    return score_answer((5, 5, 4)[chance % 3])(body)


def _ranking(body: dict[str, Any], schema: dict[str, Any]) -> str:
    said = body["messages"][-1]["content"]
    texts = shown_in(said if isinstance(said, str) else "".join(part["text"] for part in said))
    order = sorted(texts, key=lambda label: (len(texts[label]), texts[label]), reverse=body["model"] != "kite-1")
    reply = json.loads(score_answer(4)(body))
    as_text = schema["properties"]["ranking"].get("type") == "string"
    return json.dumps({**reply, "ranking": " > ".join(order) if as_text else order})
