"""The writer: acknowledged when in the log, in the database soon after, in order, nothing lost silently."""

import asyncio
import threading

import pytest

from metajudge.errors import StoreError
from metajudge.store.group_commit import BUSY_EVERY_S, BUSY_GROUP, COMMIT_EVERY_S, GroupCommit
from metajudge.store.write_ahead import WriteAhead


class Disk:
    """Remembers what was committed, group by group, with the segment it came from."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.segments: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.broken = False

    def commit(self, rows, segment) -> None:
        self.gate.wait(30)
        if self.broken:
            raise OSError("disk gone")
        self.groups.append(list(rows))
        self.segments.append(segment)

    @property
    def rows(self) -> list[int]:
        return [row for group in self.groups for row in group]


def encode(row: int) -> bytes:
    return b"x" * 100 + str(row).encode()


def logged(path) -> list[int]:
    return [int(payload[100:]) for segment in WriteAhead(path, 0).left_behind() for payload in segment.payloads]


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.duckdb"


@pytest.fixture
def writer(disk: Disk, path):
    group_commit = GroupCommit(disk.commit, encode, "the file", WriteAhead(path, 0))
    yield group_commit
    disk.gate.set()
    group_commit.stop()


async def test_acknowledged_means_in_the_log_even_while_the_database_hangs(writer, disk, path) -> None:
    disk.gate.clear()
    for n in range(5):
        await writer.write(n)
    assert disk.rows == []
    assert logged(path) == [0, 1, 2, 3, 4]


async def test_writes_that_come_together_share_a_commit_and_their_segments_go(writer, disk, path) -> None:
    for n in range(200):
        writer.put(n)
    await writer.flush()
    assert disk.rows == list(range(200))
    assert len(disk.groups) == 1
    assert logged(path) == []
    assert not writer.behind


async def test_a_lone_write_is_committed_soon_without_any_further_call(writer, disk) -> None:
    writer.put(1)
    assert writer.behind
    await asyncio.sleep(COMMIT_EVERY_S + 0.3)
    assert disk.rows == [1]


async def test_a_large_group_is_committed_before_its_time(writer, disk) -> None:
    for n in range(1000):
        writer.put(n)
    await asyncio.sleep(COMMIT_EVERY_S / 2)
    assert len(disk.rows) == 1000


async def test_a_busy_store_commits_less_often_and_an_idle_one_soon_again(writer) -> None:
    for rows, wait in ((BUSY_GROUP, BUSY_EVERY_S), (BUSY_GROUP - 1, COMMIT_EVERY_S)):
        for n in range(rows):
            writer.put(n)
        await writer.flush()
        assert writer._every_s == wait


async def test_segments_and_groups_are_the_same(writer, disk) -> None:
    for n in range(5):
        writer.put(n)
        await writer.flush()
    assert disk.groups == [[0], [1], [2], [3], [4]]
    assert disk.segments == sorted(set(disk.segments))


async def test_a_task_runs_in_its_place_in_the_order(writer, disk) -> None:
    writer.put(1)
    seen = asyncio.create_task(writer.run(lambda: list(disk.rows)))
    await asyncio.sleep(0)
    writer.put(2)
    assert await seen == [1]
    await writer.flush()
    assert disk.groups == [[1], [2]]


async def test_many_tasks_and_writes_at_once_keep_their_order(writer, disk) -> None:
    seen = []
    tasks = []
    for n in range(50):
        writer.put(n)
        tasks.append(asyncio.create_task(writer.run(lambda n=n: seen.append((n, len(disk.rows))))))
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert seen == [(n, n + 1) for n in range(50)]


async def test_store_error_of_a_task_is_the_callers_alone(writer, disk) -> None:
    def refuse() -> None:
        raise StoreError("no such run")

    with pytest.raises(StoreError, match="no such run"):
        await writer.run(refuse)
    writer.put(1)
    await writer.flush()
    assert disk.rows == [1]


async def test_any_other_error_of_a_task_ends_the_writer(writer) -> None:
    with pytest.raises(StoreError, match="division by zero"):
        await writer.run(lambda: 1 / 0)
    with pytest.raises(StoreError, match="division by zero"):
        writer.put(1)


async def test_a_failed_commit_is_told_and_what_was_acknowledged_stays_in_the_log(writer, disk, path) -> None:
    disk.broken = True
    writer.put(1)
    with pytest.raises(StoreError, match=r"disk gone.*will be read when it is opened again"):
        await writer.flush()
    with pytest.raises(StoreError, match="disk gone"):
        writer.put(2)
    assert writer.stop() is None  # everybody has been told
    assert logged(path) == [1]


async def test_a_log_that_cannot_be_written_acknowledges_nothing(writer, disk, path, monkeypatch) -> None:
    def full(*_):
        raise OSError(28, "No space left on device")

    writer.put(1)
    monkeypatch.setattr("metajudge.store.write_ahead.os.write", full)
    with pytest.raises(StoreError, match="No space left on device"):
        writer.put(2)
    with pytest.raises(StoreError, match="No space left on device"):
        await writer.flush()
    writer.stop()
    assert logged(path) + disk.rows == [1]


async def test_half_a_record_on_a_full_disk_is_no_record(writer, path, monkeypatch) -> None:
    import os

    real = os.write
    writer.put(1)
    monkeypatch.setattr(
        "metajudge.store.write_ahead.os.write", lambda handle, data: real(handle, data[: len(data) // 2])
    )
    with pytest.raises(StoreError, match="could be written"):
        writer.put(2)
    writer.stop()
    assert logged(path) == [1]


async def test_stop_tells_what_nobody_was_told(writer, disk) -> None:
    disk.broken = True
    writer.put(1)
    untold = writer.stop()
    assert "disk gone" in str(untold)
    assert writer.stop() is None


async def test_stop_commits_what_is_queued(writer, disk, path) -> None:
    for n in range(1500):
        writer.put(n)
    assert writer.stop() is None
    assert disk.rows == list(range(1500))
    assert list(path.parent.iterdir()) == []


async def test_a_closed_writer_refuses(writer) -> None:
    writer.stop()
    with pytest.raises(StoreError, match="is closed"):
        writer.put(1)


@pytest.mark.parametrize(("bound", "room"), [("MAX_QUEUED", 10), ("MAX_QUEUED_BYTES", 1000)])
async def test_awaited_writes_wait_outside_a_full_queue(writer, disk, monkeypatch, bound, room) -> None:
    monkeypatch.setattr(f"metajudge.store.group_commit.{bound}", room)
    disk.gate.clear()
    tasks = [asyncio.create_task(writer.write(n)) for n in range(50)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    await asyncio.sleep(0.1)
    assert 0 < sum(task.done() for task in tasks) <= 22  # a group at the disk, and a full queue behind it
    disk.gate.set()
    await asyncio.gather(*tasks)
    await writer.flush()
    assert sorted(disk.rows) == list(range(50))


async def test_in_memory_there_is_no_log(disk) -> None:
    writer = GroupCommit(disk.commit, encode, "memory")
    writer.put(1)
    await writer.flush()
    assert disk.rows == [1]
    writer.stop()
