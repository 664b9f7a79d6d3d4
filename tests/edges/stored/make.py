"""Writes the stored data: ``python -m tests.edges.stored.make``, from the folder of the repository.

It is run by hand with version 0.2, and needs a PostgreSQL server (``METAJUDGE_TEST_POSTGRES``) and ``pg_dump``. It
replaces what lies in ``data/``. The content is the same each time, but for times, durations and random ids.
"""

import contextlib
import gzip
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from tests.doubles.fake_llama import gguf, install_fake
from tests.doubles.logprobs import Told

from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, reply
from tests.doubles.crowds import crowd
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer
from tests.doubles.verdict_systems import MLflowServer
from tests.edges.stored.stores import (
    CHAT,
    DATA,
    INPUTS,
    JOB,
    KINDS,
    LOOKS,
    MESSAGES,
    PROCEDURES,
    SCHEMA,
    STORE,
    at,
    expected_results,
    job_lines,
    posts,
    records,
    results,
    schema,
    service,
    threshold,
    unpacked,
)
from tests.stored.commands import answer, run

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "benchmarks" / "sample" / "judgments.jsonl"
TOOLS = ROOT / "tests" / "readers" / "interop"
TOOL_FILES = (
    "promptfoo/results.csv",
    "inspect/log.eval",
    "deepeval/test_run.json",
    "alpaca_eval/alpaca-reasons.json",
    "fastchat/gpt-4_pair.jsonl",
    "langfuse/scores.jsonl",
    "langfuse/traces.jsonl",
)
REASON = "no follow-on effect is treated"
CASES, CORRECTED = 96, 82
LARGEST, ALL = 400_000, 1_200_000
"""Bytes a tracked file may have, and all of them together."""

AGENT = '[[agents]]\nname = "{name}"\nmodel = "{model}"\n{more}\n'


STAGED = [one for one in crowd(60, seed=6) if one.judge == "wren" and one.order == ("A", "B")]
RIGHT = [str(one.verdict).replace(">>", ">") == str(one.item.label) for one in STAGED]
"""Of each question of a cascade, whether its verdict is right."""


def _panel(head: str, *agents: tuple[str, str], tail: str = "") -> str:
    texts = [AGENT.format(name=n, model=(MESSAGES if n == "ben" else CHAT).format(f"{n}-1"), more=m) for n, m in agents]
    return "\n".join([head, *texts, tail])


PANELS = {
    "routes.toml": _panel(
        'rubric = "short"\nstrategy = "weighted_average"\nseed = 3\n',
        ("ann", 'role = "expert"\nweight = 2.0\ntemperature = 0.2'),
        ("ben", "max_tokens = 900"),
        tail='[routes.Math]\nstrategy = "majority_vote"\nrubric = "baseline"\n',
    ),
    "discussion.toml": _panel(
        'rubric = "baseline"\nstrategy = "panel_discussion"\n',
        ("cat", 'role = "general_public"'),
        ("dan", 'role = "critic"'),
        tail=f'[discussion]\naggregate = "average"\n\n[discussion.summariser]\nname = "sum"\n'
        f'model = "{MESSAGES.format("sum-1")}"\nrole = "summariser"\n',
    ),
    "sequential.toml": _panel(
        'rubric = "long"\nstrategy = "panel_discussion"\n',
        ("cat", ""),
        ("dan", ""),
        ("ben", ""),
        tail='[discussion]\nrounds = "sequential"\naggregate = "majority"\nshow_analysis = true\n',
    ),
    "draws.toml": _panel('rubric = "short"\n', ("ann", 'samples = 2\nexplanations = "after"\ntemperature = 1.0')),
    "service.toml": _panel('rubric = "baseline"\n', ("eve", ""), ("fay", ""), ("ben", "")),
    "stages.toml": _panel('rubric = "baseline"\n', ("mini", ""), ("strong", "")),
    "cascade.toml": _panel(
        'rubric = "baseline"\nstrategy = "cascade"\n',
        ("mini", ""),
        ("strong", ""),
        tail='[cascade]\nplan = "plan.json"\n',
    ),
    "expected.toml": _panel('rubric = "baseline"\n', ("tok", 'score = "expected"\nanalysis = false')),
}


def says(body: dict[str, Any]) -> str:
    """What the models say: those of the first stored data, and judges that people correct, and stages of a cascade."""
    said = (requested_schema(body) or {}).get("properties") or {}
    if body["model"] == "owl-1" and "source_relevance" in said:
        scores: dict[str, Any] = dict.fromkeys(ANALYSIS if "completeness" in said else RELEVANCE, (8, 0.85))
        if "completeness" in said and REASON in json.dumps(body):
            scores["completeness"] = (5, 0.85)
        return reply(scores)
    if body["model"] in ("mini-1", "strong-1"):
        number = int(re.findall(r"q question (\d+)", json.dumps(body))[0])
        right = RIGHT[number]
        if body["model"] == "mini-1" and number % 3 == 0:
            return score_answer(3)(body)
        return score_answer(5 if right is not (number in (1, 3)) else 1)(body)
    return answer(body)


