import numpy as np

from metajudge.store.lookups import KnownKeys, RecentAssessments, key_hash, key_hashes


def stored(*rows: tuple[int, int]):
    return tuple(np.array(column, dtype=np.uint64) for column in (list(zip(*rows, strict=True)) or ([], [])))


class TestKnownKeys:
    def test_stored_and_committed_keys_may_be_there_with_their_rows_and_no_others(self) -> None:
        table = [(key_hash(f"stored-{n}"), n) for n in range(1000)]
        keys = KnownKeys(lambda: stored(*table))
        keys.load()
        for place, name in enumerate(("added", "added after a row was asked for"), start=1000):
            keys.acknowledge(key_hash(name))
            table.append((key_hash(name), place))
            keys.commit(table[-1:])
            assert keys.may_contain(key_hash(name))
            assert not any(keys.may_contain(key_hash(f"other-{n}")) for n in range(1000))
            assert keys.row(key_hash(name)) == place
        assert [keys.row(key_hash(f"stored-{n}")) for n in range(1000)] == list(range(1000))
        names = ["stored-7", "other", "added"]
        assert key_hashes(names).tolist() == [key_hash(one) for one in names]
        assert keys.numbers(key_hashes(names)).tolist() == [7, 0, keys.row(key_hash("added"))]

    def test_a_key_is_pending_until_each_of_its_rows_is_committed_or_taken_back(self) -> None:
        keys = KnownKeys(lambda: stored())
        keys.load()
        for _ in range(3):
            keys.acknowledge(7)
        assert keys.pending(7)
        assert keys.may_contain(7)
        assert keys.row(7) is None  # reads the rows: no others are there
        keys.commit([(7, 1)])
        keys.retract(7)
        assert keys.pending(7)
        assert keys.row(7) == 1
        keys.commit([(7, 2)])
        assert not keys.pending(7)
        assert keys.row(7) == 2

    def test_the_newest_row_counts_also_when_it_was_committed_before_loading(self) -> None:
        keys = KnownKeys(lambda: stored((5, 1), (6, 2), (5, 3), (6, 4)))
        keys.acknowledge(6)
        keys.commit([(6, 4)])
        keys.load()
        assert (keys.row(5), keys.row(6)) == (3, 4)


class TestRecentAssessments:
    def test_what_was_read_while_something_was_written_is_not_kept(self) -> None:
        recent, old = RecentAssessments(), object()
        turn = recent.turn
        recent.written("other")
        recent.put("key", old, turn)
        assert recent.get("key") is None

    def test_a_write_and_a_redaction_drop_what_is_kept(self) -> None:
        recent, old = RecentAssessments(), object()
        recent.put("key", old, recent.turn)
        assert recent.get("key") is old
        recent.written("key")
        assert recent.get("key") is None
        recent.put("key", old, recent.turn)
        recent.clear()
        assert recent.get("key") is None
