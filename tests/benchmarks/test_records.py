"""One pass over the records of a benchmark gives what their texts give."""

import pytest
from metajudge.benchmarks.records import Records

from metajudge.errors import InputError
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.types import Item, Judgment

PAIR = Item(id="pair", question="Which one?", responses={"A": "one two", "B": "three"}, label="A>B")
GRADED = Item(id="graded", question="How good?", responses={"r": "text"}, scale=(1, 5), label=4)


def judgments():
    pairs = [
        Judgment(
            id=f"{judge} {number}", item=PAIR, judge=judge, verdict=verdict, order=order,
            rationale=f"Response {verdict[0]} is better. {'why ' * number}Final: [[{verdict}]]",
            meta={"judge_model": judge, "raw": "a long reply"},
        )
        for judge, verdicts in {"ann": ("A>B", "A>B"), "bob": ("B>>A", "A>B"), "eve": ("A>B", "A=B")}.items()
        for number, (verdict, order) in enumerate(zip(verdicts, (("A", "B"), ("B", "A")), strict=True))
    ]  # fmt: skip
    grades = [Judgment(id=f"{judge} g", item=GRADED, judge=judge, verdict=4 + at) for at, judge in enumerate("xy")]
    silent = Judgment(id="silent", item=PAIR, judge="zoe", verdict=None, no_verdict="refused", instruction="Judge.")
    return [*pairs, *grades, silent]


def records_of(given):
    records = Records()
    for one in given:
        records.add(one)
    return records


def test_several_at_once_are_those_of_one_after_the_other():
    given, several = judgments(), Records()
    several.add_all(given)
    one_by_one = records_of(given)
    assert several.judgments == one_by_one.judgments
    assert several.labels == one_by_one.labels
    assert [several.facts.row(at) for at in range(len(given))] == [one_by_one.facts.row(at) for at in range(len(given))]


def test_evidence_is_that_of_the_index():
    given = judgments()
    index, records = EvidenceIndex.build(given), records_of(given)
    for row, one in enumerate(given):
        signals = index.signals(one)
        assert records.evidence.signals(row) == signals
        assert records.evidence.heuristic(row, None) == signal_score(signals).value
        own = {name: signal for name, signal in signals.items() if name == "order"}
        assert records.evidence.heuristic(row, ("order", "rewards")) == signal_score(own).value


def test_one_id_with_two_contents_is_refused_with_both_judgments():
    first, second = judgments()[:2]
    changed = second.model_copy(update={"item": Item(**{**PAIR.model_dump(), "question": "Another?"})})
    with pytest.raises(InputError, match="two different contents: in judgment 'ann 0' and in judgment 'ann 1'"):
        _ = records_of([first, changed]).facts
