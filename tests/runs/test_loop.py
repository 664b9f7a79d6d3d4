"""The loop that all tasks share, and the files it writes."""

import asyncio
import errno
import resource
import signal

import pytest
from pydantic import BaseModel

from metajudge.errors import BatchPendingError, BudgetExceeded, InputError, OutputError
from metajudge.runs import outputs
from metajudge.runs.loop import BLOCK, RunEnd, Stop, run_all
from metajudge.runs.outputs import AttemptFile, OrderedFile, let_go, write_lines, written_to


class Run:
    """What came back, by index, and how."""

    def __init__(self):
        self.results, self.settled, self.blocks, self.most, self._now = {}, set(), [], 0, 0

    def finished(self, job, result, settled):
        self.results[job.index] = result
        if settled:
            self.settled.add(job.index)

    async def settle(self, block):
        self.blocks.append(len(block))
        return [job.record * 10 if job.record % 2 else None for job in block]

    async def work(self, job):
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return job.record * 100


async def test_blocks_are_settled_and_the_others_go_to_a_bounded_pool():
    run, n = Run(), 2 * BLOCK + 10
    end = await run_all(range(n), run.work, finished=run.finished, workers=5, settle=run.settle)
    assert end is RunEnd.FINISHED
    assert run.blocks == [BLOCK, BLOCK, 10]
    assert run.results == {i: i * (10 if i % 2 else 100) for i in range(n)}
    assert run.settled == {i for i in range(n) if i % 2}
    assert run.most == 5


async def test_without_settling_every_record_is_worked_on():
    run = Run()
    await run_all([3, 4], run.work, finished=run.finished, workers=1)
    assert (run.results, run.settled) == ({0: 300, 1: 400}, set())


async def test_records_are_read_as_they_are_needed():
    run, read = Run(), []

    def records():
        for number in range(100 * BLOCK):
            read.append(number)
            yield number

    stop = Stop()

    def finished(job, result, settled):
        stop.ask(RunEnd.INTERRUPTED)

    assert await run_all(records(), run.work, finished=finished, workers=2, stop=stop) is RunEnd.INTERRUPTED
    assert len(read) <= 2 * BLOCK


@pytest.mark.parametrize(
    ("error", "end"), [(BudgetExceeded("x"), RunEnd.BUDGET), (BatchPendingError("x"), RunEnd.PENDING)]
)
async def test_a_spent_budget_or_a_pending_batch_stops_the_run_and_keeps_the_rest(error, end):
    run = Run()

    async def work(job):
        if job.index == 3:
            raise error
        return await run.work(job)

    assert await run_all(range(1000), work, finished=run.finished, workers=1) is end
    assert sorted(run.results) == [0, 1, 2]


async def test_another_error_ends_the_run():
    async def work(job):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_all(range(10), work, finished=Run().finished, workers=3)


@pytest.mark.parametrize("where", ["work", "finished", "settle", "records"])
async def test_an_error_is_raised_once_what_is_in_flight_has_ended(where):
    begun, ended = asyncio.Event(), []

    def records():
        yield 0
        yield 1
        if where == "records":
            yield from range(2, BLOCK)
            raise ZeroDivisionError

    async def settle(block):
        if where == "settle" and block[0].index:
            raise ZeroDivisionError
        return [None] * len(block)

    async def work(job):
        if job.index == 0:
            begun.set()
            await asyncio.sleep(0.05)
            ended.append(job.index)
        elif job.index == 1:
            await begun.wait()
            if where == "work":
                raise ZeroDivisionError
        return job.index

    def finished(job, result, settled):
        if where == "finished" and job.index == 1:
            raise ZeroDivisionError

    source = range(2 * BLOCK) if where == "settle" else records()
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(run_all(source, work, finished=finished, workers=2, settle=settle), 5)
    assert ended == [0] or where == "records"  # of the records' own error, the block was never begun


