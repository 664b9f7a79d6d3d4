"""Result folders of live experiments whose scores are drawn, without any model."""

import numpy as np
from metajudge.benchmarks.live.experiment import read_candidates
from metajudge.benchmarks.live.folder import LiveRun, fix_plan, write_results
from metajudge.benchmarks.live.plan import make_plan
from metajudge.benchmarks.live.records import RunRecord, ScoreLine
from metajudge.benchmarks.live.scripted import HIGHEST, JUDGES, LOWEST, made_judgments
from metajudge.benchmarks.live.setup import checked_setup

from metajudge.readers import open_judgments

SETUP = {
    "title": "A small experiment",
    "one": "agent-1",
    "panel": ["agent-1", "agent-2"],
    "think": [{"name": "an analysis", "less": "agent-1-no-analysis", "more": "agent-1"}],
    "agents": {
        "agent-1": {"model": "openai:gpt-4o-mini", "analysis": True, "max_tokens": 500},
        "agent-2": {"model": "openai:gpt-4.1-mini", "analysis": True, "max_tokens": 500},
        "agent-1-no-analysis": {"model": "openai:gpt-4o-mini", "analysis": False, "max_tokens": 500},
    },
}


def setup(**changes):
    return checked_setup({**SETUP, **changes}, "the setup")


def made_file(path, questions=60, seed=0, judges=JUDGES):
    """Writes made judgments; gives the path."""
    path.write_text("".join(one.model_dump_json() + "\n" for one in made_judgments(questions, judges, seed)))
    return path


def candidates(folder, questions=60):
    return read_candidates(open_judgments([made_file(folder / "made.jsonl", questions)]))[0]


def scored(agent, item, knows, usd=0.001):
    return ScoreLine(
        agent=agent,
        judgment=item.judgment,
        score=HIGHEST if knows is item.right else LOWEST,
        calls=1,
        input_tokens=1000,
        output_tokens=100,
        usd=usd,
        latency_s=0.5,
    )


def result(folder, found, *, seed=1, accuracy=0.8, end="finished", questions=60, draw_seed=0, **changes):
    """Writes a result folder; ``found`` are candidates, ``changes`` of the setup."""
    plan, items = make_plan(
        setup(**changes),
        found,
        source="made",
        questions=questions,
        per_question=1,
        seed=draw_seed,
        budget_usd=5.0,
    )
    rng = np.random.default_rng(seed)
    lines = [scored(name, item, bool(rng.random() < accuracy)) for name in plan.setup.agents for item in items]
    run = RunRecord(
        run_id=f"{seed:032x}",
        plan=plan.digest,
        fixed_at="2026-11-23T08:00:00+00:00",
        end=end,
        spent_usd=sum(line.usd for line in lines),
        environment={"metajudge-vet": plan.metajudge},
    )
    fix_plan(folder, plan, items, run)
    write_results(folder, LiveRun(plan, items, lines, run))
    return folder
