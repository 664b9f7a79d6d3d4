"""What ``metajudge clash`` prints: no terminal codes, and no cost that nobody knows."""

from metajudge.clashes.run import ClashTotals
from metajudge.cli.clash_report import (
    best_answers,
    took,
)
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by


class TestBestAnswer:
    async def test_answers_that_share_the_first_place_are_all_printed_and_terminal_codes_are_not(self):
        record = await one(question("q", x="a\x1b[31mb", y="c"), panel(ranks_by(LONG), ranks_by(SHORT)))
        said = "\n".join(best_answers(record))
        assert said.count("Shares the first place") == 2
        assert "\x1b" not in said


class TestCost:
    def test_an_unknown_cost_is_no_zero_and_says_whose_and_how_to_state_it(self):
        totals = ClashTotals()
        totals.calls, totals.cost_usd, totals.known_cost_usd = 3, None, 0.0
        said = took(totals, [])
        assert "an unknown cost" in said
        assert "$0" not in said
        assert "price = { input = USD, output = USD }" in said
