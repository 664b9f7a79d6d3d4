"""A small made study in the shape of the recorded one."""

import json
import random
from typing import Any

PANEL = ("acme/judge-a", "bolt/judge-b", "corp/judge-c")


def vote(judge: str, first: str, role: str = "supreme") -> dict[str, Any]:
    return {"judge": judge, "role": role, "ranking": [first, "A1" if first == "A0" else "A0"]}


def row(
    number: int | str,
    votes: str = "aaa",
    *,
    human: str | None = "a",
    experiment: str = "mtbench",
    run: int = 1,
    swapped: bool = False,
    candidate: str | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """One evaluation of gpt-4 (a) against claude-v1 (b).

    ``votes`` has a letter a panel judge: a, b, or - for a lost one; ``candidate`` is what gpt-4 itself voted. The
    verdict is the panel's majority.
    """
    sides = {"a": "gpt-4", "b": "claude-v1"}
    labels = {"A0": "claude-v1", "A1": "gpt-4"} if swapped else {"A0": "gpt-4", "A1": "claude-v1"}
    shown = {model: label for label, model in labels.items()}
    judges = [vote(name, shown[sides[said]]) for name, said in zip(PANEL, votes, strict=True) if said != "-"]
    if candidate is not None:
        judges.insert(0, vote("openai/gpt-4", shown[sides[candidate]], "candidate"))
    winner = "gpt-4" if votes.count("a") > votes.count("b") else "claude-v1"
    return {
        "row_id": f"{experiment}-r{run}-{number}",
        "experiment": experiment,
        "run": run,
        "eval_id": number,
        "published": True,
        "status": "ok",
        "question_id": number,
        "model_a": "gpt-4",
        "model_b": "claude-v1",
        "human_winner": None if human is None else sides[human],
        "ai_winner": winner,
        "label_map": labels,
        "judges": judges,
        "cost_usd": 0.1,
        "elapsed_s": 30.0,
        "confidence_recorded": 6,
        **changes,
    }


def lost(number: int, **changes: Any) -> dict[str, Any]:
    """An evaluation that came to nothing."""
    nothing = {"status": "no_verdict", "ai_winner": None, "label_map": None, "judges": [], "cost_usd": 0}
    return row(number, **(nothing | changes))


def relabelled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same evaluations with A0 and A1 exchanged everywhere."""
    other = {"A0": "A1", "A1": "A0"}
    return [
        {
            **one,
            "label_map": None if one["label_map"] is None else {other[k]: v for k, v in one["label_map"].items()},
            "judges": [{**v, "ranking": [other[label] for label in v["ranking"]]} for v in one["judges"]],
        }
        for one in rows
    ]


def study(seed: int = 1) -> list[dict[str, Any]]:
    """Some sixty evaluations of all three experiments."""
    rng = random.Random(seed)
    rows = [
        row(
            n,
            "".join(rng.choices("ab", [3, 1], k=3)),
            candidate=rng.choice([None, "a", "b"]),
            swapped=rng.random() < 0.5,
        )
        for n in range(1, 21)
    ]
    for run in (1, 2):
        rows += [
            row(n, "".join(rng.choices("ab", [2, 1], k=3)), experiment="arena", run=run, swapped=rng.random() < 0.5)
            for n in range(1, 13)
        ]
    kinds = ("STABLE_WRONG", "UNSTABLE", "LOW_CONF_OK")
    rows += [
        row(n, "".join(rng.choices("ab", k=3)), experiment="arena", run=3, category=kinds[n % 3]) for n in range(1, 7)
    ]
    for run in (1, 2, 3):
        rows += [
            row(f"p{n}", "".join(rng.choices("ab", k=3)), experiment="e2e", run=run, human=None)
            | {"e2e": {"difficulty": "easy" if n < 3 else "hard", "hash_a": f"{run}{n}", "hash_b": f"{n}"}}
            for n in range(1, 5)
        ]
    return rows


def write(path: Any, rows: list[dict[str, Any]]) -> Any:
    """Writes evaluations.jsonl into a folder and returns the folder."""
    path.mkdir(exist_ok=True)
    (path / "evaluations.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def values(found: dict[str, Any]) -> dict[str, Any]:
    """Value, n and interval of each figure."""
    return {name: (one.value, one.n, one.ends) for name, one in found.items()}
