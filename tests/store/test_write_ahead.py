"""Segments: what is read back after a crash, and what is refused."""

import pytest

from metajudge.errors import StoreError
from metajudge.store.write_ahead import WriteAhead, segment_path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a[b].duckdb"


def write(path, *segments, committed=0):
    log = WriteAhead(path, committed)
    for payloads in segments:
        for payload in payloads:
            log.append(payload)
        log.rotate()


def read(path, committed=0):
    return [(s.number, list(s.payloads)) for s in WriteAhead(path, committed).left_behind()]


def test_what_was_written_is_read_in_order(path):
    write(path, [b"one", b""], [b"two" * 100_000])
    assert read(path) == [(1, [b"one", b""]), (2, [b"two" * 100_000])]


def test_committed_segments_are_deleted_and_not_read_again(path):
    write(path, [b"one"], [b"two"], [b"three"])
    assert read(path, committed=2) == [(3, [b"three"])]
    assert not segment_path(path, 1).exists()
    assert not segment_path(path, 2).exists()


def test_numbers_go_on_after_what_was_left_behind(path):
    write(path, [b"one"], [b"two"])
    log = WriteAhead(path, 0)
    list(log.left_behind())
    assert log.append(b"three") == 3


def test_an_empty_rotation_makes_no_segment(path):
    log = WriteAhead(path, 7)
    log.rotate()
    log.rotate()
    assert log.append(b"x") == 8


@pytest.mark.parametrize("cut", [1, 5, 9, 10])
def test_a_torn_last_record_is_dropped(path, cut):
    write(path, [b"one", b"two"])
    segment = segment_path(path, 1)
    segment.write_bytes(segment.read_bytes()[:-cut])
    assert read(path) == [(1, [b"one"])]


def test_a_flipped_bit_is_seen(path):
    write(path, [b"one", b"two"])
    segment = segment_path(path, 1)
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(bytes(data))
    assert read(path) == [(1, [b"one"])]


def test_damage_before_the_end_is_an_error_that_names_the_file_and_the_way_out(path):
    write(path, [b"one", b"two"], [b"three"])
    segment = segment_path(path, 1)
    segment.write_bytes(segment.read_bytes()[:-1])
    with pytest.raises(StoreError, match=r"ahead-000000001.*is damaged: restore it.*or move it away"):
        read(path)


def test_other_files_are_left_alone(path):
    other = path.with_name(path.name + ".ahead-notes")
    other.write_text("mine")
    twin = path.with_name("ab.duckdb.ahead-000000001")  # a name the brackets would match as a pattern
    twin.write_text("not mine")
    assert read(path) == []
    assert (other.read_text(), twin.read_text()) == ("mine", "not mine")
