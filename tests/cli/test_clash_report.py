"""What ``metajudge clash`` prints, in its own words."""

import pytest

from metajudge.clashes.clash import Clash, Judge
from metajudge.clashes.run import ClashTotals
from metajudge.clashes.sheet import full_sheet
from metajudge.clashes.standings import standings_of
from metajudge.cli.clash_html import evaluation_fold
from metajudge.cli.clash_report import (
    Written,
    best_answers,
    first_words,
    overview,
    print_clash,
    summary_json,
    took,
    unpriced,
)
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply
from tests.clashes.candidates import answers, generated
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by


async def split(id="q1"):
    return await one(question(id), panel(ranks_by(LONG), ranks_by(LONG), ranks_by(SHORT)))


class TestBestAnswer:
    async def test_the_winning_answer_is_printed_before_anything_else(self, capsys):
        record = await split()
        totals = ClashTotals()
        totals.add(record, False)
        print_clash([record], totals, standings_of([record]), Written())
        assert capsys.readouterr().out.startswith("Winning answer, by x:\n  long answer\n")

    async def test_answers_that_share_the_first_place_are_all_printed_and_terminal_codes_are_not(self):
        record = await one(question("q", x="a\x1b[31mb", y="c"), panel(ranks_by(LONG), ranks_by(SHORT)))
        said = "\n".join(best_answers(record))
        assert said.count("Shares the first place") == 2
        assert "\x1b" not in said


class TestForPeople:
    async def test_splits_are_listed_with_their_command_and_what_is_not_in_the_queue_is_said(self, capsys):
        records = [await split(f"q{n}") for n in range(3)]
        totals = ClashTotals()
        written = Written(reviews={"q0": "abc", "q1": "def"}, store=" --store s.duckdb")
        print_clash(records, totals, standings_of(records), written)
        said = capsys.readouterr().out
        assert "For people to decide: 3 evaluations." in said
        assert "q0: x wins (2 of 3 put x first)  'What is it? (q0)'  metajudge review show abc --store s.duckdb" in said
        assert "1 of them is not in the review queue" in said

    def test_counts_of_one_are_singular(self):
        totals = ClashTotals()
        totals.evaluations = totals.prompts = totals.tied = 1
        assert overview(totals)[0].startswith("1 evaluation of 1 prompt: 0 with a winner (0 unanimous), 1 tie,")


class TestCost:
    def test_an_unknown_cost_is_no_zero_and_says_whose_and_how_to_state_it(self):
        totals = ClashTotals()
        totals.calls, totals.cost_usd, totals.known_cost_usd = 3, None, 0.0
        said = took(totals, [])
        assert "an unknown cost" in said
        assert "$0" not in said
        assert "price = { input = USD, output = USD }" in said

    async def test_who_has_no_price(self):
        free = ScriptedModel(lambda _request: Reply("long", "stop", "m", cost_usd=None), name="m")
        clash = generated(("x", free), ("y", answers("s")), judges=(Judge("j", ranks_by(LONG)),))
        assert unpriced([await one(question(), clash)]) == ["candidate x"]

    def test_a_known_zero_is_a_zero(self):
        totals = ClashTotals()
        totals.calls, totals.cost_usd = 1, 0.0
        assert "1 call, $0," in took(totals, [])


async def test_the_json_has_what_the_screen_has():
    records = [await split(f"q{n}") for n in range(9)]
    text = summary_json(records, ClashTotals(), {}, standings_of(records), {"q0": "abc"})
    for part in ('"lead"', '"self_preference"', '"categories"', '"reviews"', '"probability"', '"sentence"'):
        assert part in text


async def test_an_evaluation_in_the_report_has_everything_the_sheet_has():
    watching = (Judge("y", ranks_by(SHORT), own="y"),)
    clash = Clash(judges=(Judge("a", ranks_by(LONG, reason="thin")), Judge("b", ranks_by(LONG))), observers=watching)
    said = evaluation_fold(full_sheet(await one(question(), clash))).model_dump_json()
    for part in ("What is it?", "long answer", "accuracy", "x > y", "thin", "They differ.", "Observers", "candidate:y"):
        assert part in said


@pytest.mark.parametrize(("text", "begins"), [("short\n text", "short text"), ("w " * 80, "w w w")])
def test_lists_show_how_a_question_begins(text, begins):
    found = first_words(text)
    assert found.startswith(begins)
    assert len(found) <= 60
