"""Judgments in which nothing varies, or hardly anything is there: constant, identical, single, tied, without a verdict."""

import json
from pathlib import Path

KINDS = {
    "pairwise": ("A>B", "B>A", "A=B"),
    "ranking": ([["A"], ["B"], ["C"]], [["C"], ["B"], ["A"]], [["A", "B", "C"]]),
    "grade": (5, 1, 3),
    "category": ("good", "bad", "so-so"),
}
"""Kind -> a verdict, its opposite, and one between them."""
TEXTS = {"pairwise": 2, "ranking": 3, "grade": 1, "category": 1}

SHAPES = {
    "constant": lambda one, two, _: [(n, judge, one, (one, two)[n % 2]) for n in range(60) for judge in "ab"],
    "constant_wrong": lambda one, two, _: [(n, judge, one, two) for n in range(60) for judge in "abc"],
    "identical": lambda one, two, _: [
        (n, judge, (one, two)[n % 3 == 0], (one, two)[n % 2]) for n in range(60) for judge in "abc"
    ],
    "few": lambda one, two, _: [(n, judge, (one, two)[n == ord(judge) % 4], one) for n in range(4) for judge in "abc"],
    "single": lambda one, _two, _: [(0, "a", one, one)],
    "unlabelled": lambda one, _two, _: [(n, judge, one, None) for n in range(60) for judge in "abcd"],
    "ties": lambda one, two, tie: [(n, judge, tie, (one, two)[n % 2]) for n in range(60) for judge in "ab"],
    "tied_labels": lambda one, two, tie: [(n, judge, (one, two)[n % 2], tie) for n in range(60) for judge in "ab"],
    "missing": lambda one, two, _: [(n, judge, None, (one, two)[n % 2]) for n in range(60) for judge in "ab"],
}
"""Name -> item, judge, verdict and label of each judgment, from the verdicts of a kind."""


def records(kind: str, shape: str) -> list[dict]:
    """The judgments of a shape; 0 to 240 records."""
    return [_record(kind, *given) for given in SHAPES[shape](*KINDS[kind])]


def written(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _record(kind, number, judge, verdict, label):
    names = "ABC"[: TEXTS[kind]]
    return {
        "id": f"{judge}-{number}",
        "judge": judge,
        "order": list(names),
        "rationale": f"Because {number}.",
        "verdict": verdict,
        **({"no_verdict": "unparsable"} if verdict is None else {}),
        "item": {
            "id": f"i{number}",
            "question": f"Question {number}?",
            "responses": {name: f"text {name} of {number}" for name in names},
            **({} if label is None else {"label": label}),
        },
    }
