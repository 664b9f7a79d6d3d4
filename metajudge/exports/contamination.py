"""Which texts share a run of words with the items of a benchmark.

Overlap of 13 words in a row is the usual mark of contamination (Brown et al., "Language Models are Few-Shot Learners",
2020, appendix C). Items shorter than that count where all their words stand in the text in a row, as long as they have
at least :data:`FEWEST`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from metajudge.errors import InputError
from metajudge.exports.words import Hashes, Mask, Words, runs_of, words_of

FEWEST: Final = 5
"""Words an item must have to be looked for."""

TEXT_FIELDS: Final = frozenset(
    (
        *("question", "prompt", "instruction", "input", "problem", "query", "text", "content", "answer", "answers"),
        *("response", "responses", "response_a", "response_b", "response_A", "response_B", "output", "output_1"),
        *("output_2", "outputs", "solution", "reference", "completion", "choices", "messages", "turns", "goal"),
        *("passage", "premise", "hypothesis", "sentence", "story", "chosen", "rejected", "item"),
    )
)
"""Fields of a benchmark's record that are looked at; all of them where a record has none of these."""

_BITS: Final = 20


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """Runs of words to look for.

    Attributes:
        names: the files, without their folders.
        items: records read.
        runs: length of a run -> sorted hashes of the runs of this length.
    """

    names: tuple[str, ...]
    items: int
    runs: dict[int, Hashes]

    @classmethod
    def read(cls, paths: Sequence[Path], ngram: int) -> "Benchmarks":
        """Reads benchmark files: JSONL, JSON (an object or a list), gzip of these, or text with one item a line.

        Raises:
            InputError: a file that is missing, empty, or contains no item that is long enough.
        """
        found: dict[int, list[Hashes]] = {}
        items = 0
        for path in paths:
            texts: list[str] = []
            for record in _records(path):
                items += 1
                texts += list(_strings(record))
            _collect(found, texts, ngram)
            if not texts:
                raise InputError(f"{path} contains no text to decontaminate against")
        runs = {length: np.unique(np.concatenate(pieces)) for length, pieces in sorted(found.items())}
        if paths and not runs:
            raise InputError(
                f"{', '.join(map(str, paths))}: no item has {FEWEST} words or more, so there is nothing to search for"
            )
        return cls(tuple(path.name for path in paths), items, runs)

    def found_in(self, words: Words) -> Mask:
        """[n] whether a text contains any of the runs."""
        found = np.zeros(len(words.ends), dtype=bool)
        for length, wanted in self.runs.items():
            hashes, owners = runs_of(words, length)
            filter_ = np.zeros(1 << _BITS, dtype=bool)
            filter_[wanted >> np.uint64(64 - _BITS)] = True
            probable = np.flatnonzero(filter_[hashes >> np.uint64(64 - _BITS)])
            places = np.searchsorted(wanted, hashes[probable]).clip(max=len(wanted) - 1)
            found[owners[probable[wanted[places] == hashes[probable]]]] = True
        return found


def _collect(found: dict[int, list[Hashes]], texts: Sequence[str], ngram: int) -> None:
    words = words_of(texts)
    sizes = words.ends - words.starts
    hashes, _ = runs_of(words, ngram)
    if len(hashes):
        found.setdefault(ngram, []).append(np.unique(hashes))
    for length in range(min(FEWEST, ngram), ngram):
        at = np.flatnonzero(sizes == length)
        if len(at):
            short, _ = runs_of(words_of([texts[index] for index in at.tolist()]), length)
            found.setdefault(length, []).append(np.unique(short))


def _records(path: Path) -> Iterator[Any]:
    data = _content(path)
    stripped = data.lstrip()
    if not stripped:
        raise InputError(f"{path} is empty: name a benchmark's file of items")
    if path.suffix in (".txt", ".md") or stripped[:1] not in (b"{", b"["):
        yield from (line for line in data.decode("utf-8", "replace").splitlines() if line.strip())
        return
    try:
        whole = orjson.loads(stripped)
        yield from whole if isinstance(whole, list) else [whole]
        return
    except orjson.JSONDecodeError:
        pass
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}:{number}: not JSON ({error}); expected one object a line") from None


def _content(path: Path) -> bytes:
    import gzip

    if path.is_dir():
        raise InputError(f"{path} is a folder: name the benchmark's files themselves")
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise InputError(f"cannot read the benchmark {path}: {getattr(error, 'strerror', None) or error}") from error
    if data[:4] == b"PAR1":
        raise InputError(f"{path} is a Parquet file: export its items as JSONL, one object a line")
    return data


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        inner = {name: one for name, one in value.items() if name in TEXT_FIELDS}
        for one in (inner or value).values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
