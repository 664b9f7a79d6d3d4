"""What every store must do, whatever it is built on. A new backend adds its place to the fixture ``location``."""

import asyncio

import pytest

from metajudge.errors import FailureKind, StoreError
from metajudge.providers.limit_book import Ask
from metajudge.store import RunRecord, Store
from metajudge.store.limits import StoredLimits
from metajudge.store.store import GatheredReads
from metajudge.types import Reply, Status, Usage


def run(name: str = "run-1", started_at: float = 10.0) -> RunRecord:
    return RunRecord(name, "vet", started_at, "running", {"panel": {"threshold": 4.5}})


class TestReplies:
    async def test_reply_comes_back_as_cached_without_attempts(self, store, records) -> None:
        store.record_call(records.call(1))
        assert await store.find_reply(records.key(1)) == Reply(
            text="answer",
            finish="stop",
            model="small-2025",
            usage=Usage(100, 20, 5, 30),
            cost_usd=0.001,
            latency_s=0.25,
            attempts=0,
            cached=True,
        )

    async def test_reply_from_an_earlier_process_equals_the_one_from_memory(self, store, reopen, records) -> None:
        store.record_call(records.call(1, usage=None, cost_usd=None))
        fresh = await store.find_reply(records.key(1))
        again = await reopen(store)
        assert await again.find_reply(records.key(1)) == fresh
        assert await again.find_reply(records.key(2)) is None

    async def test_newest_reply_wins_in_memory_and_after_reopening(self, store, reopen, records) -> None:
        store.record_call(records.call(1, "old"))
        store.record_call(records.call(1, "new"))
        assert (await store.find_reply(records.key(1))).text == "new"
        again = await reopen(store)
        assert (await again.find_reply(records.key(1))).text == "new"
        again.record_call(records.call(1, "newest"))
        last = await reopen(again)
        assert (await last.find_reply(records.key(1))).text == "newest"

    async def test_failed_attempt_is_never_a_reply_but_is_kept(self, store, reopen, records) -> None:
        failed = records.call(
            1, None, status="failed", failure_kind=FailureKind.TIMEOUT, failure_message="too slow", http_status=504
        )
        store.record_call(failed)
        assert await store.find_reply(records.key(1)) is None
        store.record_call(records.call(1, attempt=2))
        store.record_call(failed)
        assert (await store.find_reply(records.key(1))).text == "answer"
        again = await reopen(store)
        assert (await again.find_reply(records.key(1))).text == "answer"
        shown = await again.show("run-1")
        assert [(c["status"], c["failure_kind"]) for c in shown["calls"]] == [
            ("failed", "timeout"),
            ("ok", None),
            ("failed", "timeout"),
        ]

    @pytest.mark.parametrize(
        ("text", "kept"),
        [(one, one) for one in ("", "nul \x00 inside", "emoji 😀 und Umlaut ä", "x" * 2_000_000)]
        + [("half \ud83d pair", "half ? pair")],
    )
    async def test_odd_texts_come_back_unchanged_but_for_a_lone_surrogate(
        self, store, reopen, records, text, kept
    ) -> None:
        store.record_call(records.call(1, text))
        store.record_call(records.call(2))
        again = await reopen(store)
        assert (await again.find_reply(records.key(1))).text == kept
        assert (await again.find_reply(records.key(2))).text == "answer"


