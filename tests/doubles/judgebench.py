"""Small records in JudgeBench's folder layout."""

CATEGORIES = ("Knowledge", "Reasoning", "Math", "Coding")


def pair(number, label="A>B", **changes):
    data = {
        "dataset": "judgebench",
        "subset": "made-up",
        "category": CATEGORIES[number % 4],
        "item_id": f"p{number}",
        "response_model": "writer",
        "question": f"What is {number} + {number}?",
        "response_a": str(2 * number),
        "response_b": str(2 * number + 1),
        "label": label,
    }
    return {**data, **changes}


def game(number, order, decision, judge="owl", label="A>B", **changes):
    """One game; ``decision`` and ``label`` are in the order shown."""
    data = {
        "dataset": "judgebench",
        "item_id": f"p{number}",
        "judge_model": judge,
        "judge_prompt": "arena_hard",
        "order": order,
        "label": label,
        "decision": decision,
        "verdict": decision,
        "judgment_text": f"I looked at both answers to question {number} with care. My final verdict is [[{decision}]]",
    }
    return {**data, **changes}
