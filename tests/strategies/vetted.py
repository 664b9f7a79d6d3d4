from metajudge.agents import Agent
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName
from tests.doubles.judgments import reply

SHORT, BASELINE = load_rubric("short"), load_rubric("baseline")


def panel(answer, *, rubric=BASELINE, route=None, **options):
    agent = Agent(name="mini", model=ScriptedModel(lambda _: reply(answer, rubric)), rubric=rubric)
    return Panel((agent,), StrategyName.SINGLE, 4.5, rubric=rubric.name, route=route, **options)
