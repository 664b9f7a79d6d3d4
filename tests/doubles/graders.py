"""Made-up judges of single responses whose skill is known, for calibrations of grades and categories."""

import numpy as np

from metajudge.types import Item, Judgment, parse_verdict

SKILLS = {"owl": 0.9, "wren": 0.8, "jay": 0.6}


def graded(questions=80, seed=0, *, kind="category", prefix="g", labelled=True, skills=SKILLS):
    """Every judge on every response: ``pass`` or ``fail``, or a grade from 1 to 5 that misses by one."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(questions):
        truth = ("pass", "fail")[rng.integers(2)] if kind == "category" else float(rng.integers(2, 5))
        item = Item(
            id=f"{prefix}{number}",
            question=f"{prefix} question {number}",
            responses={"A": f"response {number}"},
            category=("Math", "Code")[number % 2],
            label=parse_verdict(truth) if labelled else None,
        )
        for judge, skill in skills.items():
            right = rng.random() < skill
            wrong = ("fail" if truth == "pass" else "pass") if kind == "category" else truth + rng.choice([-1, 1])
            found.append(
                Judgment(
                    id=f"{prefix}{number}/{judge}",
                    item=item,
                    judge=judge,
                    verdict=parse_verdict(truth if right else wrong),
                    rationale="Read and checked.",
                )
            )
    return found


def chosen(questions=80, seed=0, *, prefix="c", skills=SKILLS):
    """Every judge chooses the best of four in two orders; the right one differs between items."""
    rng = np.random.default_rng(seed)
    found = []
    names = ("A", "B", "C", "D")
    for number in range(questions):
        best = names[rng.integers(4)]
        item = Item(
            id=f"{prefix}{number}",
            question=f"{prefix} question {number}",
            responses={name: f"{name} {number}" for name in names},
            label=parse_verdict(_first(best, names)),
        )
        for judge, skill in skills.items():
            for order in (names, names[::-1]):
                pick = best if rng.random() < skill else names[rng.integers(4)]
                found.append(
                    Judgment(
                        id=f"{prefix}{number}/{judge}/{order[0]}",
                        item=item,
                        judge=judge,
                        order=order,
                        verdict=parse_verdict(_first(pick, names)),
                    )
                )
    return found


def _first(name, names):
    return [[name], [one for one in names if one != name]]