async def test_what_is_in_flight_gets_its_grace_and_is_cancelled_then():
    stop, ended = Stop(), []

    async def work(job):
        stop.ask(RunEnd.INTERRUPTED)
        await asyncio.sleep(0.02 if job.index == 0 else 60)
        ended.append(job.index)

    end = await run_all(range(10), work, finished=lambda *_: None, workers=2, stop=stop, grace_s=0.5)
    assert (end, ended) == (RunEnd.INTERRUPTED, [0])


@pytest.mark.parametrize("end", [RunEnd.INTERRUPTED, RunEnd.PENDING, RunEnd.BUDGET])
def test_a_run_that_stopped_says_how_to_continue(end):
    assert "Run the same command" in end.next_step
    assert RunEnd.FINISHED.next_step is None


class Attempt(BaseModel):
    name: str
    note: str | None = None


ONE, TWO = Attempt(name="one"), Attempt(name="two", note="n")


@pytest.fixture
def small_disk():
    """Files of this process may not grow beyond 64 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


class TestOrderedFile:
    def test_lines_stand_in_the_order_of_the_input_whatever_the_order_of_completion(self, tmp_path):
        path = tmp_path / "out.jsonl"
        with OrderedFile(path) as file:
            for index in (3, 0, 7, 2):
                file.write(index, b"%d\n" % index)
        assert path.read_bytes() == b"0\n2\n3\n7\n"
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("at_once", [1, 3, 19, 20])
    def test_many_lines_of_different_lengths_are_put_in_order_a_portion_at_a_time(self, tmp_path, monkeypatch, at_once):
        monkeypatch.setattr(outputs, "_AT_ONCE", at_once)
        lines = [b"%d %s\n" % (index, b"x" * (index * 7 % 11)) for index in range(20)]
        with OrderedFile(tmp_path / "out") as file:
            file.write_block(range(15, 20), lines[15:])
            for index in range(14, 4, -1):
                file.write(index, lines[index])
            file.write_block(range(5), lines[:5])
        assert (tmp_path / "out").read_bytes() == b"".join(lines)

    def test_a_record_without_a_line_leaves_no_gap(self, tmp_path):
        with OrderedFile(tmp_path / "out") as file:
            file.write(1, b"b\n")
            file.write(0, b"")
        assert (tmp_path / "out").read_bytes() == b"b\n"

    def test_an_error_keeps_what_is_there_and_the_old_file_stands_until_then(self, tmp_path):
        path = tmp_path / "out"
        path.write_text("old\n")

        def failing():
            with OrderedFile(path) as file:
                file.write(1, b"new 1\n")
                file.write(0, b"new 0\n")
                assert path.read_text() == "old\n"
                raise ValueError

        with pytest.raises(ValueError):
            failing()
        assert path.read_text() == "new 0\nnew 1\n"

    @pytest.mark.parametrize("lines", [[b"x" * 50] * 3, [b"x" * 10_000] * 3])
    def test_a_full_disk_names_the_file_and_leaves_the_old_one(self, tmp_path, small_disk, lines):
        path = tmp_path / "out.jsonl"
        path.write_text("old\n")

        def fill():
            with OrderedFile(path) as file:
                for index, line in enumerate(lines):
                    file.write(index, line + b"\n")

        with pytest.raises(OutputError, match=r"out\.jsonl: cannot be written: File too large"):
            fill()
        assert path.read_text() == "old\n"

    def test_a_folder_or_a_missing_folder_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="is a folder: name a file"):
            OrderedFile(tmp_path)
        with pytest.raises(InputError, match="cannot be written: No such file or directory; choose another --out"):
            OrderedFile(tmp_path / "none" / "out")


def opened(path, **options):
    return AttemptFile(path, Attempt, "an attempt of `metajudge test`", **options)


class TestAttemptFile:
    def test_each_attempt_is_in_the_file_at_once_and_the_next_run_finds_it(self, tmp_path):
        path = tmp_path / "a.jsonl"
        with opened(path) as file:
            file.append(ONE)
            assert path.read_text() == '{"name":"one","note":null}\n'
        with opened(path, exclude_none=True) as again:
            assert (again.earlier, again.cut) == ([ONE], False)
            again.append(TWO)
            assert (again.appended, again.attempts) == ([TWO], [ONE, TWO])
        with opened(path, exclude_none=True) as last:
            last.append(ONE)
        assert path.read_text().splitlines()[1:] == ['{"name":"two","note":"n"}', '{"name":"one"}']

    def test_without_a_path_the_attempts_are_in_memory_alone(self):
        with opened(None) as file:
            file.append(ONE)
            assert (file.earlier, file.attempts, file.cut) == ([], [ONE], False)

    @pytest.mark.parametrize("rest", ['{"na', '{"name":"two"', "{"])
    def test_a_line_cut_off_by_a_kill_is_dropped(self, tmp_path, rest):
        path = tmp_path / "a"
        path.write_text('{"name":"one"}\n' + rest)
        with opened(path, exclude_none=True) as file:
            assert (file.earlier, file.cut) == ([ONE], True)
            file.append(TWO)
        assert path.read_text() == '{"name":"one"}\n{"name":"two","note":"n"}\n'

    def test_a_whole_last_line_without_its_line_break_counts(self, tmp_path):
        path = tmp_path / "a"
        path.write_text('{"name":"one"}\n{"name":"two","note":"n"}')
        with opened(path, exclude_none=True) as file:
            assert (file.earlier, file.cut) == ([ONE, TWO], False)
            file.append(ONE)
        assert path.read_text().splitlines() == ['{"name":"one"}', '{"name":"two","note":"n"}', '{"name":"one"}']

    @pytest.mark.parametrize(
        ("content", "where"),
        [
            ('{"name":"one"}\n{"other":1}\n', "a:2 is not an attempt of `metajudge test`"),
            ("notes\n", "a:1 is not an attempt"),
            ('{"name":"one"}\nnotes', "a ends in what is not an attempt"),
            ('{"name":"one"}\n{"other":1}', "a:2 is not an attempt"),
            ('{"other":1}\n{"na', "a:1 is not an attempt"),
        ],
    )
    def test_a_file_of_anything_else_is_refused_and_stays_as_it_is(self, tmp_path, content, where):
        path = tmp_path / "a"
        path.write_text(content)
        with pytest.raises(InputError, match=where), opened(path):
            pass
        assert path.read_text() == content

    def test_a_full_disk_names_the_file(self, tmp_path, small_disk):
        path = tmp_path / "a"

        def fill():
            with opened(path) as file:
                for _ in range(9):
                    file.append(ONE)

        with pytest.raises(OutputError, match="a: cannot be written"):
            fill()

    def test_a_folder_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="is a folder"), opened(tmp_path):
            pass


class TestWriteLines:
    def test_one_object_a_line_and_no_record_leaves_no_file_of_an_earlier_run(self, tmp_path):
        assert write_lines(tmp_path / "out", ({"n": n} for n in range(3))) == 3
        assert (tmp_path / "out").read_text() == '{"n":0}\n{"n":1}\n{"n":2}\n'
        assert write_lines(tmp_path / "out", []) == 0
        assert not (tmp_path / "out").exists()
        assert write_lines(tmp_path / "out", []) == 0

    def test_a_full_disk_names_the_file(self, tmp_path, small_disk):
        with pytest.raises(OutputError, match="out: cannot be written"):
            write_lines(tmp_path / "out", ({"n": "x" * 30} for _ in range(9)))


def test_a_failed_write_names_the_file_and_the_way_on_and_other_errors_pass(tmp_path):
    path, said = tmp_path / "out.jsonl", r"out\.jsonl: cannot be written: No space.*run the same command"
    with pytest.raises(OutputError, match=said), written_to(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(ValueError, match="other"), written_to(path):
        raise ValueError("other")


def test_a_file_whose_buffer_cannot_be_written_is_closed_all_the_same():
    class Full:
        closed = False

        def close(self):
            self.closed = True
            raise OSError(errno.ENOSPC, "full")

    file = Full()
    let_go(file)
    assert file.closed
