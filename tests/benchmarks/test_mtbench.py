from metajudge.benchmarks import mtbench
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.mtbench import FLIPS, REPEATS

from metajudge.types import Item, Judgment, Label, Message, parse_verdict


def judgment(number, order, verdict, *, votes=("A>B",), sample=0, judge="gpt"):
    item = Item(
        id=f"q{number}",
        question=f"Q{number}",
        responses={"A": "a", "B": "b"},
        category="writing",
        labels=tuple(Label(value=parse_verdict(vote)) for vote in votes),
    )
    return Judgment(
        id=f"{number}{order}{sample}{judge}",
        item=item,
        judge=judge,
        verdict=None if verdict is None else parse_verdict(verdict),
        no_verdict=None if verdict else "unread",
        order=tuple(order),
        meta={"sample": sample} if sample else {},
    )


def accuracy(*judgments):
    (found,) = mtbench.accuracy(judgments, None)
    return found


def test_a_pair_counts_where_both_orders_name_one_winner(tmp_path):
    found = accuracy(
        judgment(1, "AB", "A>B"), judgment(1, "BA", "A>B"),
        judgment(2, "AB", "B>A"), judgment(2, "BA", "B>A"),
        judgment(3, "AB", "A>B"), judgment(3, "BA", "B>A"),
        judgment(4, "AB", "A>B"), judgment(4, "BA", "A=B"),
        judgment(5, "AB", "A>B", votes=("A>B", "B>A")), judgment(5, "BA", "A>B", votes=("A>B", "B>A")),
    )  # fmt: skip
    cell = found.cells[OVERALL]
    assert (cell.successes, cell.n) == (1, 2)
    assert (found.games, found.decided, found.ties) == (8, 7, 1)
    assert found.precision.successes == 4
    assert (found.agreeing.successes, found.agreeing.n) == (1, 2)
    # Whether the orders differ does not depend on the label.
    assert (found.measures[FLIPS][OVERALL].successes, found.measures[FLIPS][OVERALL].n) == (2, 5)


def test_repeats_are_measured_and_not_counted_whatever_their_place_in_the_file():
    found = accuracy(judgment(1, "AB", "B>A", sample=1), judgment(1, "AB", "A>B"), judgment(1, "AB", "A>B", sample=2))
    assert (found.games, found.cells[OVERALL].successes) == (1, 1)
    assert (found.measures[REPEATS][OVERALL].successes, found.measures[REPEATS][OVERALL].n) == (1, 2)


def test_turns_of_one_conversation_are_one_question():
    first, second = judgment(1, "AB", "A>B"), judgment(2, "AB", "A>B")
    talk = (Message(role="user", content="Q1"), Message(role="user", content="More"))
    second = second.model_copy(update={"item": second.item.model_copy(update={"conversation": talk})})
    assert accuracy(first, second).cells[OVERALL].questions == 1
