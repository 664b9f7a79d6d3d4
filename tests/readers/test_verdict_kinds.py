"""What an input contains, counted by kind, scale and annotator."""

from metajudge.readers.inspection import VerdictKinds
from metajudge.types import AnyVerdict, Category, Grade, Item, Judgment, Label
from metajudge.types.judgment import Scale


def judgment(name: str, verdict: AnyVerdict | None, *people: str | None, scale: Scale | None = None) -> Judgment:
    labels = tuple(Label(value=Grade(1.0), annotator=one) for one in people)
    item = Item(id=name, question="?", responses={"A": "x"}, labels=labels, scale=scale)
    return Judgment(id=name, item=item, judge="g", verdict=verdict, no_verdict=None if verdict else "none")


def test_labels_are_counted_once_an_item_however_many_judges_it_has() -> None:
    found = VerdictKinds()
    for one in (
        judgment("q1", Grade(2.0), "anna", None),
        judgment("q1", Grade(4.0), "anna", None),
        judgment("q2", Category("pass"), "anna"),
        judgment("q3", None),
    ):
        found.add(one)
    data = found.to_json()
    assert data["kinds"] == {"grade": 2, "category": 1}
    assert (data["grades"], data["categories"], data["scales"]) == ([2.0, 4.0], {"pass": 1}, None)
    assert data["labels"] == {
        "items": 3,
        "labelled_items": 2,
        "annotators": {"anna": 2, "(no name)": 1},
        "per_item": {"1": 1, "2": 1},
    }
