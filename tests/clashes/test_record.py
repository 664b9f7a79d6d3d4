from metajudge.clashes.record import ClashRecord, recount
from metajudge.clashes.reviews import wants_person
from metajudge.judging.blinding import blind
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by


async def test_the_verdict_can_be_recomputed_by_hand_from_the_stored_record():
    record = await one(question(), panel(ranks_by(LONG), ranks_by(LONG), ranks_by(SHORT)))
    points = {"x": 0, "y": 0}
    for vote in record.votes:
        assert {vote.label_map[label] for label in vote.label_map} == {"x", "y"}
        for place, group in enumerate(vote.ranking.groups, start=1):
            points[group[0]] += 2 - place
    assert points == record.tally.scores == {"x": 2, "y": 1}
    assert (record.status, record.winner) == ("ok", "x")
    assert recount(record) == record.tally


async def test_labels_can_be_drawn_again_from_the_record_alone():
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
