"""The judgments, the scores that meta-judges give them, and what must come of it, worked out by hand.

Seven criteria with the weights of the short rubric: accuracy .20, logical soundness .20, completeness .15, fairness .10,
relevance .15, clarity .10, impactfulness .10. An agent's score is their weighted mean. The expected values are never
recorded: they follow from the method alone.
"""

import json
import re
from collections import Counter
from typing import Any

from tests.doubles.llm_server import requested_schema

CRITERIA = ("accuracy", "logical_soundness", "completeness", "fairness", "relevance", "clarity", "impactfulness")
TOP = (5, 5, 5, 5, 5, 5, 5)  # 5
P48 = (4, 5, 5, 5, 5, 5, 5)  # 5 - .20
P46 = (4, 4, 5, 5, 5, 5, 5)  # 5 - .40
P455 = (4, 5, 4, 4, 5, 5, 5)  # 5 - .20 - .15 - .10
EXACT = (4, 4, 5, 4, 5, 5, 5)  # 5 - .20 - .20 - .10: 4.5
EXACT_TOO = (4, 5, 4, 5, 4, 5, 5)  # 5 - .20 - .15 - .15
NOISY = (5, 5, 4, 5, 4, 4, 4)  # 5 - .15 - .15 - .10 - .10: floats add up to a little more than 4.5
NOISY_TOO = (5, 5, 3, 5, 5, 4, 4)  # 5 - .30 - .10 - .10
NOISY_AGAIN = (5, 5, 5, 2, 5, 4, 4)  # 5 - .30 - .10 - .10
P44 = (4, 4, 5, 4, 5, 4, 5)  # 5 - .60
FOUR, THREE, TWO, ONE = (4,) * 7, (3,) * 7, (2,) * 7, (1,) * 7
BROKEN = None
"""A model whose replies are no JSON, the repaired one as well."""

# Without a rationale only accuracy (.20), fairness (.10) and relevance (.15) apply, over .45.
BARE_41_9 = (5, 0, 0, 3, 5, 0, 0)  # (1.00 + .30 + .75) / .45 = 41/9
BARE_40_9 = (5, 0, 0, 4, 4, 0, 0)  # (1.00 + .40 + .60) / .45 = 40/9
BARE_13_3 = (5, 0, 0, 2, 5, 0, 0)  # (1.00 + .20 + .75) / .45 = 13/3

FIRST: dict[str, dict[str, tuple[int, ...] | None]] = {
    "k1": {"ann": TOP, "ben": TOP, "cat": TOP},
    "k2": {"ann": NOISY, "ben": NOISY_TOO, "cat": NOISY_AGAIN},
    "k3": {"ann": P455, "ben": EXACT_TOO, "cat": NOISY},
    "k4": {"ann": P46, "ben": P46, "cat": THREE},
    "k5": {"ann": TOP, "ben": NOISY, "cat": FOUR},
    "k6": {"ann": FOUR, "ben": TOP, "cat": TOP},
    "k7": {"ann": TWO, "ben": ONE, "cat": THREE},
    "k8": {"ann": BARE_41_9, "ben": BARE_40_9, "cat": TOP},
}
"""What each agent says when it is asked the first time."""

REVISED: dict[str, dict[str, tuple[int, ...] | None]] = {
    "k1": {"ann": THREE, "ben": TOP, "sum": TOP},
    "k2": {"ann": P46, "ben": P46, "sum": EXACT_TOO},
    "k3": {"ann": P455, "ben": P455, "sum": P48},
    "k4": {"ann": EXACT, "ben": TOP, "sum": P44},
    "k5": {"ann": TOP, "ben": FOUR, "sum": TOP},
    "k6": {"ann": FOUR, "ben": FOUR, "sum": P46},
    "k7": {"ann": TOP, "ben": TOP, "sum": ONE},
    "k8": {"ann": TOP, "ben": TOP, "sum": BARE_13_3},
}
"""What two agents say after they have heard each other, and what the summariser says."""

FAILING: dict[str, dict[str, tuple[int, ...] | None]] = {
    "f1": {"ann": TOP, "ben": TOP, "cat": BROKEN},
    "f2": {"ann": TOP, "ben": THREE, "cat": BROKEN},
    "f3": {"ann": THREE, "ben": THREE, "cat": BROKEN},
    "f4": {"ann": TOP, "ben": BROKEN, "cat": BROKEN},
    "f5": {"ann": ONE, "ben": BROKEN, "cat": BROKEN},
    "f6": {"ann": BROKEN, "ben": BROKEN, "cat": BROKEN},
    "f7": {"ann": P46, "ben": EXACT, "cat": BROKEN},
    "f8": {"ann": BROKEN, "ben": TOP, "cat": TOP},
}
"""Agents that fail."""

Expected = dict[str, tuple[float | None, bool | None]]
"""Judgment -> final score and whether it is kept; None where there is none."""


def votes(kept: str) -> Expected:
    """What a vote gives for k1 to k8: + for the scale's upper end, which is kept, - for its lower end."""
    return {f"k{n}": (5.0, True) if one == "+" else (1.0, False) for n, one in enumerate(kept, 1)}