class TestAssessments:
    async def test_assessment_comes_back_equal(self, store, reopen, records) -> None:
        judgment = records.judgment(1)
        assessment = records.assessment(judgment, score_bounds=(1.0, 3.5), final_score=None)
        await store.save_assessment("key", judgment, assessment, "run-1")
        assert await store.find_assessments(["key", "other"]) == {"key": assessment}
        again = await reopen(store)
        assert await again.find_assessments(["other", "key"]) == {"key": assessment}

    async def test_newest_of_several_is_found_and_all_are_history(self, store, records) -> None:
        judgment = records.judgment(1)
        first = records.assessment(judgment, status=Status.UNSCORED, accepted=None, final_score=None)
        second = records.assessment(judgment)
        await store.save_assessment("key", judgment, first, "run-1")
        await store.save_assessment("key", judgment, second, "run-2")
        assert await store.find_assessments(["key"]) == {"key": second}
        shown = await store.show("judgment-1")
        assert [a["payload"]["status"] for a in shown["assessments"]] == ["assessed"]
        assert [a["payload"]["status"] for a in shown["history"]] == ["unscored"]
        assert (shown["assessments_total"], shown["history_total"]) == (1, 1)
        assert len(shown["judgments"]) == 1

    async def test_many_keys_at_once(self, store, records) -> None:
        judgments = [records.judgment(n) for n in range(300)]
        saved = {f"key-{n}": records.assessment(j) for n, j in enumerate(judgments)}
        async with asyncio.TaskGroup() as group:
            for judgment, (key, assessment) in zip(judgments, saved.items(), strict=True):
                group.create_task(store.save_assessment(key, judgment, assessment, "run-1"))
        assert await store.find_assessments([*saved, "missing", "key-3", "key-3"]) == saved
        assert await store.find_assessments([]) == {}

    async def test_same_judgment_twice_in_one_group_is_kept_once(self, store, records) -> None:
        judgment = records.judgment(1)
        other = records.judgment(2, item="item-1", id="judgment-2")
        async with asyncio.TaskGroup() as group:
            for n, record in enumerate([judgment, judgment, other, judgment]):
                group.create_task(store.save_assessment(f"key-{n}", record, records.assessment(record), "run-1"))
        shown = await store.show("item-1")
        assert sorted(j["judgment"]["id"] for j in shown["judgments"]) == ["judgment-1", "judgment-2"]
        assert {a["judgment_id"] for a in shown["assessments"]} == {"judgment-1", "judgment-2"}
        assert len(shown["assessments"] + shown["history"]) == 4

    async def test_durable_assessment_implies_its_calls_are(self, store, reopen, records) -> None:
        for n in range(100):
            store.record_call(records.call(n))
        judgment = records.judgment(1)
        await store.save_assessment("key", judgment, records.assessment(judgment), "run-1")
        shown = await store.show("run-1")
        assert shown["calls_total"] == 100


class TestRuns:
    async def test_run_without_an_end_is_interrupted_once_the_store_is_opened_again(self, store, reopen) -> None:
        await store.start_run(run("cut"))
        await store.start_run(run("done"))
        await store.finish_run("done", "finished", 20.0, {})
        await store.close()
        for _ in range(2):
            again = await reopen()
            assert {r.run_id: r.status for r in await again.runs()} == {"cut": "interrupted", "done": "finished"}
            await again.close()

    async def test_same_run_id_twice_is_refused_and_harms_nothing(self, store, records) -> None:
        await store.start_run(run())
        with pytest.raises(StoreError, match=r"already has a run .run-1"):
            await store.start_run(run())
        store.record_call(records.call(1))
        await store.finish_run("run-1", "finished", 20.0, {})
        assert len(await store.runs()) == 1

    async def test_unknown_run_cannot_be_finished(self, store) -> None:
        with pytest.raises(StoreError, match="no run 'ghost'"):
            await store.finish_run("ghost", "finished", 20.0, {})


