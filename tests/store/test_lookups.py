import numpy as np

from metajudge.store import lookups
from metajudge.store.lookups import KnownKeys, RecentAssessments, RecentReplies, key_hash
from metajudge.types import Reply


def reply(text: str) -> Reply:
    return Reply(text, "stop", "small", attempts=2)


def stored(*rows: tuple[int, int]):
    return tuple(np.array(column, dtype=np.uint64) for column in (list(zip(*rows, strict=True)) or ([], [])))


class TestKnownKeys:
    def test_stored_and_committed_keys_may_be_there_with_their_rows_and_no_others(self) -> None:
        keys = KnownKeys(lambda: stored(*((key_hash(f"stored-{n}"), n) for n in range(1000))))
        keys.load()
        keys.acknowledge(key_hash("added"))
        keys.commit([(key_hash("added"), 1000)])
        assert [keys.row(key_hash(f"stored-{n}")) for n in range(1000)] == list(range(1000))
        assert keys.row(key_hash("added")) == 1000
        assert keys.may_contain(key_hash("added"))
        assert not any(keys.may_contain(key_hash(f"other-{n}")) for n in range(1000))

    def test_a_key_is_pending_until_each_of_its_rows_is_committed_or_taken_back(self) -> None:
        keys = KnownKeys(lambda: stored())
        keys.load()
        for _ in range(3):
            keys.acknowledge(7)
        assert keys.pending(7)
        assert keys.may_contain(7)
        assert keys.row(7) is None
        keys.commit([(7, 1)])
        keys.retract(7)
        assert keys.pending(7)
        assert keys.row(7) == 1
        keys.commit([(7, 2)])
        assert not keys.pending(7)
        assert keys.row(7) == 2

    def test_the_newest_row_counts_also_when_it_was_committed_before_loading(self) -> None:
        keys = KnownKeys(lambda: stored((5, 1), (6, 2), (5, 3)))
        keys.acknowledge(6)
        keys.commit([(6, 4)])
        keys.load()
        assert (keys.row(5), keys.row(6)) == (3, 4)

    def test_nothing_is_denied_before_loading(self) -> None:
        keys = KnownKeys(lambda: stored())
        assert keys.may_contain(1)
        keys.load()
        assert not keys.may_contain(1)

    def test_empty(self) -> None:
        keys = KnownKeys(lambda: stored())
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