SINGLE: Expected = {
    "k1": (5.0, True),
    "k2": (4.5, False),
    "k3": (4.55, True),
    "k4": (4.6, True),
    "k5": (5.0, True),
    "k6": (4.0, False),
    "k7": (2.0, False),
    "k8": (41 / 9, True),
}
AVERAGE: Expected = {
    "k1": (5.0, True),
    "k2": (4.5, False),
    "k3": (13.55 / 3, True),
    "k4": (12.2 / 3, False),
    "k5": (4.5, False),  # (5 + 4.5 + 4) / 3
    "k6": (14 / 3, True),
    "k7": (2.0, False),
    "k8": (14 / 3, True),  # (41/9 + 40/9 + 45/9) / 3
}
WEIGHTED: Expected = {  # ann counts twice
    "k1": (5.0, True),
    "k2": (4.5, False),
    "k3": (18.1 / 4, True),
    "k4": (16.8 / 4, False),
    "k5": (18.5 / 4, True),
    "k6": (4.5, False),  # (4 + 4 + 5 + 5) / 4
    "k7": (2.0, False),
    "k8": (167 / 36, True),  # (41 + 41 + 40 + 45) / 36
}
MAJORITY = votes("+--+-+-+")
MAJORITY_OF_TWO = votes("+--+----")  # both must lie above
DISCUSSION = votes("-++---++")
DISCUSSION_AVERAGE: Expected = {
    "k1": (4.0, False),
    "k2": (4.6, True),
    "k3": (4.55, True),
    "k4": (4.75, True),
    "k5": (4.5, False),
    "k6": (4.0, False),
    "k7": (5.0, True),
    "k8": (5.0, True),
}
SUMMARY: Expected = {
    "k1": (5.0, True),
    "k2": (4.5, False),
    "k3": (4.8, True),
    "k4": (4.4, False),
    "k5": (5.0, True),
    "k6": (4.6, True),
    "k7": (1.0, False),
    "k8": (13 / 3, False),
}
ACTIONS = {  # by the policy verdict_score, of the average of three
    "k1": "APPROVE",  # 5, all on one side of 4.5
    "k2": "REVIEW",  # 4.5, all on one side
    "k3": "REVIEW_PRIORITY",  # 4.52, two of three on one side
    "k4": "REVIEW_PRIORITY",  # 4.07, two of three
    "k5": "REVIEW_PRIORITY",  # 4.5, two of three
    "k6": "REVIEW_PRIORITY",  # 4.67, two of three
    "k7": "REJECT",  # 2
    "k8": "REVIEW_PRIORITY",  # 4.67, two of three
}
FAILED_AVERAGE: Expected = {
    "f1": (5.0, True),  # two of three are a majority
    "f2": (4.0, False),
    "f3": (3.0, False),
    "f4": (None, None),  # 2.3 to 5: open, and one of three is no majority
    "f5": (None, False),  # at most (1 + 5 + 5) / 3 = 3.7: decided, without a score
    "f6": (None, None),
    "f7": (4.55, True),
    "f8": (5.0, True),
}
FAILED_MAJORITY: Expected = {
    "f1": (5.0, True),  # two of three, whatever the third would say
    "f2": (None, None),  # the third would tip it
    "f3": (1.0, False),
    "f4": (None, None),
    "f5": (None, None),
    "f6": (None, None),
    "f7": (None, None),  # 4.6 for, exactly 4.5 against: the third would tip it
    "f8": (5.0, True),
}


def judgment(key: str, **changes: Any) -> dict[str, Any]:
    """A judgment whose question tells which it is."""
    item = {
        "id": f"item-{key}",
        "question": f"Case {key}: what is 2 + 2?",
        "responses": {"A": f"It is 4. ({key})", "B": f"It is 5. ({key})"},
    }
    rationale = "" if key == "k8" else "Assistant A adds correctly, Assistant B does not."
    return {"id": key, "item": item, "judge": "owl", "verdict": "A>B", "rationale": rationale, **changes}


def panel(*names: str, url: str = "", **settings: Any) -> dict[str, Any]:
    """A panel of agents of these names, as a panel file has it."""
    weights = settings.pop("agent_weights", {})
    agents = [{"name": name, "model": f"vllm:{name}@{url}/v1", "weight": weights.get(name, 1.0)} for name in names]
    return {"rubric": "short", "early_exit": False, "agents": agents, **settings}


class Speakers:
    """What every agent says, whoever asks; it counts how often each was asked about each judgment."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()

    def forget(self) -> None:
        self.asked.clear()

    def calls(self, key: str) -> int:
        """How many calls a judgment took."""
        return sum(count for (_, one), count in self.asked.items() if one == key)

    def reply(self, agent: str, text: str, criteria: list[str]) -> str:
        """An agent's reply to a request with this text, which asks for these criteria."""
        keys = set(re.findall(r"Case (\w+):", text))
        assert len(keys) == 1, f"the judgment is not clear from the request: {sorted(keys)}"
        (key,) = keys
        self.asked[agent, key] += 1
        first = self.asked[agent, key] == 1 and agent != "sum"
        said = FAILING[key] if key in FAILING else (FIRST if first else REVISED)[key]
        return reply(said[agent], criteria)

    def serve(self, body: dict[str, Any]) -> str:
        """The same for the server of models."""
        schema = requested_schema(body)
        assert schema is not None
        text = "\n".join(str(one["content"]) for one in body["messages"] if one["role"] != "system")
        return self.reply(body["model"], text, [name for name in schema["properties"] if name in CRITERIA])


def reply(scores: tuple[int, ...] | None, criteria: list[str]) -> str:
    """The JSON with a score for each criterion that is asked for; text that is none where the agent fails."""
    if scores is None:
        return "I would rather not say."
    given = dict(zip(CRITERIA, scores, strict=True))
    found = {name: {"explanation": "Looked at.", "score": given[name]} for name in criteria}
    return json.dumps({"analysis": "2 + 2 = 4.", **found})
