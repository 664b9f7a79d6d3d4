import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from metajudge.store import compact_map
from metajudge.store.compact_map import CompactMap


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
