"""Who was shown what the machine said."""

from metajudge.reviews.seen import KIND, Onlooker, has_seen, remember_seen
from metajudge.store import open_store


async def test_a_person_is_known_by_name_or_by_session_and_never_by_having_neither(tmp_path):
    store = await open_store(tmp_path / "s.duckdb")
    log = store.audit_log
    await remember_seen(log, ["j1"], Onlooker(None, "s1"), now=1.0)
    await remember_seen(log, ["j1"], Onlooker("ada", "s2"), now=2.0)
    known = [Onlooker("ada"), Onlooker(None, "s1"), Onlooker("bob", "s1"), Onlooker("ada", "s9")]
    assert [await has_seen(log, "j1", one) for one in known] == [True] * 4
    strangers = [Onlooker(), Onlooker("bob"), Onlooker("bob", "s3"), Onlooker(None, "s3")]
    assert [await has_seen(log, "j1", one) for one in strangers] == [False] * 4
    assert not await has_seen(log, "j2", Onlooker("ada"))
    await store.close()


async def test_it_is_kept_once_and_not_listed_among_what_was_decided(tmp_path):
    store = await open_store(tmp_path / "s.duckdb")
    for _ in range(3):
        await remember_seen(store.audit_log, ["j1", "j2"], Onlooker("ada", "s"), now=1.0)
    assert len(await store.audit_log.entries(KIND)) == 2
    assert await store.show("j1") is None
    await store.close()
