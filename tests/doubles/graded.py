"""Small records of judges that call responses good or bad, in metajudge's own format."""

import json
from pathlib import Path
from typing import Any

JUDGES = ("ant", "bee", "cat", "dog")


def verdicts(questions: int, *, labelled: bool = True) -> list[dict[str, Any]]:
    """Four judges on so many responses: judge number j errs on every response whose number is j modulo 5 + j."""
    return [
        {
            "id": f"q{number}-{judge}",
            "item": {
                "id": f"q{number}",
                "question": f"Question {number}?",
                "responses": {"A": f"answer {number}"},
                **({"label": truth(number)} if labelled else {}),
            },
            "judge": judge,
            "verdict": truth(number) if number % (5 + place) != place else flipped(truth(number)),
        }
        for number in range(questions)
        for place, judge in enumerate(JUDGES)
    ]


def truth(number: int) -> str:
    """What is right of a response."""
    return "good" if number % 3 else "bad"


def flipped(word: str) -> str:
    """The other word."""
    return "bad" if word == "good" else "good"


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The records in a file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
