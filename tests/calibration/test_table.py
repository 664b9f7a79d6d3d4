"""The table of signals: what becomes a row, what evidence sees, what must not matter."""

import numpy as np
import pytest

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.table import build_table, table_of
from metajudge.errors import InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.evidence.verdicts import collected
from metajudge.types import Judgment
from tests.doubles.crowds import crowd, relabelled
from tests.doubles.evidence import signals_of
from tests.doubles.graders import graded
from tests.doubles.judgments import judgment

FREE = ["order", "strength", "peers"]


def columns(table):
    ordered = table.sorted()
    return {name: (column.values.tolist(), column.present.tolist()) for name, column in ordered.columns.items()}


def test_only_decided_pairwise_verdicts_are_rows_and_the_others_are_counted():
    records = [
        judgment("kept", item_id="i"),
        judgment("tie", item_id="i", question="What is 2 + 2? (kept)", verdict="A=B", judge="wren"),
        judgment("none", verdict=None, no_verdict="cut off"),
        judgment("ranking", verdict=[["A"], ["B"]]),
    ]
    records[1] = records[1].model_copy(update={"item": records[0].item})
    table = build_table(records, FREE, kind="pairwise")
    assert table.judgment_ids == ("kept",)
    assert table.left_out == {"no verdict": 1, "ranking": 1, "tie": 1}


def test_turns_of_one_conversation_are_one_question():
    turns = [{"role": "user", "content": "2 + 2?"}, {"role": "user", "content": "And 3 + 3?"}]
    first = judgment("one", question="2 + 2?", item_id="i1")
    data = judgment("two", question="2 + 2? And 3 + 3?", item_id="i2").model_dump()
    second = Judgment.model_validate({**data, "item": {**data["item"], "conversation": turns}})
    other = judgment("three", question="4 + 4?", item_id="i3")
    assert len(set(build_table([first, second, other], ["strength"]).questions)) == 2


def test_order_and_peers_say_what_the_signals_say():
    records = crowd(20)
    table, said = build_table(records, FREE), signals_of(records)
    order = {"agree": "order.agree", "other_tied": "order.tie", "missing": "order.missing"}
    for row, one in enumerate(records):
        signals = said[one.id]
        for state, column in order.items():
            assert table.columns[column].values[row] == (signals["order"].state == state)
        # Every judge gave two verdicts, so a mean over games is the mean over voices.
        assert table.columns["peers.support"].values[row] / 2 == pytest.approx(signals["peers"].value)


def test_evidence_is_computed_over_all_records_and_report_chooses_rows():
    records = crowd(12)
    table, whole = build_table(records, FREE, report=lambda one: one.judge == "owl"), build_table(records, FREE)
    assert set(table.judges) == {"owl"}
    assert table.known_judges == ("jay", "owl", "wren")
    mine = np.array(whole.judges) == "owl"
    assert np.array_equal(whole.columns["peers.votes"].values[mine], table.columns["peers.votes"].values)


def test_labels_the_names_of_responses_and_the_order_of_the_lines_change_no_signal():
    records = crowd(15)
    found, turned = columns(build_table(records, FREE)), columns(build_table(relabelled(records), FREE))
    assert found == columns(build_table(crowd(15, labelled=False), FREE))
    shuffled = [records[at] for at in np.random.default_rng(1).permutation(len(records))]
    assert found == columns(build_table(shuffled, FREE))
    assert found.keys() == turned.keys()
    for name, (values, present) in found.items():
        assert turned[name][1] == present
        assert turned[name][0] == pytest.approx(values, abs=1e-12), name


def test_an_absent_signal_is_masked_and_a_judge_that_agrees_with_the_others_weighs_more():
    table = build_table([judgment("alone")], FREE)
    assert table.columns["order.missing"].values.tolist() == [1.0]
    assert not table.columns["peers.support"].present[0]
    assert table.columns["peers.none"].values.tolist() == [1.0]
    weights = build_table(crowd(80), FREE).scales.reliabilities
    assert weights["owl"].plain > weights["jay"].plain
    assert weights["owl"].strong > weights["owl"].plain


def test_judges_of_one_family_have_one_voice_in_the_majority():
    """Five copies of one bad judge must not make the one good judge look unreliable against the others."""
    others = {"owl": 0.95, "wren": 0.95, "lark": 0.95}
    apart, together = (
        build_table(crowd(60, skills=others | dict.fromkeys(copies, 0.5)), FREE).scales.reliabilities
        for copies in (["jay", "crow", "rook", "kite", "swan"], [f"gpt-4-{number}" for number in range(5)])
    )
    assert together["owl"].plain > apart["owl"].plain


