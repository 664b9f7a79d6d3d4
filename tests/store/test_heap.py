"""Freed memory goes back to the system, also what lies between pieces that are kept."""

import ctypes
import os
from pathlib import Path

import pytest

from metajudge.store import database, heap
from metajudge.store.database import Database

PIECES, SIZE = 30_000, 1_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(heap._malloc_trim() is None, reason="the C library cannot give memory back")
def test_free_pages_between_kept_ones_are_given_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    pieces = [libc.malloc(SIZE) for _ in range(PIECES)]
    for piece in pieces:
        ctypes.memset(piece, 1, SIZE)
    kept = pieces[::100]
    for piece in set(pieces).difference(kept):
        libc.free(piece)
    before = resident_bytes()
    heap.give_back()
    after = resident_bytes()
    for piece in kept:
        libc.free(piece)
    assert before - after > PIECES * SIZE / 2


def test_a_system_without_it_goes_on(monkeypatch) -> None:
    monkeypatch.setattr(heap.sys, "platform", "darwin")
    heap._malloc_trim.cache_clear()
    try:
        assert heap._malloc_trim() is None
        heap.give_back()
    finally:
        heap._malloc_trim.cache_clear()


def test_a_file_that_is_opened_anew_gives_memory_back(tmp_path, monkeypatch) -> None:
    given: list[bool] = []
    monkeypatch.setattr(database, "give_back", lambda: given.append(True))
    opened = Database(tmp_path / "store.duckdb")
    assert given == []
    assert opened.reopen()
    assert given == [True]
    opened.close()
