"""Keys are known from the start, values once they are asked for; nothing noted meanwhile is lost."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from metajudge.store import compact_map
from metajudge.store.stored_map import Pairs, StoredMap


class Table:
    """A database with one table, which counts how often it was read."""

    def __init__(self, **rows: int) -> None:
        self.rows = [(int(name[1:]) << 32, value) for name, value in rows.items()]
        self.reads = 0

    def read(self) -> Pairs:
        self.reads += 1
        keys, values = list(zip(*self.rows, strict=True)) or ([], [])
        return np.array(keys, dtype=np.uint64), np.array(values, dtype=np.uint64)

    def write(self, known: StoredMap, key: int, value: int) -> None:
        self.rows.append((key, value))
        known.update([key], [value])


def test_a_key_that_only_begins_like_another_is_told_apart_by_the_values() -> None:
    table = Table(k1=10)
    known = StoredMap(table.read)
    known.load()
    assert (1 << 32) + 1 in known
    assert known.values().get((1 << 32) + 1) is None
    assert (1 << 32) + 1 not in known


def test_the_last_of_equal_keys_counts() -> None:
    table = Table()
    table.rows = [(7 << 40, 1), (7 << 40, 2)]
    assert StoredMap(table.read).values().get(7 << 40) == 2


def test_a_failed_read_of_values_leaves_the_keys() -> None:
    table = Table(k1=10)
    known = StoredMap(lambda: table.read() if table.rows else pytest.fail("no rows"))
    known.load()
    rows, table.rows = table.rows, []
    with pytest.raises(pytest.fail.Exception):
        known.values()
    table.rows = rows
    table.write(known, 2 << 32, 20)
    assert 1 << 32 in known
    assert known.values().get(2 << 32) == 20


def test_what_is_noted_while_values_are_read_is_not_lost(monkeypatch) -> None:
    monkeypatch.setattr(compact_map, "MIN_SETTLED", 16)
    table = Table(k1=10)
    reading, noted = threading.Event(), threading.Event()

    def read() -> Pairs:
        found = table.read()
        if table.reads == 2:
            reading.set()
            assert noted.wait(30)
        return found

    known = StoredMap(read)
    known.load()
    keys = [random.Random(n).randrange(2**64) for n in range(200)]
    with ThreadPoolExecutor(1) as pool:
        values = pool.submit(known.values)
        assert reading.wait(30)
        for key in keys:
            table.write(known, key, key // 2)
            assert key in known
        noted.set()
        assert [values.result().get(key) for key in keys] == [key // 2 for key in keys]
    assert all(key in known for key in (1 << 32, *keys))