def test_a_tie_in_the_other_order_is_no_missing_one():
    item = judgment("x").item
    records = [judgment("x"), judgment("y", order=("B", "A"), verdict="A=B").model_copy(update={"item": item})]
    table = build_table(records, ["order"])
    assert [table.columns[name].values[0] for name in ("order.agree", "order.tie", "order.missing")] == [0, 1, 0]


def test_rankings_of_more_responses_support_a_pairwise_verdict():
    responses = {"A": "1", "B": "2", "C": "3"}
    item = {"id": "i", "question": "?", "responses": responses, "label": None}
    records = [
        Judgment.model_validate({"id": "p", "item": item, "judge": "owl", "verdict": "A>C", "order": ["A", "C"]}),
        Judgment.model_validate({"id": "r", "item": item, "judge": "wren", "verdict": [["C"], ["B"], ["A"]]}),
    ]
    table = build_table(records, FREE, kind="pairwise")
    assert table.judgment_ids == ("p",)
    assert table.columns["peers.votes"].values.tolist() == [-1.0]


def test_reward_margins_and_agents_scores_are_masked_where_there_is_none():
    records = [judgment("a"), judgment("b", verdict="B>A"), judgment("c")]
    scores = [RewardScore(f"item-{name}", "rm", {"A": 3.0, "B": 1.0}) for name in "ab"]
    table = build_table(records, ["rewards"], rewards=scores)
    column = table.columns["rewards.rm"]
    assert column.present.tolist() == [True, True, False]
    assert column.values[:2] == pytest.approx([np.tanh(1.0), -np.tanh(1.0)])
    assert table.columns["rewards.votes"].values.tolist() == [1.0, -1.0, 0.0]
    scores = AgentScores({"a": {"x": 4.0}, "b": {"x": 2.0, "y": 3.0}}, {"x": "m", "y": "n"})
    table = build_table([judgment("a"), judgment("b"), judgment("c")], ["agents"], agent_scores=scores)
    assert table.columns["agents.y"].present.tolist() == [False, True, False]
    assert table.columns["agents.mean"].values.tolist() == [4.0, 2.5, 0.0]


@pytest.mark.parametrize(
    ("records", "signals", "message"),
    [
        ([judgment("a")], ["astrology"], "no such signal"),
        ([judgment("a")], [], "no signal is named"),
        ([judgment("a")], ["rewards"], "needs reward"),
        ([judgment("a")], ["agents"], "agents"),
        ([judgment("a", item_id="i"), judgment("a", item_id="i")], FREE, "appears twice"),
        ([judgment("a", item_id="i"), judgment("b", item_id="i")], FREE, "two different contents"),
        (
            [judgment("a", item_id="i"), judgment("b", item_id="i", question="What is 3 + 3?")],
            FREE,
            "item 'i' has two different contents: in judgment 'a' and in judgment 'b'",
        ),
    ],
)
def test_signals_and_records_of_which_no_table_can_be_made_are_refused(records, signals, message):
    with pytest.raises(InputError, match=message):
        build_table(records, signals)


def test_a_reward_model_may_not_contradict_itself_and_collected_facts_give_the_same_table():
    scores = [RewardScore("item-a", "rm", {"A": score, "B": 0.0}) for score in (1.0, 2.0)]
    with pytest.raises(InputError, match="two different scores"):
        build_table([judgment("a")], ["rewards"], rewards=scores)
    records = crowd(12)
    mine = np.array([one.judge == "owl" for one in records])
    found = table_of(collected(records), FREE, report=mine)
    expected = build_table(records, FREE, report=lambda one: one.judge == "owl")
    assert columns(found) == columns(expected)
    for name in ("judgment_ids", "questions", "categories"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.correct.tolist() == expected.correct.tolist()
    assert found.labelled.tolist() == expected.labelled.tolist()


def test_scales_from_elsewhere_are_laid_on_and_groups_without_a_labelled_row_left_out_and_named():
    fitted, records = build_table(crowd(30, seed=4), FREE), crowd(12)
    found = table_of(collected(records), FREE, scales=fitted.scales)
    assert columns(found) == columns(build_table(records, FREE).with_scales(fitted.scales))
    labelled = [one.model_copy(update={"rationale": ""}) for one in graded(6)]
    others = graded(4, prefix="new", labelled=False)
    table, absent = build_table([*labelled, *others], ["peers", "rationale"], kind="category").without_absent()
    assert absent == ("rationale",)
    assert table.signals == ("peers",)
    assert table.without_absent() == (table, ())
