"""Live verdicts vetted inside the tools that make them, by the tools' own command lines; prints what the tools show.

    python -m benchmarks.interop.live promptfoo|inspect|deepeval|langgraph

To be run by a Python that has metajudge and, but for promptfoo, the tool (``pip install inspect-ai openai``,
``deepeval``, ``langgraph``); promptfoo is the command of the variable PROMPTFOO. Models and meta-judges are on loopback
(:mod:`benchmarks.interop.graders`): a meta-judge keeps the verdicts that the people of our cases agree with.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from . import graders, make_inspect, make_promptfoo
from .cases import CASES

_JUDGE_PROMPT = (
    "Question: {{question}}\n\nA: {{answer_a}}\n\nB: {{answer_b}}\n\nWhich answer is better? Reply with JSON: "
    '{"verdict": "A>B" or "B>A", "rationale": why}'
)
_SCORED = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import model_graded_qa

from benchmarks.interop.cases import CASES
from metajudge.adapters.inspect import vetted


@task
def cases(url: str):
    graded = model_graded_qa(model="openai-api/loopback/JUDGE")
    agents = [f"meta=openai:META@{url}"]
    options = {"store": "vetting.duckdb"}
    samples = [Sample(id=f"case-{at}", input=one.question, target=one.answer) for at, one in enumerate(CASES)]
    return Task(dataset=samples, scorer=vetted(graded, agents=agents, judge="JUDGE", options=options))
""".replace("JUDGE", graders.JUDGE).replace("META", graders.META_JUDGE)


_METRIC = """
import sys
from pathlib import Path

from benchmarks.interop import make_deepeval
from metajudge.adapters.deepeval import Vetted

url = sys.argv[1]
graded, *_ = make_deepeval.metrics(url)
metric = Vetted(graded, agents=[f"meta=openai:META@{url}"])
for result in make_deepeval.evaluate([metric], Path("runs")).test_results:
    (one,) = result.metrics_data
    print(f"  {result.input}: success {one.success}, score {one.score}: {(one.error or one.reason)!r}")
""".replace("META", graders.META_JUDGE)
_GRAPH = """
import sys

from langgraph.graph import START, StateGraph

from benchmarks.interop.cases import CASES
from metajudge.adapters.langgraph import route, vet_node


def passing(name):
    return lambda state: {**state, "went": name}


graph = StateGraph(dict)
graph.add_node("vet", vet_node([f"meta=openai:META@{sys.argv[1]}"], judge="JUDGE"))
graph.add_edge(START, "vet")
graph.add_conditional_edges("vet", route)
for name in ("keep", "ask", "discard"):
    graph.add_node(name, passing(name))
compiled = graph.compile()
for case in CASES:
    state = {"question": case.question, "answer": case.answer, "verdict": case.judge, "rationale": "As it is."}
    ended = compiled.invoke(state)
    print(f"  {case.question}: went to {ended['went']}: {ended['vetted']['reason']}")
""".replace("META", graders.META_JUDGE).replace("JUDGE", graders.JUDGE)


def main(tool: str) -> None:
    """Runs one tool."""
    runs: dict[str, Callable[[Path, str], None]] = {
        "promptfoo": _promptfoo,
        "inspect": _inspect,
        "deepeval": _deepeval,
        "langgraph": _langgraph,
    }
    os.environ["OPENAI_API_KEY"] = "sk-loopback"
    with tempfile.TemporaryDirectory() as work, graders.serving() as url:
        runs[tool](Path(work), url)


def _promptfoo(work: Path, url: str) -> None:
    """Twice with four workers and one store: the second time the store answers."""
    (work / "vet.py").write_text("from metajudge.adapters.promptfoo import get_assert\n")
    os.environ["PROMPTFOO_PYTHON"] = sys.executable
    agents = [f"meta=openai:{graders.META_JUDGE}@{url}"]
    vetted = {"agents": agents, "responses": {"A": "answer_a", "B": "answer_b"}, "store": str(work / "vetting.duckdb")}
    config = {
        "prompts": [_JUDGE_PROMPT],
        "providers": [make_promptfoo.model(url, graders.JUDGE)],
        "tests": [
            {
                "vars": {"question": case.question, "answer_a": case.answer, "answer_b": "I do not know."},
                "assert": [{"type": "python", "value": "file://vet.py", "config": vetted}],
            }
            for case in CASES
        ],
    }
    print(f"promptfoo {make_promptfoo.run(work, '--version').strip()}")
    for name in ("first.json", "again.json"):
        graders.ASKED.clear()
        make_promptfoo.evaluate(work, config, name)
        for result in json.loads((work / name).read_text())["results"]["results"]:
            (graded,) = result["gradingResult"]["componentResults"]
            outcome = "pass" if graded["pass"] else "fail"
            print(f"  {result['vars']['question']}: {outcome} {graded['score']}: {graded['reason'].splitlines()[0]}")
        print(f"  the meta-judge was asked {graders.ASKED[graders.META_JUDGE]} times")


def _inspect(work: Path, url: str) -> None:
    (work / "task.py").write_text(_SCORED)
    print(f"inspect_ai {version('inspect_ai')}")
    written = make_inspect.run(work, url, "eval", "task.py", "-T", f"url={url}", "--log-format", "json")
    log = json.loads(written.read_text())
    for sample in log["samples"]:
        (score,) = sample["scores"].values()
        said = score["metadata"]["metajudge"]
        counted = "unscored" if isinstance(score["value"], float) else score["value"]
        print(f"  {sample['input']}: {counted} (the grade was {said['grade']}): {said['reason']}")
    (scored,) = log["results"]["scores"]
    numbers = {name: one["value"] for name, one in scored["metrics"].items()}
    print(f"  scored {scored['scored_samples']}, unscored {scored['unscored_samples']}, {numbers}")


def _deepeval(work: Path, url: str) -> None:
    _program(work, url, "deepeval", _METRIC)


def _langgraph(work: Path, url: str) -> None:
    print(f"langgraph {version('langgraph')}")
    _program(work, url, "langgraph", _GRAPH)


def _program(work: Path, url: str, tool: str, text: str) -> None:
    """Runs a program as a user of the tool writes it; shows the lines that are ours."""
    (work / "program.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "program.py", url],
        cwd=work,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    if done.returncode:
        raise SystemExit(f"{tool} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    questions = tuple(f"  {case.question}" for case in CASES)
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith((f"{tool} ", *questions))))


if __name__ == "__main__":
    main(sys.argv[1])
