"""A store whose file a second process has open: read and decided on through that process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Client
from pathlib import Path

import pytest

from metajudge.errors import StoreError, StoreLockedError
from metajudge.reviews.review import HumanDecision, Review
from metajudge.store import open_store, open_to_read
from metajudge.store import sharing as sharing_module
from metajudge.store.duckdb_store import DuckDBStore
from metajudge.store.owner import owner_of
from metajudge.store.shared_store import SharedStore

_OWNER = """
import asyncio, sys
sys.path.insert(0, {root!r})
from metajudge.store import open_store
from metajudge.store import sharing
from metajudge.reviews.review import Review
from tests.store.conftest import Records

sharing.IDLE_S = {idle}

async def main():
    store = await open_store({path!r})
    records = Records()
    for n in range(3):
        judgment = records.judgment(n)
        await store.save_assessment(f"key-{{n}}", judgment, records.assessment(judgment), "run-1")
    await store.reviews.open([Review.model_validate({review!r})])
    print("open", flush=True)
    for line in sys.stdin:
        store.record_call(records.call(text=line.strip()))
        print(len(await store.audit_log.entries("note")), flush=True)
    await store.close()

asyncio.run(main())
"""

REVIEW = {
    "review_id": "review-1",
    "subject": "judgment",
    "subject_id": "judgment-0",
    "subject_digest": "0" * 32,
    "item_id": "item-0",
    "judge": "judge-a",
    "priority": 1,
    "opened_at": 1000.0,
    "action": "REVIEW",
}


@contextmanager
def owner(path: Path, idle: float = 10.0) -> Iterator[subprocess.Popen]:
    """A process that has the store open; each line written to it stores a call, and is answered."""
    script = _OWNER.format(root=str(Path(__file__).parents[2]), path=str(path), review=REVIEW, idle=idle)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def told(process: subprocess.Popen, line: str = "x") -> str:
    process.stdin.write(line + "\n")
    return process.stdout.readline().strip()


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "shared.duckdb"


@pytest.mark.slow
async def test_reading_and_deciding_through_another_process(path, records) -> None:
    with owner(path) as process:
        with pytest.raises(StoreLockedError):
            await open_store(path)
        store = await open_to_read(path)
        assert isinstance(store, SharedStore)
        told(process, "an answer")
        assert await store.ask(lambda c: c.execute("SELECT reply_text FROM calls").fetchall()) == [("an answer",)]
        assert {one.id for one in await store.judgments()} == {f"judgment-{n}" for n in range(3)}
        assert len(await store.newest_assessments()) == 3
        assert (await store.show("judgment-1"))["assessments"]
        state = await store.reviews.claim("ann", now=1001.0)
        assert state is not None
        assert state.review == Review.model_validate(REVIEW)
        decision = HumanDecision(review_id="review-1", reviewer="ann", outcome="approve", decided_at=1002.0)
        await store.reviews.decide(decision, now=1002.0)
        assert await store.reviews.open([Review.model_validate(REVIEW | {"review_id": name}) for name in "ab"]) == 2
        assert await store.reviews.open([Review.model_validate(REVIEW | {"review_id": name}) for name in "bc"]) == 1
        await store.audit_log.append("note", "x", {"text": "é"}, now=1.0)
        assert told(process) == "1"  # the owner sees it
        with pytest.raises(StoreLockedError):  # what models said is kept by the owner alone
            store.record_call(records.call())
        assert await store.forget("item-1") > 0
        assert len(await store.judgments()) == 2
        copy = path.with_name("copy.duckdb")
        await store.copy_to(copy)
        await store.close()
    copied = DuckDBStore(copy)
    assert len(await copied.judgments()) == 2
    await copied.close()


@pytest.mark.slow
async def test_a_change_that_fails_is_undone_and_the_owner_goes_on(path) -> None:
    with owner(path) as process:
        store = await open_to_read(path)

        def fails(connection):
            connection.execute("INSERT INTO audit_log VALUES (1, 'note', 's', 1.0, '{}')")
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await store._change(fails)
        with pytest.raises(StoreError, match="could not run a query"):
            await store._change(lambda c: c.execute("INSERT INTO nowhere VALUES (1)"))
        with pytest.raises(StoreError, match="could not run a query"):
            await store.ask(lambda c: c.execute("DELETE FROM audit_log"))
        assert told(process) == "0"
        await store._change(lambda c: c.execute("INSERT INTO audit_log VALUES (1, 'note', 's', 1.0, '{}')"))
        assert told(process) == "1"


@pytest.mark.slow
async def test_a_peer_that_dies_or_is_silent_within_a_change_holds_nobody_up(path) -> None:
    with owner(path, idle=0.3) as process:
        found = owner_of(path, process.pid)
        store = await open_to_read(path)
        with store._connected({"do": "change"}) as remote:
            remote.receive()
            remote.execute("INSERT INTO audit_log VALUES (1, 'note', 's', 1.0, '{}')")
        assert told(process) == "0"
        with store._connected({"do": "change"}) as remote:
            remote.receive()
            remote.execute("INSERT INTO audit_log VALUES (1, 'note', 's', 1.0, '{}')")
            assert told(process) == "0"  # returns once the silent change was cut off
        with Client(found.address) as stranger:  # knows the address, not the secret
            stranger.recv_bytes()
            stranger.send_bytes(b"wrong" * 5)
            with pytest.raises((EOFError, OSError)):
                [stranger.recv_bytes() for _ in range(9)]
        assert told(process) == "0"


@pytest.mark.slow
async def test_a_killed_owner_is_found_out_and_its_file_opened(path) -> None:
    with owner(path) as process:
        store = await open_to_read(path)
        assert len(await store.newest_assessments()) == 3
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(await store.newest_assessments()) == 3
        await store.audit_log.append("note", "x", {}, now=1.0)
        assert owner_of(path, os.getpid()) is not None
        command = [sys.executable, "-m", "metajudge", "runs", "--json", "--store", str(path)]
        other = await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=60)
        assert other.returncode == 0, other.stderr
        await store.close()
    assert sorted(one.name for one in path.parent.iterdir()) == [path.name]


async def test_a_note_without_a_process_is_not_believed(path) -> None:
    (path.parent / f"{path.name}.owner").write_text(json.dumps({"pid": 1, "address": "/nowhere", "secret": "00"}))
    (path.parent / f"{path.name}.socket").write_text("")
    store = await open_to_read(path)
    assert isinstance(store, DuckDBStore)
    assert oct((path.parent / f"{path.name}.owner").stat().st_mode)[-3:] == "600"
    assert oct((path.parent / f"{path.name}.socket").stat().st_mode)[-3:] == "600"
    await store.close()
    assert sorted(one.name for one in path.parent.iterdir()) == [path.name]


async def test_a_long_path_has_its_socket_elsewhere(tmp_path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    store = await open_store(folder / "store.duckdb")
    found = owner_of(folder / "store.duckdb", os.getpid())
    assert not found.address.startswith(str(tmp_path))
    await store.close()
    assert not Path(found.address).parent.exists()
    assert [one.name for one in folder.iterdir()] == ["store.duckdb"]


async def test_without_sockets_a_store_opens_as_before(path, monkeypatch) -> None:
    def refuse(*_arguments, **_options):
        raise OSError("no sockets")

    monkeypatch.setattr(sharing_module, "Listener", refuse)
    store = await open_store(path)
    assert owner_of(path, os.getpid()) is None
    await store.close()
