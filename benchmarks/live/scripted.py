"""Models with planted error rates: made judgments, and a server that knows with a set probability which are right.

    python -m metajudge.benchmarks.live.scripted --port 8901 --out made.jsonl [--questions 200] [--seed 0]
    OPENAI_API_KEY=any metajudge bench live made.jsonl --agent openai:gpt-4.1-mini@http://127.0.0.1:8901/v1 --agent ...

Whether an agent is right about a judgment depends on the seed, the model, its settings and the judgment alone, so the
same request always gets the same answer. What is planted is the probability of being right; right means the highest
score for a right verdict and the lowest for a wrong one.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from metajudge.types import Judgment

from ..upstream import Upstream, instance, serve

_RECORD = re.compile(r"record (q\d{1,9}/[a-z]{1,20})\b")
HIGHEST, LOWEST = 5, 1
JUDGES: Mapping[str, float] = {"ada": 0.65, "bea": 0.65, "cid": 0.65}
DEFAULT = 0.75


def made_judgments(questions: int, judges: Mapping[str, float] = JUDGES, seed: int = 0) -> list[Judgment]:
    """Sums with a right and a wrong answer; judges err independently.

    Args:
        questions: how many.
        judges: name -> probability that its verdict is right.
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    found = []
    for number in range(questions):
        a, b = (int(one) for one in rng.integers(10, 100, 2))
        first = bool(rng.random() < 0.5)
        sides = ("A>B", "B>A") if first else ("B>A", "A>B")
        item = {
            "id": f"q{number}",
            "question": f"Sum {number}: what is {a} + {b}?",
            "responses": {"A": str(a + b + (not first)), "B": str(a + b + first)},
            "label": sides[0],
            "category": ("small", "large")[a + b > 110],
        }
        for judge, accuracy in judges.items():
            verdict = sides[rng.random() >= accuracy]
            found.append(
                Judgment.model_validate(
                    {
                        "id": f"q{number}/{judge}",
                        "item": item,
                        "judge": judge,
                        "verdict": verdict,
                        "rationale": f"I added digit by digit (record q{number}/{judge}).",
                        "order": ["A", "B"],
                    }
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class Scripted:
    """Answers requests of OpenAI's protocol about made judgments.

    Attributes:
        right: judgment id -> whether its verdict is right.
        accuracy: ``MODEL``, ``MODEL analysis``, ``MODEL no analysis`` or ``MODEL EFFORT`` -> probability of being
            right; the longest matching name counts, else :data:`DEFAULT`.
        seed: of the errors.
    """

    right: Mapping[str, bool]
    accuracy: Mapping[str, float]
    seed: int = 0

    @classmethod
    def of(cls, judgments: Sequence[Judgment], accuracy: Mapping[str, float], seed: int = 0) -> "Scripted":
        """Knows the labels of these judgments."""
        return cls({one.id: one.right() is True for one in judgments}, accuracy, seed)

    def answer(self, body: dict[str, Any]) -> str:
        """The text of the answer to one request."""
        schema = body["response_format"]["json_schema"]["schema"]
        text = " ".join(str(message["content"]) for message in body["messages"])
        record = _RECORD.search(text)
        if record is None or record.group(1) not in self.right:
            return "I do not know this judgment."
        name = str(body["model"])
        effort = body.get("reasoning_effort")
        form = "analysis" if "analysis" in schema["properties"] else "no analysis"
        names = [f"{name} {effort}", f"{name} {form}", name]
        planted = next((self.accuracy[one] for one in names if one in self.accuracy), DEFAULT)
        right = self.right[record.group(1)]
        knows = _draw(self.seed, name, str(effort), form, record.group(1)) < planted
        return json.dumps(instance(schema, HIGHEST if knows is right else LOWEST))


def _draw(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7]) / 2**56


def planted_area(accuracies: Sequence[float]) -> float:
    """The area under the ROC curve of the mean score of agents with these probabilities of being right."""
    of_right: dict[int, float] = {}
    of_wrong: dict[int, float] = {}
    for outcome in product((True, False), repeat=len(accuracies)):
        chance = float(np.prod([one if hit else 1 - one for one, hit in zip(accuracies, outcome, strict=True)]))
        high = sum(outcome)
        of_right[high] = of_right.get(high, 0.0) + chance
        of_wrong[len(outcome) - high] = of_wrong.get(len(outcome) - high, 0.0) + chance
    pairs = [(p * q, one, other) for one, p in of_right.items() for other, q in of_wrong.items()]
    return sum(p if one > other else p / 2 if one == other else 0.0 for p, one, other in pairs)


def main(
    port: Annotated[int, typer.Option()],
    out: Annotated[Path, typer.Option(help="Write the made judgments to this file.")],
    questions: int = 200,
    seed: int = 0,
    accuracy: Annotated[list[str] | None, typer.Option(help="NAME=SHARE, see Scripted.accuracy.")] = None,
) -> None:
    """Writes made judgments and serves models that know a set share of them, until it is interrupted."""
    judgments = made_judgments(questions, seed=seed)
    out.write_text("".join(one.model_dump_json() + "\n" for one in judgments), encoding="utf-8")
    planted = {name: float(share) for name, _, share in (one.rpartition("=") for one in accuracy or ())}
    serve(Upstream(0.0, Scripted.of(judgments, planted, seed).answer), port)


if __name__ == "__main__":
    typer.run(main)
