"""Writes the stored data: ``python -m tests.stored.make_store``, from the folder of the repository.

It is run by hand, for a version whose stored data later versions have to read. It replaces what lies in ``data/``.
"""

import gzip
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from metajudge import __version__
from tests.doubles.cases import flood
from tests.doubles.llm_server import LLMServer
from tests.stored.commands import (
    ANTHROPIC_STYLE,
    COMMANDS,
    COMPRESSED,
    DATA,
    OPENAI_STYLE,
    answer,
    calibrate,
    inside,
    requests,
    results,
    run,
    service,
)

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"
VETTED, JUDGED = 12, 4
LARGEST = 400_000
"""Bytes a tracked file may have."""

PANEL = f"""\
rubric = "short"
strategy = "weighted_average"
seed = 3

[[agents]]
name = "ann"
model = "{OPENAI_STYLE.format("ann-1")}"
role = "expert"
weight = 2.0
temperature = 0.2

[[agents]]
name = "ben"
model = "{ANTHROPIC_STYLE.format("ben-1")}"
max_tokens = 900

[routes.Math]
strategy = "majority_vote"
rubric = "baseline"
"""

DISCUSSION = f"""\
rubric = "baseline"
strategy = "panel_discussion"

[[agents]]
name = "cat"
model = "{OPENAI_STYLE.format("cat-1")}"
role = "general_public"

[[agents]]
name = "dan"
model = "{OPENAI_STYLE.format("dan-1")}"
role = "critic"

[discussion]
aggregate = "average"

[discussion.summariser]
name = "sum"
model = "{ANTHROPIC_STYLE.format("sum-1")}"
role = "summariser"
"""

SERVICE = f"""\
rubric = "baseline"

[[agents]]
name = "eve"
model = "{OPENAI_STYLE.format("eve-1")}"

[[agents]]
name = "fay"
model = "{OPENAI_STYLE.format("fay-1")}"

[[agents]]
name = "gus"
model = "{ANTHROPIC_STYLE.format("kite-1")}"
"""


def write_inputs(folder: Path) -> None:
    """Judgments, items, prompts, cases, questions and panel files."""
    many = SAMPLE.read_text().splitlines()
    found = [json.loads(line) for line in many]
    items = list({one["item"]["id"]: one["item"] for one in found}.values())[:JUDGED]
    _lines(folder / "many.jsonl", found)
    by_category = [one for one in found if one["order"] == ["A", "B"]][::4][:VETTED]
    _lines(folder / "judgments.jsonl", by_category)
    _lines(folder / "items.jsonl", items)
    _lines(folder / "prompts.jsonl", [{"id": f"p{n}", "question": f"Explain tide number {n}."} for n in range(2)])
    cases = [flood("climate-1"), flood("rules-1", type="regulatory"), flood("world-1", type="geopolitical")]
    _lines(folder / "cases.jsonl", [one.model_dump(mode="json") for one in cases])
    _lines(folder / "questions.jsonl", [{"id": f"q{n}", "question": f"What is {n} + {n}?"} for n in range(3)])
    (folder / "panel.toml").write_text(PANEL)
    (folder / "discussion.toml").write_text(DISCUSSION)
    (folder / "service.toml").write_text(SERVICE)


def run_commands() -> None:
    """Every command once, then two decisions of a reviewer."""
    for name, arguments in COMMANDS.items():
        if name == "vet_calibrated":
            _check(calibrate().code, "calibrate")
        done = run(*arguments)
        _check(done.code, name, done.stdout + done.stderr)
    for outcome in ("approve", "reject"):
        given = run("review", "next", "--reviewer", "ada", "--json").json()
        done = run(
            "review", "decide", given["review_id"], "--reviewer", "ada", "--outcome", outcome, "--reason", "Checked."
        )
        _check(done.code, "review", done.stdout + done.stderr)


def run_service(folder: Path) -> None:
    """The requests of :func:`tests.stored.commands.requests`, and one job of three judgments."""
    lines = (folder / "judgments.jsonl").read_text().splitlines()[1:4]
    with service(folder) as client:
        for where, body in requests(folder).items():
            done = client.post(where, json=body)
            _check(done.status_code - 200, f"POST {where}", done.text)
        job = client.post("/v1/vet/batch", content="\n".join(lines), headers={"content-type": "application/x-ndjson"})
        _check(job.status_code - 202, "POST /v1/vet/batch", job.text)
        _wait(client, job.headers["location"])


def _wait(client: httpx2.Client, job: str) -> None:
    deadline = time.monotonic() + 30
    while (state := client.get(job).json()["state"]) != "done":
        if state in ("failed", "cancelled") or time.monotonic() > deadline:
            raise SystemExit(f"the job ended as {state}")
        time.sleep(0.05)


def _check(code: int, name: str, shown: str = "") -> None:
    if code:
        raise SystemExit(f"{name} ended with {code}: {shown}")


def _lines(path: Path, records: list[Any]) -> None:
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records))


def keep(folder: Path, asked: int) -> None:
    """Replaces the stored data with what the commands wrote."""
    for path in DATA.iterdir():
        if path.name != "README.md":
            path.unlink()
    for path in sorted(folder.iterdir()):
        if path.name in COMPRESSED:
            (DATA / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        elif path.suffix in (".json", ".jsonl", ".toml") and ".out." not in path.name:
            shutil.copy(path, DATA / path.name)
    _lines(DATA / "expected.json", [{"metajudge": __version__, "requests": asked, "results": results(folder)}])
    large = [path.name for path in DATA.iterdir() if path.stat().st_size > LARGEST]
    _check(len(large), "keep", f"{large} are larger than {LARGEST:,} bytes")


def main() -> None:
    with LLMServer(answer) as server, tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        with inside(folder, server.url):
            write_inputs(folder)
            run_commands()
            run_service(folder)
        keep(folder, server.count)


if __name__ == "__main__":
    main()
