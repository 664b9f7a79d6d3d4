"""Made verdicts at scale: natural, escaped texts of a chosen length, several judges, both orders. Nothing is recorded.

Texts have words of uneven frequency, sentences, paragraphs, quotation marks, apostrophes, code, accents and symbols:
what a JSON parser must unescape and decode decides what parsing costs, and so every ratio to it. The same arguments
write the same bytes.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

SYLLABLES = tuple(
    "an ber con dis el for gra hin is jo ka lor men nu of pre qua ra sto ti un ver wa xi yon ze".split()  # noqa: SIM905
)
OPENINGS = ("I worked through the task first.", "Both responses address the question.", "Checking each step:")
SYMBOLS = (" “quoted” ", " (e.g. `f(x)`) ", " … ", " naïve ", " \\frac{a}{b} ", ' "as asked" ', "\n\n", "\n- ", " → ")


@dataclass(frozen=True, slots=True)
class Shape:
    """What to make.

    Attributes:
        judgments: how many, at least 1.
        characters: of question, responses and rationale of one judgment together, about.
    """

    judgments: int
    judges: int = 5
    characters: int = 2000
    share_right: float = 0.75
    labelled: bool = False


def made_lines(shape: Shape, seed: int = 0) -> Iterator[bytes]:
    """One line of metajudge JSONL each, sorted by item."""
    rng = random.Random(seed)
    prose = _made_prose(rng, 400_000)
    left, number = shape.judgments, 0
    while left > 0:
        for line in _item_lines(shape, rng, prose, number)[:left]:
            yield line
            left -= 1
        number += 1


def _item_lines(shape: Shape, rng: random.Random, prose: str, number: int) -> list[bytes]:
    quarter = shape.characters // 4
    best = rng.choice(("A", "B"))
    item: dict[str, Any] = {
        "id": f"item-{number}",
        "question": f"{_passage(rng, prose, quarter)} ({number})",
        "responses": {name: _passage(rng, prose, quarter) for name in "AB"},
        "category": rng.choice(("Coding", "Knowledge", "Math", "Reasoning")),
    }
    if shape.labelled:
        item["label"] = "A>B" if best == "A" else "B>A"
    lines = []
    for judge in range(shape.judges):
        for order in ("AB", "BA"):
            winner = best if rng.random() < shape.share_right else "AB".replace(best, "")
            loser = "AB".replace(winner, "")
            sign = rng.choice((">", ">>"))
            said = f"Assistant {winner} is better.\n\nMy final verdict is: [[{winner}{sign}{loser}]]"
            made = {
                "id": f"item-{number}/judge-{judge}/{order}",
                "item": item,
                "judge": f"judge-{judge}",
                "verdict": f"{winner}{sign}{loser}",
                "rationale": f"{rng.choice(OPENINGS)} {_passage(rng, prose, quarter)}\n\n{said}",
                "order": list(order),
            }
            lines.append(orjson.dumps(made) + b"\n")
    return lines


def _passage(rng: random.Random, prose: str, length: int) -> str:
    start = rng.randrange(len(prose) - length)
    return prose[start : start + length]


def _made_prose(rng: random.Random, length: int) -> str:
    """Text of at least this many characters, of which passages are taken."""
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(3000)]
    weights = [1 / (place + 10) for place in range(len(words))]
    parts: list[str] = []
    size = 0
    while size < length:
        sentence = " ".join(rng.choices(words, weights, k=rng.randint(6, 20))).capitalize() + "."
        if rng.random() < 0.4:
            sentence += rng.choice(SYMBOLS)
        parts.append(sentence)
        size += len(sentence) + 1
    return " ".join(parts)
