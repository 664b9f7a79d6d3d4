import json

import pytest

from metajudge.clashes.clash import Clash, Judge
from metajudge.clashes.concordance import Call, by_category, concordance, self_preference, words
from metajudge.clashes.record import ClashRecord, judgments_of_clash, recount
from metajudge.clashes.reviews import wants_person
from metajudge.clashes.setup import open_asked
from metajudge.errors import InputError, ModelTimeoutError
from metajudge.judging.blinding import blind
from metajudge.stats.intervals import clopper_pearson_lower, wilson
from metajudge.types import Ranking
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import fails, panel, question, ranks_by, says


async def test_verdict_and_labels_can_be_worked_out_again_from_the_record_alone():
    record = await one(question(), panel(ranks_by(LONG), ranks_by(LONG), ranks_by(SHORT)))
    points = {"x": 0, "y": 0}
    for vote in record.votes:
        assert {vote.label_map[label] for label in vote.label_map} == {"x", "y"}
        for place, group in enumerate(vote.ranking.groups, start=1):
            points[group[0]] += 2 - place
    assert points == record.tally.scores == {"x": 2, "y": 1}
    assert (record.status, record.winner) == ("ok", "x")
    assert recount(record) == record.tally
    record = await one(question(x="1", y="22", z="333"), panel(*(ranks_by(LONG) for _ in range(3)), seed=9))
    for vote in record.votes:
        drawn = blind(record.answered, seed=record.seed, evaluation=record.evaluation, judge=vote.judge)
        assert drawn.label_map == vote.label_map


class TestNobodyAgreesAlone:
    async def test_a_record_of_an_earlier_version_loses_the_unanimity_of_one(self):
        data = (await one(question(x="a long answer", y="b"), panel(ranks_by(LONG)))).model_dump(mode="json")
        del data["tally"]["independent"], data["blinding"]
        data["tally"] |= {"unanimous": True, "triage": "accept", "why": None}
        record = ClashRecord.model_validate(data)
        assert (record.tally.unanimous, record.tally.triage) == (False, "escalate")
        assert record.tally.why == "one voter cannot agree with itself"
        assert wants_person(record)


ITEM = {"id": "q1", "question": "Why?", "responses": {"a": "x", "b": "y"}, "category": "c", "label": "a>b"}


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(ITEM) + "\n" + json.dumps(ITEM | {"id": "q2"}) + "\nnonsense\n")
    return str(path)


def test_a_file_of_items_gives_questions_or_items_with_their_responses(items):
    asked, given = open_asked(items, given=False), open_asked(items, given=True)
    assert [(one.id, one.domain) for one in asked.items] == [("q1", "c"), ("q2", "c")]
    assert [(one.id, one.responses) for one in given.items] == [(name, ITEM["responses"]) for name in ("q1", "q2")]
    assert [one.line for one in asked.rejects] == [one.line for one in given.rejects] == [3]
    assert asked.from_file is given.from_file is True
    assert len(open_asked(items, given=True, limit=1).items) == 1


def test_given_responses_need_a_file_that_holds_some(tmp_path):
    with pytest.raises(InputError, match="takes the responses from a file of items"):
        open_asked("Why?", given=True)
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q", "question": "Why?"}\n')
    with pytest.raises(InputError):
        open_asked(str(path), given=True)


async def test_rankings_become_judgments_by_the_labels_the_judge_saw():
    record = await one(
        question(x="xx", y="y", z="zzz"), panel(ranks_by(LONG), says("no"), fails(ModelTimeoutError("l")))
    )
    first, second = judgments_of_clash(record)
    assert first.verdict == Ranking((("z",), ("x",), ("y",)))
    assert first.order == record.votes[0].order
    assert first.labels == ("A0", "A1", "A2")
    assert (second.verdict, second.no_verdict) == (None, record.votes[1].failure.message)
    assert first.item.responses == {"x": "xx", "y": "y", "z": "zzz"}


async def test_categories_count_every_evaluation_once_and_a_judge_on_its_own_answers_stands_beside():
    maths = [question(f"q{n}").model_copy(update={"category": "maths"}) for n in range(2)]
    split = await one(maths[0], panel(ranks_by(LONG), ranks_by(SHORT)))
    won = await one(maths[1], panel(ranks_by(LONG), ranks_by(LONG)))
    other = await one(question("q9"), panel(ranks_by(SHORT), ranks_by(SHORT)))
    rows = by_category([split, won, other])
    assert [(row.category, row.evaluations, row.decided, row.tied, row.escalated) for row in rows] == [
        ("maths", 2, 1, 1, 2),
        (None, 1, 1, 0, 1),
    ]
    assert (rows[0].best, rows[0].won) == (("x",), 1)
    assert by_category([other]) == []
    watching = (Judge("y", ranks_by(SHORT), own="y"),)
    clash = Clash(judges=(Judge("a", ranks_by(LONG)), Judge("b", ranks_by(LONG))), observers=watching)
    (found,) = self_preference([await one(question(f"q{n}"), clash) for n in range(4)])
    assert (found.judge, found.share.successes, found.share.n, found.panel) == ("candidate:y", 4, 4, 0)
    assert found.share.low < 0.6  # four of four are no certainty
    assert "4 of 4 evaluations" in found.sentence()


# Panel against people: who counts, in which interval, and what may be promised.
def calls(agreed, n, panel="unanimous", *, source="blind", start=0):
    return [Call(f"q{start + k}", k < agreed, panel, source) for k in range(n)]


def test_shares_and_wilson_intervals_by_prompt_without_calls_after_the_verdict():
    found = concordance([*calls(17, 20), *calls(6, 10, "divided", start=100)])
    for row, agreed, n in ((found.overall, 23, 30), (found.unanimous, 17, 20), (found.divided, 6, 10)):
        expected = wilson(agreed, n)
        assert (row.successes, row.n) == (agreed, n)
        assert (row.low, row.high) == pytest.approx((expected.low, expected.high))
    assert "85.0% [64.0% to 94.8%], 17 of 20 evaluations" in words(found.unanimous)
    once = concordance(calls(8, 10)).overall
    thrice = concordance(calls(8, 10) * 3).overall
    assert (thrice.n, thrice.clusters) == (30, 10)
    assert thrice.high - thrice.low >= once.high - once.low - 1e-9
    found = concordance(
        [*calls(1, 2), *calls(5, 5, source="seen"), Call("z", None, "divided", "blind", "people could not tell")]
    )
    assert (found.overall.n, found.seen.n) == (2, 5)
    assert found.left_out == {"people could not tell": 1}
    assert found.divided is None


class TestPromise:
    def test_the_lower_bound_of_unanimous_verdicts_by_prompt_and_nothing_promised_of_too_little(self):
        found = concordance([*calls(19, 20), Call("q0", False, "unanimous", "label")])
        assert f"at least {clopper_pearson_lower(18, 20).low:.0%}" in found.promise  # q0 fails in one of its two
        assert "promises nothing here" in concordance(calls(3, 3, "divided")).promise
        assert "at least 10 are needed" in concordance(calls(9, 9)).promise
