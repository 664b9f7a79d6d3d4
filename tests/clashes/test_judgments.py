from metajudge.clashes.files import judgments_of_clash
from metajudge.errors import ModelTimeoutError
from metajudge.types import Ranking
from tests.clashes.evaluations import LONG, one
from tests.doubles.ranking import fails, panel, question, ranks_by, says


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
