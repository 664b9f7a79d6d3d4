"""A grid over a small benchmark, answered by a script."""

from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.vetting.engine import Engine
from tests.doubles.judgments import reply

GRID = """
title = "Small"
[agents.mini]
model = "openai:mini"
[agents.big]
model = "openai:big"
[[judges]]
name = "owl"
match = ["owl*"]
published = { cells = { Math = 50.0, Overall = 60.0 }, overall = "both" }
[[configurations]]
name = "baseline"
judge = "owl"
agents = ["mini"]
rubric = "baseline"
baseline = true
[[configurations]]
name = "short, big"
judge = "owl"
agents = ["big"]
published = { cells = { Overall = 70.0 }, overall = "by size" }
[[configurations]]
name = "both"
judge = "owl"
agents = ["mini", "big"]
strategy = "majority_vote"
[[configurations]]
name = "panel"
judge = "owl"
agents = ["mini", "big"]
strategy = "panel_discussion"
roles = ["expert", "critic"]
summariser = "mini"
"""

SIZES = "category_sizes = { Knowledge = 3, Reasoning = 3, Math = 3, Coding = 3 }"

FIRST_GAME = GRID.replace(
    "[agents.mini]",
    f"""{SIZES}
[population]
games = "first"
undecided = "wrong"
[settings]
temperature = 0
[agents.mini]""",
    1,
)
"""The same on the first game of the twelve pairs of the fixture, where ties and missing verdicts are wrong."""


def rubric_of(request):
    return load_rubric(
        "baseline" if '"overall"' in str(request.schema) or "overall" in str(request.schema) else "short"
    )


def answer(request):
    """Full marks for questions 0 to 5, low ones for the others."""
    text = "".join(message.text for message in request.messages)
    good = any(f"What is {number} + {number}?" in text for number in range(6))
    return reply(5 if good else 2, rubric_of(request))


class Engines:
    """Engines whose agents answer from a script; remembers every model's requests."""

    def __init__(self, store=None):
        self.store = store
        self.asked = 0

    def __call__(self, panel):
        engine = Engine(panel=panel, store=self.store, budget_usd=None)
        names = {agent.name for agent in panel.agents}
        names |= {"summariser"} if panel.discussion.summariser else set()
        engine.objects.update({name: ScriptedModel(self.answer, name=name) for name in names})
        return engine

    def answer(self, request):
        self.asked += 1
        return answer(request)