class TestForget:
    async def save(self, store: Store, records, n: int, mark: str) -> None:
        store.record_call(records.call(n, f"reply {mark}"))
        judgment = records.judgment(n, mark=mark)
        assessment = records.assessment(judgment, n, mark, failure={"kind": "bad_reply", "message": mark})
        await store.save_assessment(f"key-{n}", judgment, assessment, "run-1")

    async def test_no_text_of_the_item_is_left_and_every_number_is(self, store, reopen, records) -> None:
        await self.save(store, records, 1, "SECRET")
        await self.save(store, records, 2, "public")
        before = await store.show("item-1")
        assert "SECRET" in repr(before)
        # item, judgment, assessment, call
        assert await store.forget("item-1") == 4
        for opened in (store, None):
            if opened is None:
                opened = await reopen(store)
            after = await opened.show("item-1")
            assert "SECRET" not in repr(after)
            assert after["judgments"][0]["judgment_digest"] == before["judgments"][0]["judgment_digest"]
            assert after["assessments"][0]["final_score"] == 4.2
            assert after["assessments"][0]["payload"]["agents"][0]["criteria"]["accuracy"]["score"] == 4.0
            assert after["calls"][0]["cost_usd"] == 0.001
            found = await opened.find_assessments(["key-1", "key-2"])
            assert found["key-1"].final_score == 4.2
            assert "SECRET" not in repr(found["key-1"])
            assert await opened.find_reply(records.key(1)) is None
            assert (await opened.find_reply(records.key(2))).text == "reply public"
            assert "public" in repr(await opened.show("item-2"))

    async def test_unknown_item_is_zero(self, store, records) -> None:
        await self.save(store, records, 1, "SECRET")
        assert await store.forget("item-9") == 0
        assert await store.forget("judgment-1") == 0
        assert "SECRET" in repr(await store.show("item-1"))

    async def test_same_content_under_another_id_goes_too(self, store, records) -> None:
        await self.save(store, records, 1, "SECRET")
        twin = records.judgment(1, item="twin", mark="SECRET", id="judgment-twin")
        await store.save_assessment("key-twin", twin, records.assessment(twin, 5, "SECRET"), "run-1")
        await store.forget("twin")
        assert "SECRET" not in repr(await store.show("item-1"))

    async def test_both_contents_under_one_id_go(self, store, records) -> None:
        await self.save(store, records, 1, "SECRET")
        other = records.judgment(2, item="item-1", mark="SECRET")
        await store.save_assessment("key-2", other, records.assessment(other, 2, "SECRET"), "run-1")
        await store.forget("item-1")
        assert "SECRET" not in repr(await store.show("item-1"))
        assert "SECRET" not in repr(await store.show("judgment-2"))

    async def test_reply_that_no_assessment_names_is_dropped_as_it_might_quote_the_item(self, store, records) -> None:
        await self.save(store, records, 1, "SECRET")
        await self.save(store, records, 2, "public")
        store.record_call(records.call(99, "repaired reply SECRET"))
        store.record_call(
            records.call(
                98, None, status="failed", failure_kind=FailureKind.BAD_REPLY, failure_message="not JSON: SECRET"
            )
        )
        await store.forget("item-1")
        assert "SECRET" not in repr(await store.show("run-1"))
        assert await store.find_reply(records.key(99)) is None
        assert (await store.find_reply(records.key(2))).text == "reply public"


class TestClose:
    async def test_closed_store_takes_and_gives_nothing(self, store, records) -> None:
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            store.record_call(records.call(1))
        with pytest.raises(StoreError, match="closed"):
            await store.runs()
        judgment = records.judgment(1)
        with pytest.raises(StoreError, match="closed"):
            await store.save_assessment("key", judgment, records.assessment(judgment), "run-1")


class TestLookedUpAgain:
    async def test_the_newest_is_found_though_an_older_one_was_just_looked_up(self, store, records):
        judgment = records.judgment()
        await store.save_assessment("key", judgment, records.assessment(judgment, final_score=1.0), "run")
        for _ in range(2):
            assert (await store.find_assessments(["key"]))["key"].final_score == 1.0
        await store.save_assessment("key", judgment, records.assessment(judgment, final_score=5.0), "run")
        for _ in range(2):
            assert (await store.find_assessments(["key"]))["key"].final_score == 5.0


