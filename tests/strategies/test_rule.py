"""Rules: what must be met, what cannot, and agents of the judge's own family."""

from itertools import product

import numpy as np
import pytest

from metajudge import Engine
from metajudge.agents import Agent
from metajudge.errors import ConfigurationError, FailureKind
from metajudge.panels.building import foregone, highest_score
from metajudge.panels.config import panel_config
from metajudge.providers.notices import Notices
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import Rubric, Scale, load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.rule import (
    AGREEMENT_CUT,
    PROBABILITY_CUT,
    Rule,
    calibrated_rule,
    check_cut,
    own_rule,
    rule_of,
)
from metajudge.types import Assessment, GuaranteedThreshold, Status
from tests.doubles.judgments import judgment, reply


def assessment(**fields: object) -> Assessment:
    """Of version 0.2: without the rule that decided."""
    made = Vetter(Panel((), StrategyName.SIGNALS, 4.5))
    return made.assessment(made.default, judgment(), Outcome(Status.ASSESSED)).model_copy(update=fields)


@pytest.mark.parametrize(("typed", "evidence"), [*product((False, True), repeat=2)])
def test_without_a_calibration_a_typed_threshold_is_the_scores_and_agreement_is_of_evidence_alone(typed, evidence):
    found = own_rule(4.5, typed=typed, by_agreement=evidence)
    if evidence and not typed:
        assert found == Rule("agreement", AGREEMENT_CUT, "default")
    else:
        assert found == Rule("score", 4.5, "typed" if typed else "default")


@pytest.mark.parametrize(
    ("policy", "typed", "cut", "promised"), [*product((False, True), (False, True), (None, 0.8), (None, 0.7))]
)
def test_with_a_calibration_the_order_of_the_cuts(policy, typed, cut, promised):
    found = calibrated_rule(own_rule(4.5, typed=typed), policy=policy, cut=cut, promised=promised)
    if policy:
        assert found == Rule("policy", None, "policy")
    elif typed:
        assert found == Rule("score", 4.5, "typed")
    elif cut is not None:
        assert found == Rule("probability", 0.8, "typed")
    elif promised is not None:
        assert found == Rule("probability", 0.7, "promise")
    else:
        assert found == Rule("probability", PROBABILITY_CUT, "default")


@pytest.mark.parametrize(
    ("by", "cut", "value", "kept"),
    [
        ("score", 4.5, 4.5, False),
        ("score", 4.5, 4.5 + 4e-10, False),
        ("score", 4.5, 4.5 + 6e-10, True),
        ("probability", 0.3, 0.1 + 0.2, True),
        ("probability", 0.9, 0.9 - 4e-10, True),
        ("probability", 0.9, 0.9 - 6e-10, False),
        ("probability", 0.0, 0.0, True),
        ("probability", 1.0, 1.0, True),
        ("agreement", 0.75, 3 / 4, True),
        ("agreement", 0.75, 0.7499, False),
    ],
)
def test_scores_lie_above_the_cut_and_shares_from_it_on_alone_and_in_arrays(by, cut, value, kept):
    rule = Rule(by, cut, "default")
    assert bool(rule.keeps(value)) is kept
    assert rule.keeps(np.array([value, value])).tolist() == [kept, kept]


def test_a_cut_needs_a_calibration_and_no_other_rule():
    check_cut(None, calibrated=False, policy=True)
    check_cut(0.8, calibrated=True, policy=False)
    with pytest.raises(ConfigurationError, match=r"cut 0.8 is a probability of being right, and without a calibration"):
        Engine(["openai:m"], cut=0.8)
    with pytest.raises(ConfigurationError, match=r"cut 0.8 is a probability of being right, and without a calibration"):
        Engine(["openai:m"], panel=panel_config({"routes": {"maths": {"cut": 0.8}}}))
    with pytest.raises(ConfigurationError, match="two rules for one decision: leave one out"):
        Engine(cut=0.8, calibration="shipped", policy="verdict")
    with pytest.raises(ConfigurationError, match=r"cut 0.8 and threshold 4 are two rules for one decision"):
        Engine(cut=0.8, threshold=4, calibration="shipped")
    with pytest.raises(ConfigurationError, match="less than or equal to 1"):
        panel_config({"cut": 1.5})


def test_records_of_version_0_2_name_no_rule_and_have_one():
    promised = GuaranteedThreshold(threshold=0.7, target=0.8, delta=0.1)
    assert rule_of(assessment(accepted=None)) is None
    assert rule_of(assessment(accepted=True)) == Rule("score", 4.5)
    assert rule_of(assessment(accepted=True, probability=0.8, guarantee=promised)) == Rule(
        "probability", 0.7, "promise"
    )
    assert rule_of(assessment(accepted=True, probability=0.8, probability_threshold=0.6)) == Rule("probability", 0.6)
    assert "decided_by" not in assessment().model_dump()


# A threshold that no answers can meet is said beforehand.
ASKING = tuple(map(StrategyName, ("weighted_average", "majority_vote", "panel_discussion", "rejudge")))