def tells(body: dict[str, Any]) -> list[Told]:
    """An answer to a request for scores, with the probabilities of each score's token."""
    schema_ = requested_schema(body)
    assert schema_ is not None
    text = score_answer(5)(body)
    pieces = re.split(r'("score": ?)5', text)
    tokens: list[Told] = []
    for number, piece in enumerate(pieces):
        tokens.append(piece)
        if number % 2:
            tokens.append(("5", {"5": 0.6, "4": 0.3, "3": 0.1}))
    return [one for one in tokens if one]


def write_inputs(folder: Path) -> None:
    """Everything that the commands read."""
    found = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
    items = list({one["item"]["id"]: one["item"] for one in found}.values())[:4]
    _lines(folder / "sample.jsonl", found[:24])
    _lines(folder / "judgments.jsonl", [one for one in found if one["order"] == ["A", "B"]][::4][:10])
    _lines(folder / "items.jsonl", items)
    _lines(folder / "prompts.jsonl", [{"id": f"p{n}", "question": f"Explain tide number {n}."} for n in range(2)])
    cases = [flood("climate-1"), flood("rules-1", type="regulatory"), flood("world-1", type="geopolitical")]
    _lines(folder / "cases.jsonl", [one.model_dump(mode="json") for one in cases])
    drafted = [flood(f"c{n:02}").model_copy(update={"label": n % 2 == 0}) for n in range(CASES)]
    _lines(folder / "drafted.jsonl", [_numbered(one.model_dump(mode="json")) for one in drafted])
    _lines(folder / "questions.jsonl", [{"id": f"q{n}", "question": f"What is {n} + {n}?"} for n in range(3)])
    skills = {"owl": 0.92, "wren": 0.9, "jay": 0.6}
    look, more = crowd(90, seed=2, skills=skills, prefix="n"), crowd(40, seed=3, skills=skills, prefix="m")
    _judgments(folder / "fit.jsonl", crowd(60, seed=1, skills=skills))
    _judgments(folder / "look.jsonl", look)
    _judgments(folder / "look_more.jsonl", [*look, *more])
    _judgments(folder / "new.jsonl", crowd(30, seed=4, skills=skills, prefix="l"))
    _judgments(folder / "unlabelled.jsonl", crowd(25, seed=5, skills=skills, prefix="u", labelled=False))
    _judgments(folder / "staged.jsonl", STAGED)
    for name, text in PANELS.items():
        (folder / name).write_text(text, "utf-8")
    gguf(folder / "tiny.gguf")
    for name in TOOL_FILES:
        (folder / "tools" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOOLS / name, folder / "tools" / name)
    write_calibrations(folder)


def write_calibrations(folder: Path) -> None:
    """Calibrations with two looks in the ledger, with a promise of each procedure, and a pooled one."""
    fit = ("calibrate", "fit", "--data", "fit.jsonl", "--share", "1", "--signals", "order,strength,peers")
    _did(*fit, "--per-judge", "--out", "calibration.json")
    _did(*fit, "--pooled", "--out", "pooled.json")
    for name in PROCEDURES:
        shutil.copy(folder / "pooled.json", folder / f"by_{name}.json")
        more = ("--schedule", "anytime") if name == "e_process" else ()
        look = threshold(f"by_{name}.json", "look.jsonl", "--target", "0.75", "--procedure", name, *more)
        done = run(*look)
        print(name, done.code, done.stdout[-300:] if done.code else "", done.stderr[-300:])
    for words in LOOKS:
        done = run(*words)
        print(words, done.code, done.stdout[:600], done.stderr[-500:])
    shutil.copy(folder / "calibration.json", folder / "promised.json")


def run_kind(folder: Path, kind: str) -> None:
    """The commands of a kind, and what people do about them."""
    for name, words in KINDS[kind].items():
        if name == "vet_cascade":
            stages = ("--stage", "mini", "--stage", "strong")
            plan = ("calibrate", "cascade", "--data", "staged.jsonl", "--agent-scores", "vet_all_stages.out.jsonl")
            _did(*plan, *stages, "--precision-given-up", "0.2", "--kept-given-up", "0.2", "--out", "plan.json")
        with contextlib.ExitStack() as stack:
            if name == "vet_expected":
                server = stack.enter_context(LLMServer(tokens=tells))
                stack.enter_context(mock.patch.dict(os.environ, {"HTTP_PROXY": server.url, "http_proxy": server.url}))
            if name == "vet_local":
                fake = str(install_fake(folder / "fake"))
                stack.enter_context(mock.patch.dict(os.environ, {"PYTHONPATH": fake}))
            done = run(*words)
        allowed = (0, 1) if "--webhook" in words else (0,)
        if done.code not in allowed:
            raise SystemExit(f"{name} ended with {done.code}: {done.stdout}{done.stderr}")


