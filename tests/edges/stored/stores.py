"""What version 0.2 stored, how it was written, and how it is opened: the only place that knows where it lies.

The models have one fixed address, ``http://models.test``, which no host has. Every request goes through the proxy that
the environment names (a :class:`tests.doubles.llm_server.LLMServer`), which therefore sees and counts every request.
"""

import contextlib
import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2

from metajudge.panels.config import load_panel_file
from metajudge.store.copying import copy_store
from metajudge.types.location import store_location
from tests.api.conftest import app_module, running
from tests.doubles.postgres_urls import stores_on_postgres
from tests.edges.recorded import steady
from tests.peers import fake_models
from tests.stored import commands
from tests.stored.commands import inside, records

DATA = Path(__file__).with_name("data")
INPUTS = DATA / "inputs"
STORE = "store.db"
SCHEMA = "stored_by_0_2"
"""The schema of PostgreSQL in which the rows were written; they are loaded into one of another name."""

CHAT = "vllm:{}@http://models.test/v1"
MESSAGES = "anthropic:{}@http://models.test"
_TWO = ("--judge", f"jay={CHAT.format('jay-1')}", "--judge", f"kite={MESSAGES.format('kite-1')}")
_THREE = (*_TWO, "--judge", f"lark={CHAT.format('lark-1')}")
_PEERS = [part for n in fake_models.NAMES[:3] for part in ("--model", f"{n}={CHAT.format(n)}")]
_CASE_JUDGE = ("--judge", f"owl={CHAT.format('owl-1')}")


def _agents(*names: str) -> tuple[str, ...]:
    return tuple(part for name in names for part in ("--agent", f"{name}={CHAT.format(name + '-1')}"))


def _vet(name: str, *words: str, given: str = "judgments.jsonl") -> tuple[str, ...]:
    return ("vet", given, *words, "--out", f"{name}.out.jsonl", "--json")


_PANELS = {
    "vet_single": ("--rubric", "short", *_agents("ann")),
    "vet_average": ("--config", "routes.toml"),
    "vet_vote": ("--strategy", "majority_vote", "--rubric", "binary", *_agents("ann", "ben", "cat")),
    "vet_discussion": ("--config", "discussion.toml", "--limit", "6"),
    "vet_sequential": ("--config", "sequential.toml", "--limit", "6"),
    "vet_rejudge": ("--strategy", "rejudge", "--threshold", "3", *_agents("rex", "roy")),
    "vet_draws": ("--config", "draws.toml", "--limit", "6"),
    "vet_version_1": ("--rubric", "baseline", "--prompt-version", "1", *_agents("ann")),
    "vet_policy": ("--config", "routes.toml", "--policy", "verdict_score", "--audit-share", "1"),
}
_EVIDENCE = {
    "vet_signals": _vet("vet_signals", given="sample.jsonl"),
    "vet_shipped": _vet("vet_shipped", "--calibration", "shipped", given="sample.jsonl"),
    "vet_calibrated": _vet("vet_calibrated", "--calibration", "calibration.json", "--limit", "72", given="new.jsonl"),
}
_VERDICTS = {
    "judge": ("judge", "items.jsonl", *_TWO, "--seed", "7", "--out", "judge.out.jsonl", "--json"),
    "grade": ("judge", "items.jsonl", "--grade", *_TWO, "--out", "grade.out.jsonl", "--json"),
    "clash": (
        *("clash", "prompts.jsonl", "--candidate", f"ant={CHAT.format('ant-1')}"),
        *("--candidate", f"bee={MESSAGES.format('bee-1')}", *_THREE, "--observers"),
        *("--criteria-model", CHAT.format("namer-1"), "--out", "clash.attempts.jsonl", "--json-out", "clash.out.json"),
    ),
    "clash_given": (
        *("clash", "items.jsonl", "--responses", "given", *_THREE, "--repeats", "2"),
        *("--out", "clash_given.attempts.jsonl", "--json-out", "clash_given.out.json"),
    ),
    "case": ("case", "cases.jsonl", *_TWO, "--audit-share", "1", "--out", "case.out.jsonl", "--json"),
    "peers": (
        *("peers", "--questions", "questions.jsonl", *_PEERS, "--resamples", "0"),
        *("--out", "peers.ballots.jsonl", "--json-out", "peers.out.json"),
    ),
}
_PEOPLE = {
    "vet_promised": _vet(
        *("vet_promised", "--calibration", "promised.json", "--policy", "verdict", "--audit-share", "1"),
        *("--webhook", "http://127.0.0.1:9/hook"),
        given="new.jsonl",
    )
}
_DRAFTS = {"case_drafts": ("case", "drafted.jsonl", *_CASE_JUDGE, "--out", "case_drafts.out.jsonl", "--json")}
_REMOVED = {
    "vet_all_stages": _vet("vet_all_stages", "--config", "stages.toml", "--no-early-exit", given="staged.jsonl"),
    "vet_cascade": _vet("vet_cascade", "--config", "cascade.toml", given="staged.jsonl"),
    "vet_expected": _vet("vet_expected", "--config", "expected.toml"),
    "vet_local": _vet("vet_local", "--agent", "local:tiny.gguf", "--rubric", "baseline"),
    "vet_unlabelled": _vet("vet_unlabelled", given="unlabelled.jsonl"),
    "vet_pooled": _vet("vet_pooled", "--calibration", "pooled.json", "--limit", "24", given="unlabelled.jsonl"),
    "peers_swept": (
        *("peers", "--questions", "questions.jsonl", *_PEERS, "--resamples", "100"),
        *("--out", "peers_swept.ballots.jsonl", "--json-out", "peers_swept.out.json"),
    ),
}

KINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "panels": {name: _vet(name, *words) for name, words in _PANELS.items()},
    "evidence": _EVIDENCE,
    "verdicts": _VERDICTS,
    "people": _PEOPLE,
    "drafts": _DRAFTS,
    "service": {},
    "removed": _REMOVED,
}
"""Kind of store -> name -> the command, in the order in which they ran."""

PROCEDURES = ("graphical", "one_error", "learn_then_test", "bonferroni", "e_process", "log_odds")
"""Those of ``calibrate threshold`` that are not its default; each has a calibration ``by_NAME.json``."""


def threshold(calibration: str, data: str, *words: str) -> tuple[str, ...]:
    """A command that looks at labels for a promise."""
    given = ("--calibration", calibration, "--data", data, "--labels-drawn", "random", "--json")
    return ("calibrate", "threshold", *given, *words)


LOOKS = (
    threshold("calibration.json", "look.jsonl", "--target", "0.8"),
    threshold("calibration.json", "look_more.jsonl", "--target", "0.8"),
)
"""The two looks that the ledger of ``calibration.json`` holds."""


def unpacked(folder: Path, kind: str) -> None:
    """Copies the inputs into a folder, and the files that the commands of a kind go on from."""
    for place in (INPUTS, DATA / kind):
        for path in sorted(place.rglob("*")) if place.is_dir() else ():
            inner = path.relative_to(place)
            (folder / inner).parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".gz":
                (folder / inner.with_suffix("")).write_bytes(gzip.decompress(path.read_bytes()))
            elif path.is_file():
                shutil.copy(path, folder / inner)


@contextlib.contextmanager
def opened(folder: Path, kind: str, *, on: str = "file", proxy: str = "http://127.0.0.1:9") -> Iterator[str]:
    """Works in a folder with a stored store and everything its commands need; hands out where the store is.

    This is the one place that opens what 0.2 stored: a file is brought over as ``metajudge store copy`` does.

    Args:
        folder: an empty one.
        kind: of :data:`KINDS`.
        on: ``file`` or ``postgres`` (skips the test where there is no server).
        proxy: through which models are asked; nothing answers there by default.
    """
    if not (folder / "judgments.jsonl").exists():
        unpacked(folder, kind)
    with contextlib.ExitStack() as stack:
        where = STORE if on == "file" else stack.enter_context(_loaded(DATA / f"{kind}.sql.gz"))
        if on == "file" and not (folder / STORE).exists():
            (folder / STORE).write_bytes(gzip.decompress((DATA / f"{kind}.duckdb.gz").read_bytes()))
            copy_store(folder / STORE, folder / "new.db", rename=True)
        stack.enter_context(at(folder, where, proxy))
        yield where


