"""What many evaluations have in common."""

from metajudge.clashes.clash import Clash, Judge
from metajudge.clashes.summary import by_category, self_preference
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by


async def test_categories_count_every_evaluation_once_and_name_all_that_won_most():
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


async def test_a_judge_on_its_own_answers_beside_the_panel():
    watching = (Judge("y", ranks_by(SHORT), own="y"),)
    clash = Clash(judges=(Judge("a", ranks_by(LONG)), Judge("b", ranks_by(LONG))), observers=watching)
    (found,) = self_preference([await one(question(f"q{n}"), clash) for n in range(4)])
    assert (found.judge, found.first, found.n, found.panel) == ("candidate:y", 4, 4, 0)
    assert found.low < 0.6  # four of four are no certainty
    assert "4 of 4 evaluations" in found.sentence()
