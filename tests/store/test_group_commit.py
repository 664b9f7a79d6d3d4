import asyncio
import threading

import pytest

from metajudge.errors import StoreError
from metajudge.store.group_commit import GroupCommit


class Disk:
    """Remembers what was committed, group by group."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.broken = False

    def commit(self, rows) -> None:
        self.gate.wait(30)
        if self.broken:
            raise OSError("disk gone")
        self.groups.append(list(rows))

    @property
    def rows(self) -> list[int]:
        return [row for group in self.groups for row in group]


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def writer(disk: Disk):
    group_commit = GroupCommit(disk.commit, "the file")
    yield group_commit
    disk.gate.set()
    group_commit.stop()


async def test_writes_that_come_together_share_a_commit(writer, disk) -> None:
    async with asyncio.TaskGroup() as group:
        for n in range(200):
            group.create_task(writer.write(n, 1))
    assert disk.rows == list(range(200))
    assert len(disk.groups) <= 3


async def test_answer_comes_after_the_commit_never_before(writer, disk) -> None:
    disk.gate.clear()
    waiting = asyncio.create_task(writer.write(1, 1))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    disk.gate.set()
    await waiting
    assert disk.rows == [1]


async def test_awaited_write_takes_everything_queued_before_it_along(writer, disk) -> None:
    for n in range(5000):
        writer.put(n, 1)
    await writer.write(5000, 1)
    assert disk.rows == list(range(5001))
    assert max(len(group) for group in disk.groups) <= 1000


async def test_unawaited_write_is_committed_soon_without_any_further_call(writer, disk) -> None:
    writer.put(1, 1)
    for _ in range(100):
        await asyncio.sleep(0.01)
        if disk.rows:
            break
    assert disk.rows == [1]


async def test_task_runs_in_its_place_in_the_order(writer, disk) -> None:
    writer.put(1, 1)
    seen = asyncio.create_task(writer.run(lambda: list(disk.rows)))
    await asyncio.sleep(0)
    writer.put(2, 1)
    assert await seen == [1]
    await writer.flush()
    assert disk.rows == [1, 2]


async def test_store_error_of_a_task_is_the_callers_alone(writer, disk) -> None:
    def refuse() -> None:
        raise StoreError("no such run")

    with pytest.raises(StoreError, match="no such run"):
        await writer.run(refuse)
    await writer.write(1, 1)
    assert disk.rows == [1]


async def test_any_other_error_of_a_task_ends_the_writer(writer) -> None:
    with pytest.raises(StoreError, match="division by zero"):
        await writer.run(lambda: 1 / 0)
    with pytest.raises(StoreError, match="division by zero"):
        writer.put(1, 1)


async def test_error_counts_what_is_lost_and_reaches_everyone_in_the_queue(writer, disk) -> None:
    disk.gate.clear()
    first = asyncio.create_task(writer.write(1, 1))
    await asyncio.sleep(0.1)
    disk.broken = True
    second = asyncio.create_task(writer.write(2, 1))
    third = asyncio.create_task(writer.flush())
    await asyncio.sleep(0)
    writer.put(3, 1)
    disk.gate.set()
    errors = await asyncio.gather(first, second, third, return_exceptions=True)
    assert {str(error) for error in errors} == {str(errors[0])}
    assert "the file could not be written to: disk gone. 3 writes" in str(errors[0])
    assert writer.stop() is None  # everybody has been told


async def test_stop_tells_what_nobody_was_told(writer, disk) -> None:
    disk.broken = True
    writer.put(1, 1)
    untold = writer.stop()
    assert "disk gone" in str(untold)
    assert writer.stop() is None


async def test_stop_commits_what_is_queued(writer, disk) -> None:
    for n in range(1500):
        writer.put(n, 1)
    assert writer.stop() is None
    assert disk.rows == list(range(1500))


@pytest.mark.parametrize(("bound", "size", "room"), [("MAX_QUEUED", 1, 10), ("MAX_QUEUED_CHARS", 6_000_000, 3)])
async def test_awaited_writes_wait_outside_a_full_queue(writer, disk, monkeypatch, bound, size, room) -> None:
    if bound == "MAX_QUEUED":
        monkeypatch.setattr("metajudge.store.group_commit.MAX_QUEUED", room)
    disk.gate.clear()
    first = asyncio.create_task(writer.write(0, size))
    await asyncio.sleep(0.1)  # it is being committed now
    tasks = [asyncio.create_task(writer.write(n, size)) for n in range(1, 50)]
    await asyncio.sleep(0.1)
    queued = [entry for entry in writer._queue if getattr(entry, "row", None) is not None]
    assert 0 < len(queued) <= room
    disk.gate.set()
    await asyncio.gather(first, *tasks)
    assert sorted(disk.rows) == list(range(50))
