import pytest

from metajudge.clashes.clash import Judge, voter_name
from metajudge.clashes.files import judgments_of_clash
from metajudge.clashes.standings import standings
from metajudge.errors import FailureKind, ModelTimeoutError, RefusedError
from metajudge.providers.scripted import ScriptedModel
from tests.clashes.candidates import answers, generated
from tests.clashes.evaluations import LONG, one
from tests.doubles.ranking import fails, panel, question, ranks_by, reply


class TestCandidates:
    async def test_answers_are_made_once_with_cost_latency_and_time_to_first_token(self):
        clash = generated(
            ("x", answers("long answer", latency_s=2.0, first_token_s=0.5)), ("y", answers("short")),
            judges=(Judge("j", ranks_by(LONG)),),
        )  # fmt: skip
        record = await one(question(), clash)
        x, y = record.candidates
        assert (x.text, x.cost_usd, x.latency_s, x.first_token_s, x.first_token_absent) == (
            "long answer", 0.01, 2.0, 0.5, None,
        )  # fmt: skip
        assert (y.first_token_s, y.first_token_absent) == (None, "the answer did not come as a stream")
        assert record.winner == "x"
        assert record.spent_usd == pytest.approx(0.02)

    async def test_a_failed_candidate_is_recorded_and_the_others_are_ranked(self):
        clash = generated(
            ("x", answers("long")), ("y", fails(ModelTimeoutError("late"))), ("z", answers("zz")),
            judges=(Judge("j", ranks_by(LONG)),),
        )  # fmt: skip
        record = await one(question(), clash)
        assert (record.winner, sorted(record.tally.scores)) == ("x", ["x", "z"])
        assert record.candidates[1].failure.kind is FailureKind.TIMEOUT
        assert record.candidates[1].text is None
        assert not record.complete

    async def test_the_standings_do_not_say_that_lost_answers_were_given(self):
        lost = fails(ModelTimeoutError("late"))
        judges = (Judge("j", ranks_by(LONG)),)
        made = await one(
            question(), generated(("x", answers("long")), ("y", lost), ("z", answers("zz")), judges=judges)
        )
        (late,) = (row for row in standings([made]) if row.name == "y")
        assert {late.cost_usd.why, late.latency_s.why} == {"none of its answers arrived"}
        given = await one(question(), panel(ranks_by(LONG)))
        assert {row.latency_s.why for row in standings([given])} == {"the answers were given, not generated"}

    async def test_an_empty_answer_is_an_answer_and_a_refusal_is_none(self):
        clash = generated(
            ("x", answers("")), ("y", answers("b")), ("z", fails(RefusedError("no"))),
            judges=(Judge("j", ranks_by(LONG)),),
        )  # fmt: skip
        record = await one(question(), clash)
        assert record.answered == {"x": "", "y": "b"}
        assert record.winner == "y"
        assert record.candidates[2].replied

    async def test_with_fewer_than_two_answers_there_is_nothing_to_compare(self):
        lost = fails(ModelTimeoutError("late"))
        judges = (Judge("j", ranks_by(LONG)),)
        record = await one(question(), generated(("x", answers("a")), ("y", lost), judges=judges))
        assert (record.status, record.why) == ("no_verdict", "1 of 2 candidates answered: there is nothing to compare")
        record = await one(question(), generated(("x", lost), ("y", lost), judges=judges))
        assert record.status == "error"
        assert record.votes == ()

    async def test_one_candidate_is_scored_and_wins_without_a_margin(self):
        record = await one(question(), generated(("x", answers("a")), judges=(Judge("j", ranks_by(LONG)),)))
        assert (record.winner, record.tally.margin) == ("x", None)
        assert record.votes[0].scores["x"]["c1"].score == 4
        assert judgments_of_clash(record) == []

    async def test_a_judge_that_is_a_candidate_too_is_asked_apart_and_counted_once(self):
        model = ScriptedModel(lambda request: reply(request, ["A0", "A1"]) if request.schema else "an answer")
        clash = generated(
            ("same", model), ("y", answers("b")), judges=(Judge("same", model),),
            observers=(Judge("same", model, own="same"),),
        )  # fmt: skip
        record = await one(question(), clash)
        assert [vote.judge for vote in record.votes] == ["same", voter_name(clash.observers[0])]
        assert record.tally.voters == 1