async def test_forgetting_reaches_results_and_answers_of_the_service(store, records) -> None:
    kept = []
    for n, mark in ((1, "SECRET"), (2, "public")):
        judgment = records.judgment(n, mark=mark)
        assessment = records.assessment(judgment, n, mark)
        await store.save_assessment(f"key-{n}", judgment, assessment, "run-1")
        kept.append((n, judgment.id, assessment.model_dump_json().encode()))

    def fill(connection) -> None:
        job = ("job", "ada", "{}", 2, "done", None, 1.0, 2.0)
        columns = ("job_id", "owner", "request", "items", "state", "detail", "created_at", "ended_at")
        connection.insert("service_jobs", columns, [job])
        columns = ("job_id", "item", "seq", "judgment_id", "status", "payload")
        results = [("job", n, n, judgment_id, "assessed", body) for n, judgment_id, body in kept]
        connection.insert("service_results", columns, results)
        columns = ("owner", "key", "fingerprint", "status", "body", "at", "writer_id")
        answers = [("ada", f"key-{n}", "f", 200, body, 1.0, 1) for n, _, body in kept]
        connection.insert("service_answers", columns, answers)

    def left(connection) -> tuple[list, list]:
        results = connection.execute("SELECT payload FROM service_results ORDER BY item").fetchall()
        return results, connection.execute("SELECT key, body FROM service_answers").fetchall()

    await store.change(fill)
    assert await store.forget("item-1") == 3
    results, answers = await store.read(left)
    assert b"SECRET" not in bytes(results[0][0])
    assert b'"final_score":4.2' in bytes(results[0][0])
    assert b"public" in bytes(results[1][0])
    assert [(key, bytes(body)) for key, body in answers] == [("key-2", kept[1][2])]


class TestSharing:
    @pytest.fixture
    async def two(self, reopen):
        one, other = await reopen(), await reopen()
        yield one, other
        await one.close()
        await other.close()

    async def test_what_one_keeps_the_other_finds_at_once(self, two, records) -> None:
        one, other = two
        assert await other.find_reply(records.key(1)) is None
        assert await other.find_assessments(["key"]) == {}
        judgment = records.judgment(1)
        one.record_call(records.call(1))
        await one.save_assessment("key", judgment, records.assessment(judgment), "run-1")
        assert (await other.find_reply(records.key(1))).text == "answer"
        assert list(await other.find_assessments(["key"])) == ["key"]

    async def test_what_one_forgets_the_other_does_not_serve(self, two, records) -> None:
        one, other = two
        judgment = records.judgment(1, mark="SECRET")
        one.record_call(records.call(1, "SECRET"))
        await one.save_assessment("key", judgment, records.assessment(judgment, 1), "run-1")
        assert (await one.find_reply(records.key(1))).text == "SECRET"
        assert await other.forget("item-1") == 4
        assert await one.find_reply(records.key(1)) is None
        assert "SECRET" not in repr(await one.show("item-1"))
        await one.save_assessment("key", judgment, records.assessment(judgment, 1), "run-1")
        assert "SECRET" in repr(await other.show("item-1")), "vetted again is kept again"

    async def test_a_run_of_a_living_store_is_not_called_interrupted(self, two, reopen) -> None:
        one, other = two
        await one.start_run(run("alive"))
        third = await reopen()
        assert [found.status for found in await third.runs()] == ["running"]
        for store in (one, other, third):
            last = await reopen(store)
        assert [found.status for found in await last.runs()] == ["interrupted"]

    async def test_what_two_save_at_once_neither_deadlocks_nor_doubles(self, two, records) -> None:
        judgments = [records.judgment(n) for n in range(150)]

        async def save(store, order):
            async with asyncio.TaskGroup() as group:
                for n in order:
                    record = judgments[n]
                    store.record_call(records.call(n))
                    group.create_task(store.save_assessment(f"key-{n}", record, records.assessment(record), "run"))
                    group.create_task(store.audit_log.append("k", "s", {"n": n}, now=1.0))

        one, other = two
        await asyncio.gather(save(one, range(150)), save(other, reversed(range(150))))
        assert len(await one.judgments()) == 150
        assert len(await one.find_assessments([f"key-{n}" for n in range(150)])) == 150
        assert len({entry.entry_id for entry in await one.audit_log.entries("k")}) == 300


