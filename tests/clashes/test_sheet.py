"""What a reader of one evaluation gets, blind and in full."""

from dataclasses import asdict

from metajudge.clashes.clash import Clash, Judge
from metajudge.clashes.sheet import blind_sheet, full_sheet, in_labels
from metajudge.providers.scripted import ScriptedModel
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by, reply, says, shown

LABELS = {"R1": "y", "R2": "x"}


def explains():
    """A judge that puts the long answer first and writes of it by the label that it saw."""

    def script(request):
        texts = shown(request)
        best = max(texts, key=lambda label: len(texts[label]))
        order = sorted(texts, key=lambda label: label != best)
        return reply(request, order, score=2, reason=f"{best} is longer").replace("They differ.", f"{best} says more.")

    return ScriptedModel(script)


class TestFullSheet:
    async def test_answers_rankings_scores_and_reasons_by_the_readers_labels(self):
        observer = Judge("y", ranks_by(SHORT), own="y")
        clash = Clash(judges=tuple(Judge(f"j{n}", explains()) for n in range(3)), observers=(observer,))
        sheet = full_sheet(await one(question(), clash), LABELS)
        assert [(one.label, one.name, one.best) for one in sheet.answers] == [("R2", "x", True), ("R1", "y", False)]
        assert sheet.best[0].text == "long answer"
        assert {vote.comparison for vote in sheet.votes} == {"R2 says more."}
        assert [vote.written for vote in sheet.votes] == ["R2 > R1"] * 3
        assert {one.reason for vote in sheet.votes for one in vote.scores} == {"R2 is longer"}
        assert sheet.mean("R1", "c1") == 2
        assert [(vote.judge, vote.own, vote.own_first) for vote in sheet.observers] == [("candidate:y", "R1", True)]
        assert (sheet.verdict, sheet.criteria_source) == ("x wins", "the generic four")

    async def test_lost_judges_and_ties_are_said(self):
        sheet = full_sheet(await one(question(), panel(ranks_by(LONG), ranks_by(SHORT), says("no"))))
        assert sheet.verdict == "tie between x and y"
        assert [one.name for one in sheet.best] == ["x", "y"]
        assert sheet.triage.startswith("escalate to a person: ")
        assert sheet.votes[2].ranking is None
        assert sheet.votes[2].problem


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
