"""Records as rows: what is beside an item's content belongs to each record of it."""

from datetime import UTC, datetime

import pytest

from metajudge.types import Item, Judgment, Label

WHEN = datetime(2026, 11, 22, tzinfo=UTC)


def graded(name: str, **beside) -> Judgment:
    item = Item.model_validate(
        {"id": "q1", "question": "Is it good?", "responses": {"A": "Yes."}, "scale": (1, 5), **beside}
    )
    return Judgment.model_validate({"id": name, "item": item, "judge": "owl", "verdict": 4})


@pytest.fixture
def two() -> tuple[Judgment, Judgment]:
    return (
        graded("one", labels=(Label(value=3.0, annotator="ann", time=WHEN), Label(value=4.0))),
        graded(
            "two",
            labels=(Label(value=1.0, annotator="ben"),),
            conversation=({"role": "user", "content": "Is it good?"},),
            metadata={"A": {"tokens": 2}},
        ),
    )


async def test_records_of_one_item_keep_each_its_own_labels(store, records, two) -> None:
    plain = graded("three")
    assert len({one.item.digest for one in (*two, plain)}) == 1
    for number, one in enumerate((*two, plain)):
        said = records.assessment(one, panel_digest="p")
        await store.save_assessment(str(number), one, said, "run-1")
    assert await store.judgments() == [*two, plain]
    for one in (*two, plain):
        assert await store.find_judgment(one.digest) == one
    shown = (await store.show("q1"))["judgments"]
    assert [Judgment.model_validate(row["judgment"]) for row in shown] == [*two, plain]