@contextlib.contextmanager
def at(folder: Path, where: str, proxy: str) -> Iterator[None]:
    """Works in a folder with the store at a place; models are reached through a proxy."""
    server = {name: os.environ[name] for name in ("METAJUDGE_TEST_POSTGRES",) if name in os.environ}
    ours = {"METAJUDGE_STORE": where, "METAJUDGE_WEBHOOK_SECRET": "a secret of many characters", "COLUMNS": "200"}
    with inside(folder, proxy), mock.patch.dict(os.environ, {**server, **ours}):
        yield


@contextlib.contextmanager
def _loaded(dump: Path) -> Iterator[str]:
    with stores_on_postgres() as make:
        import psycopg

        url = make()
        with psycopg.connect(os.environ["METAJUDGE_TEST_POSTGRES"], autocommit=True) as connection:
            rows = gzip.decompress(dump.read_bytes()).decode().replace(SCHEMA, url.rpartition("%3D")[2])
            connection.execute(rows)
        yield url


@contextlib.contextmanager
def service(folder: Path, where: str, **more: Any) -> Iterator[httpx2.Client]:
    """The service over a store, with the panel of ``service.toml``."""
    panels = {"service": load_panel_file(folder / "service.toml")}
    place = store_location(where) if "://" in where else folder / where
    if "://" in where:
        more["state"] = folder / "state"
    with running(app_module.ServiceOptions(panels=panels, store=place, **more)) as client:
        yield client


JOB = {"content-type": "application/x-ndjson", "idempotency-key": "stored-by-0.2"}
"""Headers of the one job; with the same key and the same lines it is the same job."""


def job_lines(folder: Path) -> str:
    return "\n".join((folder / "judgments.jsonl").read_text("utf-8").splitlines()[1:4])


def results(folder: Path, kind: str) -> dict[str, Any]:
    """What the commands of a kind found, by name, in the fields that every later version must find again."""
    found: dict[str, Any] = {}
    for name in KINDS[kind]:
        if (path := folder / f"{name}.out.jsonl").is_file():
            found[name] = sorted((_FIELDS[name.split("_")[0]](one) for one in records(path)), key=json.dumps)
        elif (path := folder / f"{name}.out.json").is_file():
            found[name] = _ranked(json.loads(path.read_text("utf-8")))
    return found


def expected_results() -> dict[str, Any]:
    """Kind -> ``requests`` that its commands took, and their ``results``, as they were written."""
    return dict(json.loads(gzip.decompress((DATA / "expected.json.gz").read_bytes())))


def plain(value: Any) -> Any:
    """What a command printed or stored without durations and the names of files, and steady."""
    if isinstance(value, dict):
        return steady({name: plain(one) for name, one in value.items() if name not in ("wall_s", "total_s", "notices")})
    return [plain(one) for one in value] if isinstance(value, list) else steady(value)


def compared(found: Any) -> Any:
    """What ``diff --json`` found, without the runs' ids and the intervals, which depend on the order of storing."""
    if isinstance(found, dict):
        left_out = ("first", "second", "low", "high")
        return steady({k: compared(v) for k, v in found.items() if k not in left_out or isinstance(v, dict)})
    return [compared(one) for one in found] if isinstance(found, list) else found


def _vetted(one: dict[str, Any]) -> list[Any]:
    agents = [[agent["agent"], agent.get("score")] for agent in one.get("agents") or ()]
    return [
        *commands.FIELDS["vet"](one),
        *(agents, one.get("route"), (one.get("cascade") or {}).get("decided_by")),
        *((one.get("guarantee") or {}).get("threshold"), one.get("outside_guarantee") or []),
    ]


def _ranked(found: dict[str, Any]) -> dict[str, Any]:
    """Of the figures of ``clash`` and ``peers`` those that are whole tables of names and numbers."""
    return {
        name: found[name] for name in ("ranking", "consensus", "standings", "candidates", "scores") if name in found
    }


_FIELDS = commands.FIELDS | {"vet": _vetted}
