import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from metajudge.store import compact_map
from metajudge.store.compact_map import CompactMap, CompactSet


@pytest.fixture(autouse=True)
def _settles_soon(monkeypatch) -> None:
    monkeypatch.setattr(compact_map, "MIN_SETTLED", 16)


@pytest.mark.parametrize("seed", range(20))
def test_it_says_what_a_dict_says(seed: int) -> None:
    rng = random.Random(seed)
    keys = [rng.choice((rng.randrange(300), rng.randrange(2**64), 0, 2**64 - 1)) for _ in range(2000)]
    found, wanted = CompactMap(), dict[int, int]()
    for number, key in enumerate(keys):
        value = rng.choice((number, 2**64 - 1 - number))
        if rng.random() < 0.01:
            many = [(rng.choice(keys), rng.randrange(2**64)) for _ in range(rng.randrange(50))]
            columns = (np.array([entry[place] for entry in many], dtype=np.uint64) for place in (0, 1))
            found.add(*columns)
            wanted = dict(many) | wanted
        found.put(key, value)
        wanted[key] = value
    assert {key: found.get(key) for key in {*keys, *wanted}} == {key: wanted.get(key) for key in {*keys, *wanted}}
    assert not any(rng.randrange(2**62, 2**63) in found for _ in range(100))
    assert len(found._newest) < 40
    assert all(column.nbytes <= 8 * len(wanted) for column in found._settled)


def test_entries_of_several_threads_are_all_there_at_any_time() -> None:
    found, keys = CompactMap(), [random.Random(n).randrange(2**64) for n in range(4000)]

    def put(part: int) -> bool:
        for key in keys[part::4]:
            found.put(key, key // 2)
            if found.get(key) != key // 2:
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(put, range(4)))
    assert all(found.get(key) == key // 2 for key in keys)


def test_empty() -> None:
    found = CompactMap()
    assert found.get(0) is None
    found.add(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64))
    assert 2**64 - 1 not in found


@pytest.mark.parametrize("spread", [2**64, 2**20, 2**51])
def test_a_compact_set_has_what_was_added_and_nothing_that_begins_otherwise(spread: int) -> None:
    rng = random.Random(spread)
    keys = [rng.randrange(spread) for _ in range(3000)] + [0, 2**64 - 1, 2**64 - 1]
    found = CompactSet()
    for start in range(0, len(keys), 7):
        some = keys[start : start + 7]
        if rng.random() < 0.1:
            found.add(np.array(some, dtype=np.uint64))
        else:
            found.update(some)
        assert all(key in found for key in some)
    shortened = {key >> 16 for key in keys}
    asked = [*keys, *(rng.randrange(2**64) for _ in range(1000)), *(rng.randrange(spread) for _ in range(1000))]
    wanted = [key >> 16 in shortened for key in asked]
    assert [key in found for key in asked] == wanted
    assert found.contain(np.array(asked, dtype=np.uint64)).tolist() == wanted
    starts, rests = found._settled
    assert rests.nbytes <= 4 * len(shortened)
    assert int(starts[-1]) == len(rests)


def test_an_empty_set() -> None:
    found = CompactSet()
    found.add(np.empty(0, dtype=np.uint64))
    assert 0 not in found
    assert found.contain(np.empty(0, dtype=np.uint64)).tolist() == []
    assert found.contain(np.array([1, 2**64 - 1], dtype=np.uint64)).tolist() == [False, False]
