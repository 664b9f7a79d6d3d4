"""The unit of dependence: which items of an input are one observation, by hand."""

import math

import pytest

from metajudge.audit.report import audit
from metajudge.errors import InputError
from metajudge.evidence.counting import Counts
from metajudge.evidence.units import Asked, Clusters, note_of, stated, unit_of
from metajudge.evidence.verdicts import collected
from metajudge.types import Item, Judgment


def item(number, question="toxic?", **more):
    return Item(id=f"i{number}", question=question, responses={"A": f"comment {number}"}, **more)


def judged(one, right=True, **meta):
    return Judgment(id=f"j-{one.id}", item=one.model_dump() | {"label": True}, judge="owl", verdict=right, meta=meta)


def partition(items, unit=None):
    """Items by the cluster that facts, streams and an audit give them; all three say the same."""
    judgments = [judged(one) for one in items]
    if unit is not None:
        judgments = [*map(stated(unit), judgments)]
    clusters = Clusters(judgments, unit)
    names = [clusters.name(one.item) for one in judgments]
    assert [one.question for one in collected(judgments).items] == names
    assert audit(judgments).holdings.questions == len(set(names))
    order = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return [order[name] for name in names]


TURNS = [{"role": "user", "content": "first?"}, {"role": "user", "content": "and?"}]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([item(0, "a"), item(1, "b"), item(2, "a")], [0, 1, 0]),
        ([item(0, "a", reference="r"), item(1, "a", reference="s"), item(2, "a", reference="r")], [0, 1, 0]),
        ([item(0, "a", question_id="q"), item(1, "b", question_id="q"), item(2, "a", question_id="p")], [0, 0, 1]),
        ([item(0, "first?"), item(1, "first?\nand?", conversation=TURNS), item(2, "b")], [0, 0, 1]),
        ([item(0), item(1), item(2)], [0, 1, 2]),
        ([item(at) for at in range(19)] + [item(19, "b"), item(20, "b")], list(range(21))),
        ([item(at) for at in range(9)] + [item(9, "b")], [0] * 9 + [1]),
        ([item(0, question_id="q"), item(1), item(2)], [0, 1, 1]),
        ([item(at, question_id="q") for at in range(3)], [0, 0, 0]),
        ([item(0)], [0]),
    ],
    ids=[
        *("same text", "other reference", "stated id", "turns", "one instruction", "19 of 21", "9 of 10"),
        *("one id is stated", "one id for all", "one item"),
    ],
)
def test_clusters_of_small_files(items, expected):
    assert partition(items) == expected


def test_who_knows_better_states_the_unit():
    assert partition([item(0, "a"), item(1, "a"), item(2, "b")], "item") == [0, 1, 2]
    assert partition([item(0), item(1), item(2)], "question") == [0, 0, 0]
    assert partition([item(0, category="x"), item(1, category="y"), item(2, category="x")], "category") == [0, 1, 0]


def test_the_same_question_has_the_same_name_whether_asked_for_or_found():
    found = Asked.of(item(0, "a", reference="r"))
    asked = Asked.of(stated("question")(judged(item(0, "a", reference="r"))).item)
    assert (asked.unit, asked.text) == (found.unit, found.text)
    assert Asked.of(stated("item")(judged(item(0))).item).unit == Asked.of(item(0)).named("item")


def test_a_field_that_is_missing_or_differs_is_refused():
    with pytest.raises(InputError, match=r"--unit day: judgment 'j-i0' has no such field, but session: name item"):
        stated("day")(judged(item(0), session=3))
    state = stated("day")
    state(judged(item(0), day=1))
    with pytest.raises(InputError, match=r"item 'i0' has '1' in judgment 'j-i0' and '2' in 'j-i0'"):
        state(judged(item(0), day=2))


def test_the_question_id_is_part_of_no_digest():
    one, other = judged(item(0)), judged(item(0, question_id="q"))
    assert (one.digest, one.vetting_digest, one.item.digest) == (other.digest, other.vetting_digest, other.item.digest)
    assert "question_id" not in one.model_dump_json()
    assert Judgment.model_validate_json(other.model_dump_json()).item.question_id == "q"


def test_what_is_said_of_the_unit():
    def said(items, given=None):
        return note_of([Asked.of(one) for one in items], given)

    few = [item(at, "ab"[at % 2]) for at in range(6)]
    assert said(few) == "2 texts cover all 6 items: `--unit item` if they are instructions."
    assert said([item(at, question_id="q") for at in range(3)], "question").startswith("1 text covers all 3 items")
    assert "One text covers 3 of 3 items" in said([item(at) for at in range(3)])
    assert said(few, "day") == "A question here is what has the same day (--unit day)."
    assert said([item(at, str(at)) for at in range(6)]) is None
    assert said([item(at, str(at % 20)) for at in range(60)]) is None
    assert unit_of([]) == "question"


def wilson(hits, n, z=1.959963984540054):
    """Wilson's 95 % interval, after its definition of 1927."""
    share, middle = hits / n, (hits + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(n * share * (1 - share) + z * z / 4)
    return middle - half, middle + half


def test_the_interval_under_one_instruction_is_that_by_item():
    judgments = [judged(item(at), right=at % 4 > 0) for at in range(80)]
    found = audit(judgments).judges[0].figures["accuracy"]
    assert (found.estimate, found.questions) == (0.75, 80)
    assert found.interval == pytest.approx(wilson(60, 80), abs=1e-9)
    count = Counts(clusters=Clusters(judgments))
    for at, judgment in enumerate(judgments):
        number = count.clusters.number(judgment.item)
        count.count(judgment.id, number, "decided", "kept_without_guarantee", int(at % 4 > 0))
    told = count.rows()["kept"].share
    assert (told.low, told.high) == pytest.approx(wilson(60, 80), abs=1e-9)
    assert told.clusters == 80
