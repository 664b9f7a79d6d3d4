from concurrent.futures import ThreadPoolExecutor

import numpy as np

from metajudge.store import lookups
from metajudge.store.lookups import KnownKeys, RecentAssessments, RecentReplies, key_hash
from metajudge.types import Reply


def reply(text: str) -> Reply:
    return Reply(text, "stop", "small", attempts=2)


class TestKnownKeys:
    def test_stored_and_added_keys_may_be_there_and_no_others(self) -> None:
        stored = [key_hash(f"stored-{n}") for n in range(1000)]
        keys = KnownKeys(lambda: np.array(stored, dtype=np.uint64))
        keys.load()
        keys.add(key_hash("added"))
        assert all(keys.may_contain(h) for h in stored)
        assert keys.may_contain(key_hash("added"))
        assert not any(keys.may_contain(key_hash(f"other-{n}")) for n in range(1000))

    def test_extreme_hashes(self) -> None:
        keys = KnownKeys(lambda: np.array([2**64 - 1, 0], dtype=np.uint64))
        keys.load()
        assert [keys.may_contain(h) for h in (0, 1, 2**63, 2**64 - 2, 2**64 - 1)] == [True, False, False, False, True]

    def test_nothing_is_denied_before_loading_or_when_there_are_too_many(self) -> None:
        keys = KnownKeys(lambda: None)
        assert keys.may_contain(1)
        keys.load()
        assert keys.may_contain(1)

    def test_a_key_is_never_lost_when_the_newest_are_sorted_in_and_takes_eight_bytes_then(self, monkeypatch) -> None:
        monkeypatch.setattr(lookups, "MIN_SETTLED", 16)
        keys = KnownKeys(lambda: np.array([key_hash("stored")], dtype=np.uint64))
        added = [key_hash(f"added-{n}") for n in range(5000)]
        for number, hashed in enumerate(added):
            assert not keys.added(hashed)
            keys.add(hashed)
            keys.add(added[number // 2])
            if number == 100:
                keys.load()
        assert all(keys.added(hashed) and keys.may_contain(hashed) for hashed in added)
        assert not keys.added(key_hash("stored"))
        assert keys.may_contain(key_hash("stored"))
        assert not any(keys.may_contain(key_hash(f"other-{n}")) for n in range(1000))
        assert len(keys._newest) < 200
        assert keys._settled.nbytes <= 8 * len(added) * 1.1

    def test_keys_added_by_several_threads_are_all_there(self, monkeypatch) -> None:
        monkeypatch.setattr(lookups, "MIN_SETTLED", 8)
        keys = KnownKeys(lambda: np.array([], dtype=np.uint64))
        keys.load()
        hashes = [key_hash(str(n)) for n in range(4000)]

        def add(part: int) -> bool:
            for hashed in hashes[part::4]:
                keys.add(hashed)
                if not keys.may_contain(hashed):
                    return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(add, range(4)))
        assert all(map(keys.added, hashes))

    def test_empty(self) -> None:
        keys = KnownKeys(lambda: np.array([], dtype=np.uint64))
        keys.load()
        assert not keys.may_contain(1)


class TestRecentReplies:
    def test_reply_is_marked_as_cached(self) -> None:
        replies = RecentReplies()
        replies.put("a", reply("text"))
        found = replies.get("a")
        assert found is not None
        assert (found.cached, found.attempts, found.text) == (True, 0, "text")

    def test_least_recently_used_goes_first(self, monkeypatch) -> None:
        monkeypatch.setattr(lookups, "MAX_REPLIES", 2)
        replies = RecentReplies()
        replies.put("a", reply("1"))
        replies.put("b", reply("2"))
        replies.get("a")
        replies.put("c", reply("3"))
        assert [key for key in "abc" if replies.get(key)] == ["a", "c"]

    def test_characters_are_bounded_also_when_a_key_is_replaced(self, monkeypatch) -> None:
        monkeypatch.setattr(lookups, "MAX_REPLY_CHARS", 100)
        replies = RecentReplies()
        for _ in range(10):
            replies.put("a", reply("x" * 60))
        assert replies.get("a") is not None
        replies.put("b", reply("y" * 60))
        assert replies.get("a") is None
        replies.put("c", reply("z" * 101))
        assert replies.get("c") is None
        replies.put("d", reply("w" * 100))
        assert replies.get("d") is not None


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

    def test_the_least_recently_used_one_goes_first(self, monkeypatch) -> None:
        monkeypatch.setattr(lookups, "MAX_ASSESSMENTS", 2)
        recent = RecentAssessments()
        for key in ("a", "b"):
            recent.put(key, key, recent.turn)
        recent.get("a")
        recent.put("c", "c", recent.turn)
        assert [recent.get(key) for key in "abc"] == ["a", None, "c"]
