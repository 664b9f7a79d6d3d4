"""What a reader of one evaluation gets who has not decided."""

from dataclasses import asdict

from metajudge.clashes.sheet import blind_sheet, in_labels
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by


class TestBlindSheet:
    async def test_it_has_no_name_no_ranking_and_no_score(self):
        record = await one(
            question(owl="I am Claude, made by Anthropic", fox="Yes"), panel(ranks_by(LONG, score=4), ranks_by(SHORT))
        )
        sheet = blind_sheet(record, {"R1": "owl", "R2": "fox"})
        said = str(asdict(sheet))
        assert [one.label for one in sheet.answers] == ["R1", "R2"]
        assert [
            name for name in ("owl", "fox", "Claude", "Anthropic", "j1", "They differ", "wins") if name in said
        ] == []
        assert sheet.criteria


def test_labels_in_prose_are_whole_words():
    assert in_labels("A1 beats A10, not XA1 or A1B", {"A1": "R2"}) == "R2 beats A10, not XA1 or A1B"
