"""Evaluations of a small panel, and judges that rank by a rule."""

import json
import random
from typing import Any

from metajudge.benchmarks.reliability.records import Evaluation

from metajudge.clashes.clash import Clash, Judge
from metajudge.errors import RateLimitedError
from metajudge.providers.model import ModelRequest
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Item

JUDGES = ("owl", "hawk", "wren")


def evaluation(item: str, letters: str = "aaa", *, run: int = 1, human: str = "a", **changes: Any) -> Evaluation:
    """``letters`` has a letter a judge: a, b, or - for none; the winner is who has more, a tie where nobody has."""
    said = {judge: None if vote == "-" else vote for judge, vote in zip(JUDGES, letters, strict=True)}
    lead = letters.count("a") - letters.count("b")
    status = "no_verdict" if letters == "---" else "tie" if lead == 0 else "ok"
    made: dict[str, Any] = {
        "item": item,
        "run": run,
        "cluster": item,
        "sides": ("a", "b"),
        "human": human,
        "status": status,
        "winner": None if status != "ok" else "a" if lead > 0 else "b",
        "votes": said,
        "shown_first": dict.fromkeys(JUDGES, "a"),
        "confidence": None if status == "no_verdict" else abs(lead) / 3,
    }
    return Evaluation(**(made | changes))


def pair(number: int, **changes: Any) -> Item:
    """A labelled pair: response A is "good n", B is "bad n"."""
    data = {
        "id": f"q{number}",
        "question": f"Question {number}?",
        "responses": {"A": f"good {number}", "B": f"bad {number}"},
        "label": "A>B",
        "models": {"A": "gpt-4", "B": "vicuna-13b"},
    }
    return Item.model_validate(data | changes)


def shown(request: ModelRequest) -> list[str]:
    """The responses of a ranking prompt, in the order shown."""
    blocks = request.messages[0].text.split("⟦BEGIN response ")[1:]
    return [block.split("⟧\n", 1)[1].split("\n⟦END", 1)[0] for block in blocks]


def ranking(best: int, criteria: int = 4, reasons: str = "analysis") -> str:
    """A reply that puts the response shown at a place first."""
    scores = {
        label: {f"c{n}": {"reason": "short", "score": 5 - (place != best)} for n in range(1, criteria + 1)}
        for place, label in enumerate(("A0", "A1"))
    }
    order = ["A0", "A1"] if best == 0 else ["A1", "A0"]
    return json.dumps({"scores": scores, reasons: "Compared.", "ranking": " > ".join(order)})


def fond_of(word: str, name: str, *, wrong: float = 0.0, fails: float = 0.0, seed: int = 1) -> ScriptedModel:
    """A judge that prefers the response with a word in it, wrong or out of reach now and then."""
    rng = random.Random(seed)

    def script(request: ModelRequest) -> str | Exception:
        if rng.random() < fails:
            return RateLimitedError("too many requests")
        texts = shown(request)
        best = next((place for place, text in enumerate(texts) if word in text), 0)
        reasons = "analysis" if "analysis" in request.schema.schema["properties"] else "comparison"
        return ranking(1 - best if rng.random() < wrong else best, reasons=reasons)

    return ScriptedModel(script, name=name)


def panel(*models: ScriptedModel, **settings: Any) -> Clash:
    """A panel of scripted judges."""
    return Clash(judges=tuple(Judge(model.name, model) for model in models), **settings)


def steady() -> Clash:
    """Two judges that prefer the good response, and one that prefers the bad one."""
    return panel(fond_of("good", "owl"), fond_of("good", "hawk"), fond_of("bad", "wren"))
