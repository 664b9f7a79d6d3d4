import tracemalloc

import numpy as np
import pytest

from metajudge.evidence.format import ratio_signal
from metajudge.evidence.units import Asked
from metajudge.evidence.verdicts import Verdicts, VerdictsBuilder, collected
from metajudge.types import Item, Judgment, SignalValue, parse_right
from tests.evidence.made import made_input
from tests.evidence.verdicts import TRIPLE, judged, length_ratio

COLUMNS = ("item", "judge", "model", "order", "verdict", "truth", "category", "reason", "rationale")
NUMBERS = ("words", "own_words", "other_words", "confidence")


def same(one: Verdicts, other: Verdicts) -> bool:
    tables = ("items", "judges", "models", "orders", "verdicts", "truths", "categories", "reasons", "rationales")
    arrays = (np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in COLUMNS + NUMBERS)
    return (
        list(one.judgment_ids) == list(other.judgment_ids)
        and all(arrays)
        and all(getattr(one, name) == getattr(other, name) for name in tables)
    )


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_facts_of_several_are_those_of_one_after_the_other(seed: int, texts: bool) -> None:
    judgments, builder = made_input(seed)[0], VerdictsBuilder(texts=texts)
    for start in range(0, len(judgments), 7):
        builder.add_all(judgments[start : start + 7])
    assert same(builder.facts(), collected(judgments, texts=texts))


def test_every_fact_of_a_record() -> None:
    item = Item(
        id="t",
        question="?",
        responses={"A": "a", "B": "b b", "C": ""},
        category="c",
        label=[["B"], ["A", "C"]],
        scale=(1, 5),
    )
    meta = {"judge_model": "m", "confidence": 0.75}
    one = judged([["B"], ["A"]], item=item, rationale="B it is", order=("C", "B", "A"), meta=meta)
    facts = collected([one, judged(None, item=item, judge="emu"), judged(4, item=item, order=("B",))])
    assert (facts.judgment_ids[0], facts.judges[0], facts.models) == ("j", "owl", ["m"])
    assert facts.orders[0] == ("C", "B", "A")
    (first,) = facts.items
    assert (first.id, first.digest, first.scale, first.asked) == ("t", item.digest, (1.0, 5.0), Asked.of(item))
    verdict, truth = facts.verdict_of(facts.verdict[0]), facts.truths[facts.truth[0]]
    assert (verdict.to_json(), truth.to_json()) == ([["B"], ["A"]], [["B"], ["A", "C"]])
    assert (facts.categories, facts.reason[0], facts.rationales[0][:2]) == (["c"], -1, (None, "no_text_verdict"))
    assert (facts.words[0], facts.own_words[0], facts.other_words[0], facts.confidence[0]) == (3, 2, 1.0, 0.75)
    assert facts.reasons == ["cut off"]
    assert facts.kind.tolist() == [1, -1, 2]
    assert facts.own_words.tolist() == [2, -1, 2]
    assert np.isnan(facts.other_words).tolist() == [False, True, True]
    assert (facts.model_of, facts.conflicts()) == ({"owl": "m"}, {})


def test_one_id_with_two_contents_is_a_conflict() -> None:
    other = Item(id="t", question="another?", responses=TRIPLE.responses)
    facts = collected([judged("A>B", item=TRIPLE), judged("A>B"), judged("A>B", item=other)])
    assert facts.conflicts() == {"t": [0, 2]}


def test_chosen_rows_keep_their_facts() -> None:
    facts = collected(made_input(3)[0])
    for rows in (slice(1, 4), np.array([3, 1])):
        some = facts.select(rows)
        assert list(some.judgment_ids) == np.array(facts.judgment_ids)[rows].tolist()
        for name in COLUMNS + NUMBERS:
            assert np.array_equal(getattr(some, name), getattr(facts, name)[rows], equal_nan=True), name


def test_the_first_model_that_a_judge_states_holds() -> None:
    given = [judged("A>B", meta={"judge_model": name}) for name in ("", "m", "other")]
    assert collected(given).model_of == {"owl": "m"}


def test_the_rules_are_those_of_all_verdicts() -> None:
    facts = collected([judged(grade, order=("A",)) for grade in (1, 2.5, 6)])
    assert str(facts.rules().of("grade")) == "within:0.5"
    assert facts.rules().kinds == {"grade"}
    assert str(facts.rules(parse_right("side:3")).of("grade")) == "side:3"


@pytest.mark.parametrize("verdict", ["A>B", "B>>A", "A=B", [["B"], ["A", "C"]], None])
def test_the_length_ratio_follows_from_the_facts(verdict: object) -> None:
    one = judged(verdict, item=TRIPLE)
    facts = collected([one])
    given = ratio_signal(one.verdict, int(facts.own_words[0]), float(facts.other_words[0]))
    assert isinstance(given, SignalValue)
    assert given == length_ratio(one)


def test_without_texts_nothing_is_read() -> None:
    (facts,) = [collected([judged("A>B", rationale="[[A]]")], texts=False)]
    assert facts.rationales == [(None, "no_rationale", "no rationale was recorded")]
    assert (facts.words.tolist(), facts.own_words.tolist()) == ([0], [-1])


@pytest.mark.slow
def test_facts_stay_below_250_bytes_a_judgment() -> None:
    builder = VerdictsBuilder()
    tracemalloc.start()
    for number in range(500):
        item = Item(id=f"item-{number}", question=f"{number}?", responses={"A": "w " * 40, "B": "w " * (number % 60)})
        for place in range(10):
            verdict = "A>B" if place % 3 else "B>>A"
            builder.add(
                Judgment(
                    id=f"item-{number}/judge-{place // 2}/{place % 2}",
                    item=item,
                    judge=f"judge-{place // 2}",
                    verdict=verdict,
                    order=("A", "B") if place % 2 else ("B", "A"),
                    rationale="w " * (20 + number % 90) + f"My verdict is [[{verdict}]]",
                )
            )
    facts = builder.facts()
    del builder
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(facts) == 5_000
    assert size / len(facts) < 250