def review_panels(folder: Path) -> None:
    """Decisions of several kinds, one amended, one blind, a comment, and one given to somebody."""
    for outcome in ("approve", "reject", "cannot_tell"):
        given = _next("ada")
        _did("review", "decide", given, "--reviewer", "ada", "--outcome", outcome, "--reason", "Checked.")
    _did("review", "amend", given, "--reviewer", "ada", "--outcome", "reject", "--reason", "Read it again.")
    blind = _next("bob", "--blind")
    _did("review", "decide", blind, "--reviewer", "bob", "--verdict", "R1", "--blind", "--reason", "The first one.")
    _did("review", "comment", blind, "--reviewer", "ada", "A second look is worth it.")
    last = run("review", "list", "--status", "open", "--json").json()["reviews"][-1]["review"]["review_id"]
    _did("review", "assign", "cyd", last)


def review_people(folder: Path) -> None:
    """Most decisions on what was promised, by the label; feedback and the monitor on them."""
    labels = {one["item"]["id"]: one["item"]["label"] for one in records(folder / "new.jsonl")}
    _did("review", "export", "--blind", "--out", "to_review.jsonl")
    rows = []
    for number, one in enumerate(sorted(records(folder / "to_review.jsonl"), key=lambda one: str(one["review_id"]))):
        first = one["responses"]["R1"].startswith("one") is (labels[one["item_id"]][0] == "A")
        if number % 9 < 8:
            verdict = "R1>R2" if first is (number % 7 > 0) else "R2>R1"
            rows.append({**one, "reviewer": "ada", "corrected_verdict": verdict})
    _lines(folder / "reviewed.jsonl", rows)
    _did("review", "import", "reviewed.jsonl")
    _did("feedback", "report", "--save")
    print(run("feedback", "propose").stdout)
    print(run("monitor").stdout)


def review_drafts(folder: Path) -> None:
    """People correct most cases; a draft of each kind is tried, and one is put in force."""
    fixed = {"outcome": "modify", "scores": {"completeness": 5}, "reason": REASON}
    made = [
        {"review_id": one["review_id"], "reviewer": "ada", **(fixed if n < CORRECTED else {"outcome": "approve"})}
        for n, one in enumerate(_reviews())
    ]
    _lines(folder / "reviewed.jsonl", made)
    _did("review", "import", "reviewed.jsonl")
    print(run("feedback", "report", "--policy", "risk_analysis", "--save").stdout[:300])
    kinds = [part for kind in ("offset", "levels", "instruction", "confidence") for part in ("--kind", kind)]
    print(_did("feedback", "draft", "--policy", "risk_analysis", *kinds)[-1500:])
    for draft in json.loads(_did("feedback", "drafts", "--json"))["drafts"]:
        name, kind = draft["draft"]["draft_id"], draft["draft"]["kind"]
        done = run("feedback", "rejudge", name, "--judge", f"owl={CHAT.format('owl-1')}", "--json")
        print(name, done.code, done.stdout[:200], done.stderr[-300:])
        if kind == "instruction":
            print(run("feedback", "activate", name, "--by", "ada", "--reason", "It is better.").stdout)


def run_service(folder: Path, where: str) -> None:
    """Requests, one job of three judgments, and a watch of a system with three verdicts."""
    with service(folder, where) as client:
        for path, body in posts(folder).items():
            done = client.post(path, json=body)
            assert done.status_code == 200, done.text
        job = client.post("/v1/vet/batch", content=job_lines(folder), headers=JOB)
        assert job.status_code == 202, job.text
        _until(lambda: client.get(job.headers["location"]).json()["state"] == "done")
    table = importlib.import_module("metajudge.api.watch_tables").WatchTable
    with MLflowServer() as server:
        watch = table(system="mlflow", url=server.url, project=server.project, name="traces", since="all",
                      every_s=0.05, items_per_minute=1e6, requests_per_second=1e6, push=True)  # fmt: skip
        with service(folder, where, watches=(watch,)) as client:
            _until(lambda: client.get("/v1/watches").json()["watches"][0]["rounds"] > 1)
            print(client.get("/v1/watches").text)


