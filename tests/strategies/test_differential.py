"""Random panels, asked through the product and worked out by brute force: no disagreement."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

from metajudge.agents import Agent
from metajudge.errors import ServerError
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.scoring.formulas import decide_average, decide_majority
from metajudge.strategies import Panel, StrategyName, Vetter
from tests.doubles.judging import shown_texts, verdict
from tests.doubles.judgments import judgment
from tests.strategies.brute_force import STRENGTH, Expected, Rule, above, agent_score, asked_in_turn, decided, support

PANELS = 4_000
KINDS = ("single", "weighted_average", "majority_vote", "panel_discussion", "rejudge")
RUBRICS = ("short", "long", "binary", "baseline")
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0)
MIRRORED = {"A>>B": "B>>A", "A>B": "B>A", "A=B": "A=B", "B>A": "A>B", "B>>A": "A>>B"}
DOWN, GARBLED = "down", "garbled"


@cache
def rubric_of(name):
    """A built-in rubric; criteria, where there are any, may be marked as not applicable."""
    rubric = load_rubric(name)
    if rubric.kind != "criteria":
        return rubric
    return rubric.model_copy(
        update={"criteria": tuple(one.model_copy(update={"optional": True}) for one in rubric.criteria)}
    )


@dataclass(frozen=True)
class Turn:
    """One answer of an agent: its scores by criterion (None: not applicable), or a failure."""

    scores: tuple[int | None, ...] = ()
    failure: str | None = None

    @property
    def requests(self):
        return 2 if self.failure == GARBLED else 1  # an answer that cannot be read is asked for once more

    def score(self, rubric):
        if self.failure:
            return None
        exact = [None if one is None else Fraction(one) for one in self.scores]
        weights = [Fraction(str(criterion.weight)) for criterion in rubric.criteria]
        return agent_score(exact, weights) if rubric.kind == "criteria" else exact[0]

    def replies(self, rubric):
        if self.failure == DOWN:
            return [ServerError("down", status=500)]
        if self.failure == GARBLED:
            return ["no JSON"] * 2
        if rubric.kind == "binary":
            said = "correct" if self.scores[0] == 5 else "wrong"
            return [json.dumps({"correct": {"explanation": "", "verdict": said}})]
        entries = zip(rubric.scored_names, self.scores, strict=True)
        return [json.dumps({name: {"explanation": "", "score": score} for name, score in entries})]


def draw_turn(rng, rubric):
    if rng.random() < 0.2:
        return Turn(failure=rng.choice((DOWN, GARBLED)))
    if rubric.kind == "binary":
        return Turn((rng.choice((1, 5)),))
    high = rng.random() < 0.5  # so that averages are often near 4.5
    scores = [rng.choice((4, 5, 5)) if high else rng.randint(1, 5) for _ in rubric.scored_names]
    if rubric.kind == "criteria":
        keep = rng.randrange(len(scores))
        scores = [one if n == keep or rng.random() < 0.85 else None for n, one in enumerate(scores)]
    return Turn(tuple(scores))


def draw_threshold(rng, scores, rule):
    """1, 4.5 or 5, any tenth, or exactly a score that an agent or the panel gives."""
    valid = [one for one in scores if one is not None]
    hits = [*valid, agent_score(scores, rule.weights)] if valid else []
    kind = rng.randrange(5)
    if kind < 3 or (kind == 4 and not hits):
        return (1.0, 4.5, 5.0)[kind % 3]
    return rng.randint(10, 50) / 10 if kind == 3 else float(rng.choice(hits))


@dataclass
class Case:
    """A panel ready to be asked, its judgment, and what must come of it."""

    panel: Panel
    judgment: object
    expected: Expected


def draw_case(rng):
    kind = rng.choice(KINDS)
    members = 1 if kind == "single" else rng.randint(1, 5)
    weights = [rng.choice(WEIGHTS) for _ in range(members)]
    average = kind in ("single", "weighted_average", "rejudge") or (kind == "panel_discussion" and rng.random() < 0.5)
    quorum = rng.choice((None, rng.randint(1, members)))
    rule = Rule(not average, Fraction(0), tuple(Fraction(str(one)) for one in weights), quorum)
    options = {"quorum": quorum, "early_exit": rng.random() < 0.5, "average_votes": True}
    build = {"rejudge": draw_rejudge, "panel_discussion": draw_discussion}.get(kind, draw_independent)
    return build(rng, kind, rule, weights, options)


def finish(rng, kind, rule, answers, costs, agents, options, record=None, before=0):
    """The case of agents who are asked in turn, after ``before`` requests."""
    threshold = draw_threshold(rng, answers, rule)
    rule = replace(rule, threshold=Fraction(threshold))
    scores, spent, stopped = asked_in_turn(rule, answers, costs, early_exit=options["early_exit"])
    panel = Panel(tuple(agents), StrategyName(kind), threshold, **options)
    expected = replace(decided(rule, scores, stopped=stopped), asked=before + spent)
    return Case(panel, record or judgment(), expected)


def draw_independent(rng, kind, rule, weights, options):
    agents, answers, costs = [], [], []
    for number, weight in enumerate(weights):
        rubric = rubric_of(rng.choice(RUBRICS))
        turn = draw_turn(rng, rubric)
        agents.append(speaker(f"a{number}", rubric, [turn], weight))
        answers.append(turn.score(rubric))
        costs.append(turn.requests)
    return finish(rng, kind, rule, answers, costs, agents, options)


def draw_discussion(rng, kind, rule, weights, options):
    rounds = rng.choice(("independent_first", "sequential"))
    options |= {"rounds": rounds, "aggregate": "majority" if rule.votes else "average"}
    agents, answers, costs, before = [], [], [], 0
    for number, weight in enumerate(weights):
        rubric = rubric_of(rng.choice(RUBRICS))
        opening, last = draw_turn(rng, rubric), draw_turn(rng, rubric)
        turns = [opening, last] if rounds == "independent_first" else [last]
        before += opening.requests if len(turns) == 2 else 0
        agents.append(speaker(f"a{number}", rubric, turns, weight))
        answers.append(last.score(rubric))
        costs.append(last.requests)
    if rng.random() < 0.6:
        return finish(rng, kind, rule, answers, costs, agents, options, before=before)
    rubric = rubric_of(rng.choice(RUBRICS))
    turn = draw_turn(rng, rubric)
    final, asked = turn.score(rubric), before + sum(costs)
    threshold = draw_threshold(rng, [final] * len(weights), rule)
    if all(answer is None for answer in answers):
        expected = Expected(None, asked=asked)  # there is nothing to sum up
    else:
        accepted = None if final is None else above(final, Fraction(threshold))
        expected = Expected(accepted, final=final, asked=asked + turn.requests)
    summariser = speaker("sum", rubric, [turn], 1.0)
    panel = Panel(tuple(agents), StrategyName(kind), threshold, summariser=summariser, **options)
    return Case(panel, judgment(), expected)


def draw_rejudge(rng, kind, rule, weights, options):
    recorded = rng.choice(list(STRENGTH))
    agents, answers = [], []
    for number, weight in enumerate(weights):
        given = [rng.choice(list(STRENGTH)) if rng.random() < 0.9 else None for _ in range(2)]
        agents.append(Agent(f"a{number}", blind_judge(*given, name=f"m{number}"), rubric_of("baseline"), weight=weight))
        answers.append(None if None in given else support(recorded, (given[0], MIRRORED[given[1]])))
    record = judgment(verdict=recorded)
    return finish(rng, kind, rule, answers, [2] * len(weights), agents, options, record)


def blind_judge(given, swapped, name):
    def script(request):
        answer = given if shown_texts(request) == ("4", "5") else swapped
        return ServerError("down", status=500) if answer is None else verdict(answer)

    return ScriptedModel(script, name=name)


def speaker(name, rubric, turns, weight):
    replies = [reply for turn in turns for reply in turn.replies(rubric)]
    return Agent(name, ScriptedModel(replies, name=f"m-{name}"), rubric, weight=weight)


def approximately(exact):
    return None if exact is None else pytest.approx(float(exact), abs=2e-9)


async def check(case):
    panel, expected = case.panel, case.expected
    result = await Vetter(panel).vet(case.judgment)
    bounds = None if expected.bounds is None else tuple(map(approximately, expected.bounds))
    assert result.accepted is expected.accepted
    assert result.final_score == approximately(expected.final)
    assert result.score_bounds == bounds
    assert result.renormalised is expected.renormalised
    assert sum(len(member.model.requests) for member in panel.members) == expected.asked


async def check_panels(count, seed):
    rng = Random(seed)
    seen = []
    for number in range(count):
        case = draw_case(rng)
        try:
            await check(case)
        except AssertionError as error:
            panel = case.panel
            raise AssertionError(f"panel {number} of seed {seed}, {panel.strategy}, {case.expected}: {error}") from None
        seen.append(case)
    return seen


async def test_panels_come_to_what_brute_force_says():
    await check_panels(40, 1)


@pytest.mark.slow
async def test_thousands_of_panels_come_to_what_brute_force_says():
    seen = [(case.panel, case.expected) for case in await check_panels(PANELS, 20)]
    decisions = {(panel.strategy.value, expected.accepted) for panel, expected in seen}
    assert decisions == {(kind, accepted) for kind in KINDS for accepted in (True, False, None)}
    at_the_end = [expected.accepted for panel, expected in seen if panel.threshold == 5.0]
    assert at_the_end.count(False) > 400
    assert True not in at_the_end
    assert sum(expected.bounds is not None for _, expected in seen) > 200
    assert sum(expected.renormalised for _, expected in seen) > 120


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [1.0, 4.5, 5.0])
@pytest.mark.parametrize("votes", [True, False])
def test_arrays_come_to_it_too(votes, threshold):
    rng = np.random.default_rng(3)
    for members in range(1, 6):
        values = rng.choice([1.0, 3.0, 4.4, 4.5, 4.6, 5.0], size=(400, members))
        valid = rng.random((400, members)) < 0.7
        weights = rng.choice(WEIGHTS, size=members)
        exact = Rule(votes, Fraction(str(threshold)), tuple(Fraction(str(one)) for one in weights.tolist()))
        if votes:
            found = decide_majority(values, threshold, valid)
        else:
            found = decide_average(values, threshold, weights, valid)
        for row in range(len(values)):
            there = zip(values[row].tolist(), valid[row].tolist(), strict=True)
            scores = [Fraction(str(value)) if known else None for value, known in there]
            expected = decided(exact, scores)
            assert found.accepted[row : row + 1].tolist() == [expected.accepted]
            assert found.final[row : row + 1].tolist() == [approximately(expected.final)]