class Table:
    def __init__(self) -> None:
        self.queries: list[list[str]] = []
        self.error: Exception | None = None

    async def read(self, keys) -> dict[str, str]:
        self.queries.append(list(keys))
        await asyncio.sleep(0.01)
        if self.error is not None:
            raise self.error
        return {key: key.upper() for key in keys if not key.startswith("missing")}


async def test_each_gets_its_own_value_and_few_queries_are_asked() -> None:
    table = Table()
    reads = GatheredReads(table.read)
    keys = [f"key-{n}" for n in range(600)] + ["missing"]
    assert await asyncio.gather(*[reads.get(key) for key in keys]) == [*(key.upper() for key in keys[:-1]), None]
    assert len(table.queries) == 3
    assert max(len(query) for query in table.queries) == 256


async def test_error_reaches_all_who_asked_and_nobody_later() -> None:
    table = Table()
    reads = GatheredReads(table.read)
    table.error = ValueError("unreadable")
    results = await asyncio.gather(reads.get("a"), reads.get("b"), return_exceptions=True)
    assert [str(result) for result in results] == ["unreadable", "unreadable"]
    table.error = None
    assert await reads.get("a") == "A"


async def test_one_who_gives_up_does_not_take_the_answer_from_others() -> None:
    table = Table()
    reads = GatheredReads(table.read)
    first = asyncio.create_task(reads.get("a"))
    second = asyncio.create_task(reads.get("a"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "A"
    with pytest.raises(asyncio.CancelledError):
        await first


ASK = Ask(endpoint="here", in_flight=2, requests_per_minute=6_000_000)


@pytest.fixture
async def replicas(reopen):
    both = [await reopen() for _ in range(2)]
    yield both
    for one in both:
        await one.close()


async def test_places_are_shared_and_come_back(replicas):
    one, other = (store.limits for store in replicas)
    assert [await one.enter("a", ASK), await other.enter("b", ASK), await other.enter("c", ASK)] == [0.0, 0.0, None]
    await one.leave("a", ASK, 0)
    assert await other.enter("c", ASK) == 0.0


async def test_of_many_at_once_exactly_the_bound_get_in(replicas):
    found = await asyncio.gather(*(replicas[n % 2].limits.enter(str(n), ASK) for n in range(12)))
    assert sorted(str(one) for one in found) == ["0.0"] * 2 + ["None"] * 10


async def test_a_replica_that_died_gives_its_places_back(replicas):
    dead = StoredLimits(replicas[0].change_again, lease_s=0.0)
    assert [await dead.enter(name, ASK) for name in "ab"] == [0.0, 0.0]
    assert await replicas[1].limits.enter("c", ASK) == 0.0


async def test_a_key_s_requests_count_over_both(replicas):
    one, other = (store.limits for store in replicas)
    waits = [await which.take("ci", 3, 60.0) for which in (one, other, one, other)]
    assert waits[:3] == [0.0, 0.0, 0.0]
    assert 15 < waits[3] <= 20
    assert await other.take("another", 3, 60.0) == 0.0


async def test_a_day_s_budget_is_shared_and_what_a_dead_replica_set_aside_is_returned(replicas):
    one, other = (store.limits for store in replicas)
    assert (await one.reserve_usd("a", 0.6, 1.0)).granted
    assert not (await other.reserve_usd("b", 0.6, 1.0)).granted
    await one.renew_usd(["a"])
    await one.settle_usd("a", 0.1)
    dead = StoredLimits(replicas[0].change_again, lease_s=0.0)
    assert (await dead.reserve_usd("d", 0.9, 1.0)).granted
    assert (await other.reserve_usd("b", 0.9, 1.0)).granted
    state = await one.spent_usd()
    assert (state.spent, state.held) == (0.1, 0.9)


async def test_of_many_at_once_only_what_fits_is_granted(replicas):
    found = await asyncio.gather(*(replicas[n % 2].limits.reserve_usd(str(n), 0.3, 1.0) for n in range(12)))
    assert sum(one.granted for one in found) == 3
