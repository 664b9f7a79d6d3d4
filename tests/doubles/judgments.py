"""Small judgments and replies for tests."""

import json

from metajudge.rubric import Rubric, load_rubric
from metajudge.types import Judgment

CRITERIA = ("accuracy", "logical_soundness", "completeness", "fairness", "relevance", "clarity", "impactfulness")


def judgment(id="j1", *, verdict="A>B", category=None, label="A>B", judge="owl", order=("A", "B"), **changes):
    """A small pairwise judgment."""
    data = {
        "id": id,
        "item": {
            "id": changes.pop("item_id", f"item-{id}"),
            "question": changes.pop("question", f"What is 2 + 2? ({id})"),
            "responses": {"A": "4", "B": "5"},
            "category": category,
            "label": label,
        },
        "judge": judge,
        "verdict": verdict,
        "rationale": "Assistant A adds correctly.",
        "order": list(order),
    }
    return Judgment.model_validate({**data, **changes})


def reply(score=5, rubric: Rubric | None = None, **scores) -> str:
    """A reply that gives every criterion the same score, except those named."""
    rubric = rubric or load_rubric("short")
    if rubric.kind == "binary":
        return json.dumps({"correct": {"explanation": "checked", "verdict": "correct" if score >= 3 else "wrong"}})
    given = {name: scores.get(name, score) for name in rubric.scored_names}
    return json.dumps({name: {"explanation": f"on {name}", "score": value} for name, value in given.items()})
