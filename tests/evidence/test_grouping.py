import numpy as np
import pytest

from metajudge.evidence import grouping
from metajudge.evidence.grouping import LARGEST, Interned, Key, alike, joined, spread, starts_of


def test_equal_values_are_kept_once() -> None:
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


def test_ranges_one_after_the_other() -> None:
    place, of = spread(np.array([5, 0, 2]), np.array([7, 0, 3]))
    assert (place.tolist(), of.tolist()) == ([5, 6, 2], [0, 0, 2])
    assert starts_of(np.array([2, 0, 2]), 3).tolist() == [0, 1, 1, 3]


def test_rows_with_the_same_values_in_the_same_order_are_alike() -> None:
    rows = [[1, 0], [], [0, 1], [1, 0], [2]]
    of = np.repeat(np.arange(5), [len(row) for row in rows])
    found = {}
    for members, which, sequences in alike(of, np.array([one for row in rows for one in row]), 3, 5):
        found |= {row: sequences[at].tolist() for row, at in zip(members.tolist(), which.tolist(), strict=True)}
        assert len({tuple(one) for one in sequences.tolist()}) == len(sequences)
    assert found == dict(enumerate(rows))
