"""Panels of scripted agents."""

from metajudge.agents import Agent
from metajudge.errors import ServerError
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName
from tests.doubles.judgments import reply

BASELINE = load_rubric("baseline")


def member(name, answer, *, weight=1.0, rubric=BASELINE, **options):
    """An agent who gives one overall score, or fails (None)."""

    def script(_request):
        return ServerError("down", status=500) if answer is None else reply(answer, rubric)

    return Agent(name=name, model=ScriptedModel(script, name=name), rubric=rubric, weight=weight, **options)


def panel(answers, strategy, weights=None, **options):
    weights = weights or [1.0] * len(answers)
    agents = tuple(
        member(f"a{i}", answer, weight=w) for i, (answer, w) in enumerate(zip(answers, weights, strict=True))
    )
    return Panel(agents=agents, strategy=StrategyName(strategy), threshold=options.pop("threshold", 4.5), **options)
