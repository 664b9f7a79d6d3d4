"""Writes Inspect's logs of our cases: ``pip install inspect-ai openai``, then run this module with a folder.

``python -m benchmarks.interop.make_inspect DIR`` runs ``inspect eval`` against a server on loopback
(:mod:`benchmarks.interop.graders`): two scorers whose grades a model gives, one by a majority of two models, and one
that a program decides. Written are, in ``inspect/``, ``log.eval``, the same log as
``log.json`` after a person corrected a grade with ``edit_score``, and ``failed.json``, of an evaluation that ended with
an error. All are written by Inspect, without the samples' events and without stack traces, which are long.
"""

import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from . import graders

RATED = 1
"""The case whose grade a person corrects: the judge calls its answer right, the people wrong."""
_TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes, model_graded_fact, model_graded_qa

from benchmarks.interop.cases import CASES


def samples():
    return [
        Sample(id=f"case-{at}", input=case.question, target=case.answer, metadata={"category": "knowledge"})
        for at, case in enumerate(CASES)
    ]


@task
def cases():
    one, second = "openai-api/loopback/JUDGE", "openai-api/loopback/second"
    panel = model_graded_fact(model=[one, second])
    return Task(dataset=samples(), scorer=[model_graded_qa(model=one), panel, includes()])


@task
def unknown():
    return Task(dataset=samples()[:1], scorer=model_graded_qa(model="openai-api/loopback/refused"), fail_on_error=True)
""".replace("JUDGE", graders.JUDGE)


def main(folder: Path) -> None:
    """Writes the three logs."""
    target = folder / "inspect"
    target.mkdir(parents=True, exist_ok=True)
    log: Any = import_module("inspect_ai.log")
    metric: Any = import_module("inspect_ai.scorer")
    with tempfile.TemporaryDirectory() as made, graders.serving() as url:
        work = Path(made)
        (work / "task.py").write_text(_TASK)
        written = run(work, url, "eval", "task.py@cases", "--log-format", "eval")
        failed = run(work, url, "eval", "task.py@unknown", "--log-format", "json", code=None)
        read = _short(log.read_eval_log(str(written)))
        log.write_eval_log(read, str(target / "log.eval"), format="eval")
        log.write_eval_log(_short(log.read_eval_log(str(failed))), str(target / "failed.json"), format="json")
        who = log.ProvenanceData(author="anna", reason="Mercury is nearest.", timestamp="2026-11-02T10:00:00+00:00")
        edit = metric.ScoreEdit(value="I", provenance=who)
        log.edit_score(read, f"case-{RATED}", "model_graded_qa", edit)
        log.write_eval_log(read, str(target / "log.json"), format="json")
    for name in ("log.eval", "log.json", "failed.json"):
        print(f"wrote {name}: {(target / name).stat().st_size:,} bytes")


def _short(read: Any) -> Any:
    for sample in read.samples:
        sample.events, sample.attachments = [], {}
        sample.error_retries = []
    for error in (read.error, *(sample.error for sample in read.samples)):
        if error is not None:
            error.message, error.traceback, error.traceback_ansi = error.message.partition("(")[0], "", ""
    return read


def run(work: Path, url: str, *words: str, code: int | None = 0) -> Path:
    """Runs `inspect` with its logs below ``work``; gives the log written, and prints what was run."""
    before = {*(work / "logs").glob("*")}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("inspect")), *words, "--model", f"openai-api/loopback/{graders.ANSWERER}"],
        cwd=work,
        env=environment(url),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    print(f"$ inspect {' '.join(words)}   (exit code {done.returncode})")
    if code is not None and done.returncode != code:
        raise SystemExit(f"inspect ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    (written,) = {*(work / "logs").glob("*")} - before
    return written


def environment(url: str) -> dict[str, str]:
    """Our server in place of OpenAI's, and this folder for what a task imports."""
    ours = {"LOOPBACK_BASE_URL": url, "LOOPBACK_API_KEY": "sk-loopback", "PYTHONPATH": str(Path.cwd())}
    return os.environ | ours | {"INSPECT_DISPLAY": "plain", "NO_COLOR": "1"}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
