from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.tally import Tally

from metajudge.report.document import Absent


def test_outcomes_are_counted_by_category_and_overall_with_their_questions():
    tally = Tally("category", games=3, without_verdict=1)
    for category, right, question in (("a", True, "q1"), ("a", False, "q2"), ("b", True, "q2")):
        tally.add(category, right, question)
        tally.decided.add(right, question)
    tally.measure("m", "a", True, "q1")
    found = tally.accuracy("owl", alike="not asked twice")
    assert {name: (cell.successes, cell.n, cell.questions) for name, cell in found.cells.items()} == {
        "a": (1, 2, 2),
        "b": (1, 1, 1),
        OVERALL: (2, 3, 2),
    }
    assert found.measures["m"].keys() == {"a", OVERALL}
    assert (found.games, found.decided, found.without_verdict) == (3, 3, 1)
    assert found.agreeing == Absent(absent="not asked twice")
