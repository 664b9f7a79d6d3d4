"""Small judgments and replies for tests."""

import json

from metajudge.reviews.review import Review
from metajudge.rubric import Rubric, load_rubric
from metajudge.types import Assessment, Judgment, Status

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


def assessed(one, score=5.0, panel="p", **changes):
    """What a panel found of a judgment: accepted, and nothing said of agents or signals."""
    data = {
        "judgment_id": one.id,
        "item_id": one.item.id,
        "judge": one.judge,
        "judgment_digest": one.digest,
        "status": Status.ASSESSED,
        "final_score": score,
        "accepted": True,
        "strategy": "single",
        "threshold": 4.5,
        "panel_digest": panel,
        "metajudge_version": "0",
    }
    return Assessment(**{**data, **changes})


def review_on(one, **changes):
    """A review of a judgment, opened by a policy that asks people."""
    data = {
        "review_id": one.id,
        "subject_id": one.id,
        "subject_digest": one.digest,
        "item_id": one.item.id,
        "judge": one.judge,
        "action": "REVIEW",
        "opened_at": 1.0,
    }
    return Review(**{**data, **changes})


def reply(score=5, rubric: Rubric | None = None, **scores) -> str:
    """A reply that gives every criterion the same score, except those named."""
    rubric = rubric or load_rubric("short")
    if rubric.kind == "binary":
        return json.dumps({"correct": {"explanation": "checked", "verdict": "correct" if score >= 3 else "wrong"}})
    given = {name: scores.get(name, score) for name in rubric.scored_names}
    return json.dumps({name: {"explanation": f"on {name}", "score": value} for name, value in given.items()})
