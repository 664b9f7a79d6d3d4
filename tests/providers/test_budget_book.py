from metajudge.providers.budget_book import DAY_S, BudgetBook

NOON = 20_000 * DAY_S + DAY_S / 2


def test_calls_in_flight_and_spending_share_the_limit():
    book = BudgetBook()
    assert book.reserve("a", 0.6, 1.0, NOON).granted
    assert not book.reserve("b", 0.6, 1.0, NOON).granted
    assert book.reserve("a", 0.6, 1.0, NOON).granted, "asked again it changes nothing"
    assert book.state(NOON).held == 0.6
    book.settle("a", 0.1, NOON)
    found = book.reserve("b", 0.6, 1.0, NOON)
    assert (found.granted, found.spent, found.ends_in_s) == (True, 0.1, DAY_S / 2)
    assert not book.reserve("c", 0.4, 1.0, NOON).granted


def test_what_a_dead_process_set_aside_is_returned_and_what_it_tells_late_counts():
    book = BudgetBook()
    book.reserve("dead", 1.0, 1.0, NOON, 10)
    book.renew(["dead", "unknown"], NOON + 5, 10)
    assert not book.reserve("b", 1.0, 1.0, NOON + 14, 10).granted
    assert book.reserve("b", 1.0, 1.0, NOON + 15, 10).granted
    book.settle("dead", 0.5, NOON + 16)
    assert book.state(NOON + 16).spent == 0.5


def test_a_day_begins_anew_at_midnight_and_calls_in_flight_stay():
    book = BudgetBook()
    before = NOON + DAY_S / 2 - 1
    book.reserve("a", 0.2, 1.0, before)
    book.settle("b", 0.8, before)
    assert not book.reserve("c", 0.1, 1.0, before).granted
    found = book.state(before + 1)
    assert (found.spent, found.held, found.ends_in_s) == (0.0, 0.2, DAY_S)
    assert BudgetBook.from_json(book.to_json()) == book
