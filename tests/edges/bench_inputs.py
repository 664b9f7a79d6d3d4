"""Small folders in the layouts of the recorded benchmarks, and a small study of a judge panel."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.doubles.clash_study import row as study_row
from tests.doubles.judgebench import game, pair


def _lines(rows: Iterable[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _games() -> Iterable[dict[str, Any]]:
    for number in range(12):
        yield game(number, "AB", "A>B")
        yield game(number, "BA", "B>A" if number < 8 else "A>B", label="B>A")
        yield game(number, "AB", "A>B" if number % 3 else "B>A", judge="hawk")


def _llmbar_items() -> Iterable[dict[str, Any]]:
    for number in range(6):
        shown = {"question": f"Say {number}.", "response_a": f"{number}", "response_b": "no"}
        yield {"dataset": "llmbar", "subset": "LLMBar/Natural", "item_id": f"i{number}", "label": "A>B", **shown}


def _llmbar_rows() -> Iterable[dict[str, Any]]:
    said = {0: ("A>B", "A>B"), 1: ("A>B", "B>A"), 2: ("B>A", "B>A"), 3: ("A>B", "B>A"), 4: (None, "B>A")}
    for number, both in said.items():
        for order, decision in zip(("AB", "BA"), both, strict=True):
            yield {
                "dataset": "llmbar",
                "subset": "LLMBar/Natural",
                "item_id": f"i{number}",
                "judge_model": "GPT",
                "judge_prompt": "CoT",
                "stage": 1,
                "final": True,
                "order": order,
                "decision": decision,
                "label": "B>A" if order == "BA" else "A>B",
                "judgment_text": f"words on {number}",
            }


_VOTES = "aaa/a aab/a bbb/b abb/a aaa/b bab/b aa-/a bbb/b"
"""Of a panel of three judges, and of a person."""

BENCHES: dict[str, Callable[[], str]] = {
    "judgebench/pairs.jsonl": lambda: _lines(map(pair, range(12))),
    "judgebench/judgments.jsonl": lambda: _lines(_games()),
    "judgebench1/pairs.jsonl": lambda: _lines(pair(number, category="Math") for number in range(12)),
    "judgebench1/judgments.jsonl": lambda: _lines(one for one in _games() if one["judge_model"] == "owl"),
    "llmbar/items.jsonl": lambda: _lines(_llmbar_items()),
    "llmbar/judgments.jsonl": lambda: _lines(_llmbar_rows()),
    "agent_clash/evaluations.jsonl": lambda: _lines(
        study_row(number, votes, human=human)
        for number, (votes, human) in enumerate(one.split("/") for one in _VOTES.split())
    ),
}
"""Name of the file -> how its text is made."""
