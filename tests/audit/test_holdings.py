from metajudge.audit.report import audit
from metajudge.types.right import parse_right
from tests.audit.records import pair, single


def held(*judgments):
    return audit(judgments).holdings


def test_counts_of_everything():
    found = held(
        pair("i", "a", "A>B", labels=[("ann", "A>B"), ("bob", "B>A")], models={"A": "x", "B": "y"}, category="c"),
        pair("i", "a", "A>B", "BA", meta={"time": "2026-01-01", "version": "v1"}),
        pair("i", "a", "A>B", "BA", id="again", meta={"time": "2026-01-02", "version": "v1"}),
        pair("k", "a", None, label="A>B"),
        pair("k", "b", "A>B", id="same"),
        pair("k", "b", "A>B", id="same"),
        single("s", "b", 4, label=4, question="question of k"),
    )
    assert (found.judgments, found.no_verdict, found.duplicates) == (6, 1, 1)
    assert (found.items, found.questions) == (3, 2)
    assert found.judges == {"a": 4, "b": 2}
    assert {kind: one.verdicts for kind, one in found.kinds.items()} == {"pairwise": 4, "grade": 1}
    assert found.kinds["pairwise"].right == "top1"
    assert (found.labelled_items, found.labels, found.undecided_labels) == (3, 2, 0)  # a tied vote of a pair is a tie
    assert (found.annotators, found.several_labels) == (2, 1)
    assert (found.both_orders, found.repeats) == (1, 1)
    assert (found.with_models, found.with_categories, found.with_time) == (1, 1, 2)
    assert (found.first_time, found.last_time) == ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00")
    assert found.versions == {"a": ("v1",)}


def supports(*judgments):
    return {one.analysis: one for one in audit(judgments).supports}


def test_a_bare_file_says_what_one_more_column_would_add():
    found = supports(*(single(f"i{at}", "j", at % 2 == 0) for at in range(20)))
    assert not any(one.possible for one in found.values())
    assert all(one.add for name, one in found.items() if name != "position")
    assert found["position"].why == "verdicts on single responses have no order"


def test_what_is_possible_asks_for_nothing():
    found = supports(
        *(single(f"i{at}", j, at % 3 == 0, label=at % 2 == 0, length=at + 1) for at in range(40) for j in ("a", "b"))
    )
    for name in (
        "agreement with people",
        "agreement with the other judges",
        "length",
        "severity",
        "corrected rate",
        "jury",
    ):
        assert (found[name].possible, found[name].add) == (True, ""), name
    assert not found["human ceiling"].possible


def test_words_that_are_no_side_are_counted():
    report = audit(
        [single("i", "j", "pass", label="pass"), single("k", "j", "perhaps", label="fail")], right=parse_right("equal")
    )
    assert report.holdings.kinds["category"].labelled == 2
