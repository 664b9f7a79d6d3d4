"""Output files: the order of the input, nothing half-written, nothing of anyone else's touched."""

import errno
import resource
import signal

import pytest
from pydantic import BaseModel

from metajudge.errors import InputError, OutputError
from metajudge.runs import outputs
from metajudge.runs.outputs import AttemptFile, OrderedFile, let_go, write_lines, written_to


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
