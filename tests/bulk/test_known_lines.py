"""What a store knows of lines, from one run to the next."""

import zlib

import numpy as np
import orjson
import pytest

from metajudge.bulk import known_lines
from metajudge.bulk.known_lines import KnownLines
from metajudge.evidence.facts import collected
from metajudge.store import open_store
from tests.bulk.test_run import in_blocks, pairs, written
from tests.evidence.made import made_input

LINES = [bytes([place]) * 16 for place in range(4)]
DIGESTS = bytes(range(128))


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "s.duckdb")
    yield opened
    await opened.close()


async def test_lines_come_back_with_their_digests_and_facts_in_runs(store):
    facts = collected(made_input(3)[0])
    await KnownLines(store.blocks).keep(LINES, DIGESTS, facts, np.array([2, 0, 1, 3]))
    known = await KnownLines(store.blocks).find([LINES[3], LINES[1], b"x" * 16, LINES[0]])
    runs = list(known.runs())
    assert [run[:2] for run in runs] == [(0, 2), (2, 3), (3, 4)]
    assert runs[1][2] is None
    portion = runs[0][2]
    assert portion.digests[known.place[:2]].tobytes() == DIGESTS[96:] + DIGESTS[32:64]
    assert [portion.facts.row(at) for at in known.place[:2]] == [facts.row(3), facts.row(0)]


async def portions(store):
    return [portion for _, _, portion in (await KnownLines(store.blocks).find(LINES)).runs()]


async def test_what_another_version_kept_is_not_known(store, monkeypatch):
    await store.blocks.keep_facts(LINES, zlib.compress(orjson.dumps([[1, "00", []]] * 4), 1))  # as version 1 did
    assert await portions(store) == [None]
    await KnownLines(store.blocks).keep(LINES, DIGESTS, collected(made_input(3)[0]), np.arange(4))
    assert None not in await portions(store)
    monkeypatch.setattr(known_lines, "VERSION", known_lines.VERSION + 1)
    assert await portions(store) == [None]


async def test_bad_and_too_long_lines_are_refused_in_their_order_every_time(tmp_path, monkeypatch):
    for module in ("metajudge.readers.lines", "metajudge.bulk.texts"):
        monkeypatch.setattr(f"{module}.MAX_LINE_BYTES", 5_000)
    path, store = written(tmp_path / "in.jsonl", pairs()), tmp_path / "s.duckdb"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3:3] = [b"{bad\n", b'{"long": "%b"}\n' % (b"x" * 6_000), b"[]\n"]
    path.write_bytes(b"".join(lines))
    first, _, _, source = await in_blocks(path, tmp_path, store=store)
    second, summary, _, again = await in_blocks(path, tmp_path, store=store)
    for refused in (source, again):
        refused.write_rejects(tmp_path / "bad.jsonl")
        bad = (tmp_path / "bad.jsonl").read_bytes().splitlines()
        assert [orjson.loads(one)["line"] for one in bad] == [4, 5, 6]
    assert first == second
    assert summary.lines_known == len(pairs())
