"""Made-up judges whose skill is known, for calibrations."""

import numpy as np

from metajudge.types import Judgment

SKILLS = {"owl": 0.9, "wren": 0.75, "jay": 0.55}


def crowd(questions=60, seed=0, skills=SKILLS, categories=("Math", "Code"), prefix="q", labelled=True):
    """Every judge on every item in both orders; a strong verdict is right more often than a plain one."""
    rng = np.random.default_rng(seed)
    judgments = []
    for number in range(questions):
        right, wrong = ("A", "B") if rng.random() < 0.5 else ("B", "A")
        item = {
            "id": f"{prefix}{number}",
            "question": f"{prefix} question {number}",
            "responses": {"A": f"one {number}", "B": f"two {number}"},
            "category": categories[number % len(categories)],
            "label": f"{right}>{wrong}" if labelled else None,
        }
        for judge, skill in skills.items():
            for order in (["A", "B"], ["B", "A"]):
                strong = rng.random() < 0.5
                good = rng.random() < min(0.97, skill + (0.08 if strong else -0.08))
                winner, loser = (right, wrong) if good else (wrong, right)
                judgments.append(
                    Judgment.model_validate(
                        {
                            "id": f"{prefix}{number}/{judge}/{''.join(order)}",
                            "item": item,
                            "judge": judge,
                            "order": order,
                            "verdict": f"{winner}{'>>' if strong else '>'}{loser}",
                            "rationale": f"Assistant {winner if order[0] == 'A' else loser} is better.",
                        }
                    )
                )
    return judgments


def relabelled(judgments):
    """The same judgments with the responses' ids exchanged everywhere."""
    names = {"A": "B", "B": "A"}

    def item(one):
        return one.model_copy(
            update={
                "responses": {names[name]: text for name, text in one.responses.items()},
                "label": None if one.label is None else one.label.relabelled(names),
            }
        )

    return [
        Judgment.model_validate(
            {
                "id": one.id,
                "item": item(one.item).model_dump(mode="json"),
                "judge": one.judge,
                "order": [names[name] for name in one.order],
                "verdict": None if one.verdict is None else one.verdict.relabelled(names).to_json(),
                "no_verdict": one.no_verdict,
            }
        )
        for one in judgments
    ]