PEOPLE: dict[str, Callable[[Path], None]] = {
    "panels": review_panels,
    "people": review_people,
    "drafts": review_drafts,
}


def write_kind(inputs: Path, folder: Path, kind: str, where: str) -> int:
    """One store; says how many requests it took."""
    shutil.copytree(inputs, folder)
    with LLMServer(says) as server, at(folder, where, server.url):
        run_kind(folder, kind)
        PEOPLE.get(kind, lambda _: None)(folder)
        if kind == "service":
            run_service(folder, where)
    return server.count


def dumped(url: str) -> bytes:
    """Plain SQL that makes the schema of a URL and its rows."""
    server = url.partition("?")[0]
    words = ("pg_dump", "--inserts", "--rows-per-insert=50", "--no-owner", "--no-privileges", f"--schema={SCHEMA}")
    text = subprocess.run((*words, server), check=True, capture_output=True, text=True).stdout
    kept = [line for line in text.splitlines() if not re.match(r"\\|--|SET (transaction|default|row|xml|lock)", line)]
    return "\n".join(line for line in kept if line.strip()).encode() + b"\n"


def packed(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def keep_inputs(folder: Path) -> None:
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        inner = path.relative_to(folder)
        if path.suffix == ".toml" or path.stat().st_size < 1_000:
            (INPUTS / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, INPUTS / inner)
        else:
            packed(INPUTS / f"{inner}.gz", path.read_bytes())


def keep_files(folder: Path, kind: str) -> None:
    """Files beside the store that the commands go on from."""
    shutil.rmtree(DATA / kind, ignore_errors=True)
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        inner = path.relative_to(folder)
        wanted = path.name.endswith(("attempts.jsonl", "ballots.jsonl", "answers.jsonl")) or path.name == "plan.json"
        if wanted or inner.parts[0].startswith(f"{STORE}."):
            packed(DATA / kind / f"{inner}.gz", path.read_bytes())


def main(*chosen: str) -> None:
    for path in DATA.iterdir() if not chosen else ():
        if path.name == "README.md":
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with tempfile.TemporaryDirectory() as given:
        inputs, expected = Path(given) / "inputs", DATA / "expected.json.gz"
        inputs.mkdir()
        if not chosen:
            with at(inputs, STORE, "http://127.0.0.1:9"):
                write_inputs(inputs)
            keep_inputs(inputs)
        else:
            unpacked(inputs, "no kind")
        found = expected_results() if expected.exists() else {}
        for kind in chosen or KINDS:
            started = time.monotonic()
            folder = Path(given) / kind
            asked = write_kind(inputs, folder, kind, STORE)
            packed(DATA / f"{kind}.duckdb.gz", (folder / STORE).read_bytes())
            keep_files(folder, kind)
            found[kind] = {"requests": asked, "results": results(folder, kind)}
            with schema(SCHEMA) as url:
                again = write_kind(inputs, Path(given) / f"{kind}-postgres", kind, url)
                packed(DATA / f"{kind}.sql.gz", dumped(url))
            print(kind, asked, again, f"{time.monotonic() - started:.1f} s", file=sys.stderr)
        lines = [f'"{kind}": {json.dumps(found[kind], ensure_ascii=False)}' for kind in KINDS if kind in found]
        packed(expected, ("{" + ",\n".join(lines) + "}\n").encode())
    sizes = {path: path.stat().st_size for path in DATA.rglob("*") if path.is_file()}
    assert max(sizes.values()) <= LARGEST, sizes
    assert sum(sizes.values()) <= ALL, sizes


def _until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _did(*words: str) -> str:
    done = run(*words)
    if done.code:
        raise SystemExit(f"{' '.join(words)} ended with {done.code}: {done.stdout}{done.stderr}")
    return done.stdout


def _next(reviewer: str, *words: str) -> str:
    return str(json.loads(_did("review", "next", "--reviewer", reviewer, *words, "--json"))["review_id"])


def _reviews() -> list[dict[str, Any]]:
    """All reviews, by what they are about."""
    found = [one["review"] for one in json.loads(_did("review", "list", "--limit", "1000", "--json"))["reviews"]]
    return sorted(found, key=lambda one: str(one["subject_id"]))


def _numbered(case: dict[str, Any]) -> dict[str, Any]:
    """A case of its own content."""
    stages = [{**one, "output": f"{one['output']} ({case['id']})"} for one in case["stages"]]
    return {**case, "stages": stages}


def _judgments(path: Path, made: list[Any]) -> None:
    path.write_text("".join(one.model_dump_json(exclude_none=True) + "\n" for one in made), "utf-8")


def _lines(path: Path, made: list[Any]) -> None:
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
