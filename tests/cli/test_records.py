"""Notes of ``metajudge forget`` while a file is written anew."""

import asyncio

from metajudge.cli import records
from metajudge.store.rewriting import copy_path


class Slow:
    """A store that forgets once it is told to."""

    def __init__(self):
        self.told = asyncio.Event()

    async def forget(self, item):
        await self.told.wait()
        return 3


async def noted(monkeypatch, path, needed):
    store, notes = Slow(), []

    def say(note):
        notes.append(note)
        if len(notes) == needed:
            store.told.set()

    monkeypatch.setattr(records, "PROGRESS_S", 0.001)
    monkeypatch.setattr(records, "say", say)
    return await records._forgotten(store, "one", path), notes


async def test_it_says_how_much_of_the_file_is_written(monkeypatch, tmp_path):
    path = tmp_path / "s.duckdb"
    path.write_bytes(b"0" * 3_000_000)
    count, notes = await noted(monkeypatch, path, 1)
    assert (count, notes[0]) == (3, "redacting texts")
    copy_path(path).write_bytes(b"0" * 1_000_000)
    _, notes = await noted(monkeypatch, path, 2)
    assert notes[1] == f"writing {path} anew without these texts: 1 MB so far; it has 3"