def panel(strategy, threshold, *, rubric="short", agents=2, **options):
    rubric = rubric if isinstance(rubric, Rubric) else load_rubric(rubric)
    scale = (rubric.scale.low, rubric.scale.high)
    members = tuple(Agent(f"a{n}", ScriptedModel([], name=f"m{n}"), rubric) for n in range(agents))
    return Panel(members, strategy, threshold, scale=scale, **options)


@pytest.mark.parametrize("strategy", ASKING)
def test_nothing_exceeds_the_end_of_the_scale(strategy):
    assert "nothing can be kept" in foregone(panel(strategy, 5.0))
    assert foregone(panel(strategy, 4.5)) is None
    assert foregone(panel(strategy, 1.0)) is None


def test_the_highest_score_is_the_one_that_the_strategy_summariser_or_route_gives():
    signals = Panel((), StrategyName.SIGNALS, 5.0)
    single = panel(StrategyName.SINGLE, 5.0, agents=1, rubric="binary")
    assert None not in (foregone(signals), foregone(single)), "without agents or with one it is the same"
    assert foregone(panel(StrategyName.SINGLE, 4.999, agents=1, rubric="binary")) is None
    assert highest_score(panel(StrategyName.MAJORITY_VOTE, 5.0)) == 1.0  # nobody votes
    assert highest_score(panel(StrategyName.MAJORITY_VOTE, 3.0)) == 5.0
    assert highest_score(panel(StrategyName.REJUDGE, 3.0)) == 5.0
    tenth = load_rubric("baseline").model_copy(update={"scale": Scale(low=0, high=10)})
    assert highest_score(panel(StrategyName.WEIGHTED_AVERAGE, 4.5, rubric=tenth)) == 10.0
    assert "above the threshold of 10 " in foregone(panel(StrategyName.WEIGHTED_AVERAGE, 10.0, rubric=tenth))
    summariser = Agent("s", ScriptedModel([], name="s"), load_rubric("short"))
    found = foregone(panel(StrategyName.PANEL_DISCUSSION, 5.0, summariser=summariser, route="Math"))
    assert found.startswith(
        "route Math: nothing can be kept: the highest score that panel_discussion can give here is 5"
    )


# Agents of the judge's or a candidate's family: warned of once, forbidden, or ignored.
BASELINE = load_rubric("baseline")
BY_O3, BY_CLAUDE = {"judge": "openrouter/openai/o3"}, {"judge": "claude-3-haiku"}


def written_by(**models):
    item = {"id": "i", "question": "q", "responses": {"A": "4", "B": "5"}, "models": models}
    return judgment("by-models", judge="qwen2.5-72b", item=item)


def vetter(policy="warn", said=None, **options):
    model = ScriptedModel(lambda _: reply(5, BASELINE), name="gpt-4o-mini")
    panel = Panel((Agent("mini", model, BASELINE),), StrategyName.SINGLE, 4.5, families=policy, **options)
    return Vetter(panel, notice=(said if said is not None else Notices()).say), model


class TestWarn:
    async def test_it_is_said_once_an_agent_family_and_role_and_never_of_who_is_not_asked(self):
        said = Notices()
        warned, _ = vetter(said=said)
        for record in (judgment("a", **BY_O3), judgment("b", judge="gpt-4/CoT"), judgment("c", **BY_CLAUDE)):
            assert (await warned.vet(record)).accepted is True
        assert len(said.lines) == 1
        assert said.lines[0].startswith("mini is of the openai family, and so is the judge: models favour")
        await warned.vet(written_by(A="gpt-4o", B="o1-mini"))
        assert "a model whose answer was judged" in said.lines[1]
        assert len(said.lines) == 2
        said = Notices()
        await vetter(said=said)[0].vet(judgment(verdict=None, no_verdict="none", **BY_O3))
        assert said.lines == ()


class TestForbid:
    @pytest.mark.parametrize("record", [judgment(**BY_O3), written_by(A="gpt-4o", B="claude-3-opus")])
    async def test_the_judgment_fails_with_a_reason_and_nothing_is_sent(self, record):
        forbidding, model = vetter("forbid")
        result = await forbidding.vet(record)
        assert (result.status, result.failure.kind, result.agents) == (Status.FAILED, FailureKind.NO_EVIDENCE, ())
        assert "mini is of the openai family" in result.failure.message
        assert "--families warn" in result.failure.message
        assert model.requests == []

    def test_what_was_assessed_under_another_policy_or_of_another_author_is_not_taken_over(self):
        kin, stranger = judgment(**BY_O3), judgment(**BY_CLAUDE)
        warn, ignore, forbid = (vetter(policy)[0] for policy in ("warn", "ignore", "forbid"))
        assert warn.key(kin) == ignore.key(kin) != forbid.key(kin)
        assert forbid.key(stranger) != forbid.key(kin)
        one, other = written_by(A="gpt-4o", B="claude-3-opus"), written_by(A="glm-4.7", B="claude-3-opus")
        assert forbid.key(one) != forbid.key(other)
        assert warn.key(one) == warn.key(other)
