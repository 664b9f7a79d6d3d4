"""The unit of dependence: which items of an input are one observation, by hand."""

import math

import numpy as np
import pytest

from metajudge.audit.report import audit
from metajudge.errors import InputError
from metajudge.evidence import grouping
from metajudge.evidence.counting import Counts
from metajudge.evidence.grouping import LARGEST, Interned, Key, alike, joined, spread, starts_of
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
    clusters = Clusters(judgments)
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


def test_who_knows_better_states_the_unit_and_a_question_has_the_same_name_asked_for_or_found():
    assert partition([item(0, "a"), item(1, "a"), item(2, "b")], "item") == [0, 1, 2]
    assert partition([item(0), item(1), item(2)], "question") == [0, 0, 0]
    assert partition([item(0, category="x"), item(1, category="y"), item(2, category="x")], "category") == [0, 1, 0]
    found = Asked.of(item(0, "a", reference="r"))
    asked = Asked.of(stated("question")(judged(item(0, "a", reference="r"))).item)
    assert (asked.unit, asked.text) == (found.unit, found.text)
    assert Asked.of(stated("item")(judged(item(0))).item).unit == Asked.of(item(0)).named("item")


def test_a_unit_that_is_missing_or_differs_is_refused_and_the_question_id_is_part_of_no_digest():
    with pytest.raises(InputError, match=r"--unit day: judgment 'j-i0' has no such field, but session: name item"):
        stated("day")(judged(item(0), session=3))
    state = stated("day")
    state(judged(item(0), day=1))
    with pytest.raises(InputError, match=r"item 'i0' has '1' in judgment 'j-i0' and '2' in 'j-i0'"):
        state(judged(item(0), day=2))
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


def test_the_interval_under_one_instruction_is_that_by_item_and_equal_values_are_kept_once():
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
    names = Interned[str]()
    assert [names.code(name) for name in "aba"] == [0, 1, 0]
    assert (names.optional(None), names.optional("b"), names.values) == (-1, 1, ["a", "b"])


@pytest.mark.parametrize("bounds", [(3, 4, 2), (1 << 40, 1 << 40, 1 << 40)], ids=["small", "beyond 64 bits"])
def test_keys_are_equal_where_all_columns_are(bounds: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 200) * (bound - 1) for bound in bounds]
    key = Key.of(columns[0], bounds[0])
    for column, bound in zip(columns[1:], bounds[1:], strict=True):
        key = key.then(column, bound)
    place, first = key.distinct()
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert key.bound <= LARGEST
    assert [sorted(set(rows))[at] for at in place.tolist()] == rows
    assert first.tolist() == [rows.index(one) for one in sorted(set(rows))]
    assert key.dense().bound == len(first)


def test_every_pair_of_rows_with_one_code_in_order() -> None:
    left, right = np.array([1, 0, 2]), np.array([0, 1, 0, 1, 1])
    ((part, of, other),) = joined(left, right, 3)
    assert part == slice(0, 3)
    assert list(zip(of.tolist(), other.tolist(), strict=True)) == [(0, 1), (0, 3), (0, 4), (1, 0), (1, 2)]


def test_few_pairs_are_held_at_once_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 5, 40), rng.integers(0, 5, 30)
    monkeypatch.setattr(grouping, "MOST", 11)
    found, size = [], 0
    for part, of, other in joined(left, right, 5):
        assert len(of) <= 11 or part.stop - part.start == 1
        size += part.stop - part.start
        found += [(part.start + one, another) for one, another in zip(of.tolist(), other.tolist(), strict=True)]
    assert size == 40
    assert found == [(at, to) for at in range(40) for to in range(30) if left[at] == right[to]]


def test_ranges_one_after_the_other_and_rows_with_the_same_values_are_alike() -> None:
    place, of = spread(np.array([5, 0, 2]), np.array([7, 0, 3]))
    assert (place.tolist(), of.tolist()) == ([5, 6, 2], [0, 0, 2])
    assert starts_of(np.array([2, 0, 2]), 3).tolist() == [0, 1, 1, 3]
    rows = [[1, 0], [], [0, 1], [1, 0], [2]]
    of = np.repeat(np.arange(5), [len(row) for row in rows])
    found = {}
    for members, which, sequences in alike(of, np.array([one for row in rows for one in row]), 3, 5):
        found |= {row: sequences[at].tolist() for row, at in zip(members.tolist(), which.tolist(), strict=True)}
        assert len({tuple(one) for one in sequences.tolist()}) == len(sequences)
    assert found == dict(enumerate(rows))
