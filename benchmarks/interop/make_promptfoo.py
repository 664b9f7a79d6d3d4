"""Writes promptfoo's results of our cases: ``npm install promptfoo``, then run this module with a folder.

``PROMPTFOO='node .../node_modules/.bin/promptfoo' python -m benchmarks.interop.make_promptfoo DIR`` runs ``promptfoo
eval`` against a server on loopback (:mod:`benchmarks.interop.graders`), with two metrics that a model grades, one that
a program decides, a test that is repeated, and ``select-best`` over two prompts. It rates an output as a person does in
``promptfoo view``, through that server. Written are, in ``promptfoo/``, ``results.jsonl`` and ``results.csv`` by the
evaluation, ``results.json`` by ``promptfoo export`` after the rating, and ``best.json``.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import graders
from .cases import CASES

_QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "NODE_NO_WARNINGS": "1",
    "NO_COLOR": "1",
}
RATED = 1
"""The case whose output a person rates: the judge calls it right, the people wrong."""


def main(folder: Path) -> None:
    """Writes the four files."""
    target = folder / "promptfoo"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made, graders.serving() as url:
        work = Path(made)
        evaluate(work, grading(url), "results.json", "results.jsonl", "results.csv")
        name = json.loads((work / "results.json").read_text())["evalId"]
        with _viewer(work) as address:
            _rate(address, name, json.loads((work / "results.json").read_text()))
        run(work, "export", "eval", name, "-o", "rated.json")
        evaluate(work, _best(url), "best.json")
        data = {"results.json": "rated.json", "results.jsonl": "results.jsonl", "results.csv": "results.csv"}
        for written, read in {**data, "best.json": "best.json"}.items():
            (target / written).write_bytes((work / read).read_bytes())
            print(f"wrote {written}: {(target / written).stat().st_size:,} bytes")


def run(work: Path, *words: str, code: int = 0) -> str:
    """Runs promptfoo with its own folder below ``work``; gives what it printed."""
    done = subprocess.run(
        [*command(), *words], cwd=work, env=environment(work), capture_output=True, text=True, check=False
    )
    print(f"$ promptfoo {' '.join(words)}   (exit code {done.returncode})")
    if done.returncode not in (0, code):
        raise SystemExit(f"promptfoo ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def evaluate(work: Path, config: dict[str, Any], *files: str, workers: int = 4) -> str:
    """Runs an evaluation; promptfoo's exit code 100 says that some assertion failed."""
    (work / "promptfooconfig.json").write_text(json.dumps(config, indent=1))
    quiet = ["--no-cache", "--no-table", "--no-progress-bar", "--no-share"]
    words = ["eval", "-c", "promptfooconfig.json", "-j", str(workers), *quiet, "-o", *files]
    return run(work, *words, code=100)


def command() -> list[str]:
    """promptfoo, by the variable PROMPTFOO."""
    return shlex.split(os.environ.get("PROMPTFOO", "promptfoo"))


def environment(work: Path) -> dict[str, str]:
    """Its own folder, and nothing sent elsewhere."""
    return os.environ | _QUIET | {"PROMPTFOO_CONFIG_DIR": str(work / "promptfoo")}


def model(url: str, name: str) -> dict[str, Any]:
    """A provider of promptfoo on our server."""
    return {"id": f"openai:chat:{name}", "config": {"apiBaseUrl": url, "apiKey": "sk-loopback"}}


def grading(url: str) -> dict[str, Any]:
    """An evaluation of the cases' answers by a judge."""
    rubric = {"type": "llm-rubric", "value": "The answer to this is right: {{question}}", "metric": "correctness"}
    tone = {"type": "g-eval", "value": "The tone is friendly.", "metric": "tone"}
    tests: list[dict[str, Any]] = [
        {"vars": {"question": case.question}, "metadata": {"category": "knowledge"}, "assert": [rubric]}
        for case in CASES
    ]
    tests[0]["assert"] = [rubric, tone, {"type": "contains", "value": "144"}]
    tests[0]["options"] = {"repeat": 2}
    return _config(url, ["{{question}}"], tests)


def _best(url: str) -> dict[str, Any]:
    best = {"type": "select-best", "value": "The shorter question."}
    return _config(url, ["{{question}}", "Say briefly: {{question}}"], [{"vars": _question(0), "assert": [best]}])


def _question(number: int) -> dict[str, str]:
    return {"question": CASES[number].question}


def _config(url: str, prompts: list[str], tests: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "description": "our cases",
        "prompts": prompts,
        "providers": [model(url, graders.ANSWERER)],
        "defaultTest": {"options": {"provider": model(url, graders.JUDGE)}},
        "tests": tests,
    }


@contextmanager
def _viewer(work: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*command(), "view", "--no", "--port", str(port)]
    server = subprocess.Popen(words, cwd=work, env=environment(work), stdout=subprocess.DEVNULL)
    try:
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                    break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.5)
        else:
            raise SystemExit("promptfoo view did not start within a minute")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _rate(address: str, name: str, written: dict[str, Any]) -> None:
    """Rates an output "fail", with the request that the page of ``promptfoo view`` makes."""
    question = CASES[RATED].question
    result = next(one for one in written["results"]["results"] if one["vars"]["question"] == question)
    why = "Manual result (overrides all other grading results)"
    rating = {"pass": False, "score": 0, "reason": why, "assertion": {"type": "human"}}
    graded = result["gradingResult"]
    whole = {**graded, "pass": False, "score": 0, "reason": why}
    whole["componentResults"] = [*graded["componentResults"], rating]
    request = urllib.request.Request(
        f"{address}/api/eval/{name}/results/{result['id']}/rating",
        json.dumps(whole).encode(),
        {"content-type": "application/json", "origin": address},
    )
    with urllib.request.urlopen(request) as answer:
        print(f"POST /api/eval/.../results/.../rating   ({answer.status})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
