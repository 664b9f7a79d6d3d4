"""Judgments as lines of JSON that DuckDB reads, each item once; a large file is read by two processes, half each."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import orjson

from metajudge.errors import InputError, MetajudgeError
from metajudge.preferences.assessment_lines import to_line
from metajudge.preferences.verdicts import verdict_text
from metajudge.readers import JudgmentSource
from metajudge.readers.lines import ByteSpan, Reject
from metajudge.readers.source import open_span
from metajudge.types import Item, Judgment

LARGE: Final = 64_000_000
"""Files of so many bytes and more are worth a second process."""
_MAIN: Final = "import sys; from metajudge.preferences.judgment_lines import main; sys.exit(main(*sys.argv[1:]))"


@dataclass(frozen=True, slots=True)
class JudgmentLinesWritten:
    """Files of rows, numbered from 0, and how many records could not be read."""

    judgments: Path
    items: Path
    rejects: int


def write_judgments(
    source: JudgmentSource | Iterable[Judgment], folder: Path, judging: bool, name: str = "whole"
) -> JudgmentLinesWritten:
    """Writes all judgments of a source.

    Args:
        source: repeated judgments are left out.
        folder: where the files are made.
        judging: whether rationales and instructions are needed.
        name: of the files.

    Raises:
        InputError: an item's id is used for two contents.
    """
    with _Rows(judging, folder, name) as rows:
        if isinstance(source, JudgmentSource):
            source.collect(rows.anew)
            return JudgmentLinesWritten(rows.judgments, rows.items, source.rejects)
        rows.anew()
        for one in {one.digest: one for one in source}.values():
            rows.add(one)
        return JudgmentLinesWritten(rows.judgments, rows.items, 0)


def write_halves(
    source: JudgmentSource | Iterable[Judgment], folder: Path, judging: bool
) -> tuple[JudgmentLinesWritten, JudgmentLinesWritten] | None:
    """Writes the first half of a large file here and the second one in another process.

    Nothing is known across the halves: the code that merges them must check whether ids occur in both.

    Returns:
        The halves, or None where the source is no large plain file of metajudge JSONL, or records of a half contradict
        each other or come twice, which takes a pass over the whole file.
    """
    file = source.plain_file if isinstance(source, JudgmentSource) else None
    if file is None or not sys.executable:
        return None
    try:
        size = file.stat().st_size
        middle = _line_start(file, size // 2) if size >= LARGE else size
    except OSError:
        return None
    return None if middle >= size else _halves(file, ByteSpan(0, middle), ByteSpan(middle, size), folder, judging)


def _halves(
    file: Path, first: ByteSpan, second: ByteSpan, folder: Path, judging: bool
) -> tuple[JudgmentLinesWritten, JudgmentLinesWritten] | None:
    command = [sys.executable, "-P", "-c", _MAIN, str(file), str(second.start), str(second.stop), str(folder)]
    command += ["judging"] if judging else []
    # Errors in the second half are reported by the pass over the whole file.
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            here = _part(file, first, folder, judging, "first")
            if here is None:
                process.kill()
            count, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
    if here is None or process.returncode:
        return None
    return here, JudgmentLinesWritten(folder / "second-judgments", folder / "second-items", int(count))


def _part(file: Path, span: ByteSpan, folder: Path, judging: bool, name: str) -> JudgmentLinesWritten | None:
    """Writes a part of a file; None where its records contradict each other or come twice."""
    source = open_span(file, span)
    with _Rows(judging, folder, name) as rows:
        try:
            source.collect(rows.anew)
        except InputError:
            return None
        return JudgmentLinesWritten(rows.judgments, rows.items, source.rejects) if source.consistent else None


def _line_start(file: Path, near: int) -> int:
    """Where the next line begins behind a place."""
    with file.open("rb") as stream:
        stream.seek(near)
        stream.readline()
        return stream.tell()


class _Rows:
    """Judgments as lines of JSON, and each item once.

    Args:
        judging: whether rationales and instructions are needed.
        folder: where the files are made.
        name: of the files.
    """

    def __init__(self, judging: bool, folder: Path, name: str) -> None:
        self.judgments, self.items = folder / f"{name}-judgments", folder / f"{name}-items"
        self._judging = judging
        self._known: dict[str, int] = {}
        self._count = 0
        self._last: Item | None = None
        self._files: tuple[IO[bytes], IO[bytes]] | None = None

    def __enter__(self) -> "_Rows":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def anew(self) -> "_Rows":
        """Begins with empty files; what was written is dropped."""
        self._close()
        self._known, self._count, self._last = {}, 0, None
        self._files = self.judgments.open("wb", buffering=1 << 20), self.items.open("wb", buffering=1 << 20)
        return self

    def _close(self) -> None:
        for file in self._files or ():
            file.close()
        self._files = None

    def add(self, record: Judgment | Reject) -> None:
        """Takes a record; those that cannot be read are counted by their source."""
        if isinstance(record, Reject):
            return
        self._write([record], [record.digest])

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records."""
        records = [record for record in block if isinstance(record, Judgment)]
        self._write(records, [record.raw_digest().hex() for record in records])

    def _write(self, records: Sequence[Judgment], digests: Sequence[str]) -> None:
        assert self._files is not None
        judgments, items = self._files
        rows = list[bytes]()
        for number, (record, digest) in enumerate(zip(records, digests, strict=True), start=self._count):
            if record.item is not self._last and self._is_new(record):
                items.write(to_line({"item_no": number, **_item_row(record)}))
            self._last = record.item
            rows.append(to_line(self._row(record, number, digest)))
        judgments.write(b"".join(rows))
        self._count += len(records)

    def _is_new(self, judgment: Judgment) -> bool:
        item = judgment.item
        content = hash((item.question, *item.responses.items()))
        known = len(self._known)
        if self._known.setdefault(item.id, content) != content:
            raise InputError(
                f"item {item.id!r} has two different contents, the second in judgment {judgment.id!r}: give each "
                "content its own item id, or repair the record that differs"
            )
        return len(self._known) > known

    def _row(self, judgment: Judgment, number: int, digest: str) -> dict[str, Any]:
        """The columns of a judgment that have a value."""
        meta, people, verdict = judgment.meta, judgment.item.labels, judgment.verdict
        row: dict[str, Any] = {
            "judgment_no": number,
            "judgment_id": judgment.id,
            "judgment_digest": digest,
            "item_id": judgment.item.id,
            "judge": judgment.judge,
            "shown": judgment.order,
        }
        if verdict is not None:
            row["verdict"] = verdict_text(verdict)
        if judgment.labels is not None:
            row["labels"] = judgment.labels
        if self._judging:
            row["rationale"], row["instruction"] = judgment.rationale, judgment.instruction
        if meta:
            finish = next((meta[name] for name in ("finish", "finish_reason", "stop_reason") if meta.get(name)), None)
            row["finish"] = None if finish is None else str(finish)
            row["response_finish"] = _json_or_none(meta.get("response_finish"))
        if people:
            row["people"] = orjson.dumps([one.model_dump(mode="json") for one in people]).decode()
        return row


def _item_row(judgment: Judgment) -> dict[str, Any]:
    item = judgment.item
    return {
        "item_id": item.id,
        "question": item.question,
        "responses": orjson.dumps(item.responses).decode(),
        "category": item.category,
        "label": verdict_text(item.label),
        "models": _json_or_none(item.models),
        "scale": None if item.scale is None else orjson.dumps(item.scale).decode(),
        "question_id": item.question_id,
        "content": item.digest,
    }


def _json_or_none(value: Any) -> str | None:
    return orjson.dumps(value).decode() if isinstance(value, dict) else None


def main(file: str, start: str, stop: str, folder: str, judging: str = "") -> int:
    """Writes the second half of a file and prints how many of its records could not be read."""
    try:
        written = _part(Path(file), ByteSpan(int(start), int(stop)), Path(folder), bool(judging), "second")
    except (MetajudgeError, OSError):
        return 2
    if written is None:
        return 2
    sys.stdout.write(f"{written.rejects}\n")
    return 0
