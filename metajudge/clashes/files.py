"""What ``metajudge clash`` reads and writes: prompts in, attempts appended, judgments out."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BufferedWriter
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from metajudge.clashes.record import ClashRecord
from metajudge.errors import InputError
from metajudge.judging.records import judgments_of_clash
from metajudge.readers.items import open_items
from metajudge.readers.jsonl import write_jsonl
from metajudge.readers.lines import Line, Reject, Source, read_lines
from metajudge.readers.reasons import reason_of
from metajudge.report.files import check_report_path, check_writable
from metajudge.runs.outputs import let_go, written_to
from metajudge.types import Item, text_digest

UNANSWERED = "unanswered"
"""The id of the placeholder response in an item whose candidates have yet to answer."""

_FILES = (".jsonl", ".json", ".ndjson", ".txt", ".md")


@dataclass(frozen=True, slots=True)
class Questions:
    """The items of a run, and lines that are none."""

    items: tuple[Item, ...]
    rejects: tuple[Reject, ...] = ()
    from_file: bool = False


class _Prompt(BaseModel):
    """A line of a file of prompts; what an item's line holds besides is left to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    category: str | None = None
    reference: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_item(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {name: value for name, value in data.items() if name not in ("responses", "label", "models")}
        return data

    def item(self) -> Item:
        return Item(
            id=self.id,
            question=self.question,
            responses={UNANSWERED: ""},
            category=self.category,
            reference=self.reference,
        )


def open_questions(prompt: str, *, given: bool, limit: int | None = None) -> Questions:
    """Reads what is to be asked: a prompt as it stands, or a file.

    A text that ends like a file's name must be one. A ``.txt`` or ``.md`` file is one prompt.

    Raises:
        InputError: no such file, nothing in it, an id given to two prompts, or no responses where they should be given.
    """
    path = Path(prompt)
    is_file = len(prompt) < 4096 and "\n" not in prompt and (path.is_file() or path.suffix.lower() in _FILES)
    if not is_file:
        if given:
            raise InputError("--responses given takes the responses from a file of items: name it in place of a prompt")
        return Questions((_single(prompt),))
    if given:
        source = open_items([prompt], limit=limit)
        items = tuple(source)
        if not items:
            reason = f": {source.rejects[0]}" if source.rejects else ""
            raise InputError(f"{prompt} holds no item with responses{reason}")
        return Questions(items, tuple(source.rejects), from_file=True)
    if path.suffix.lower() in (".txt", ".md"):
        return Questions((_single(_text_of(path)),))
    return _prompts(path, limit)


def _single(text: str) -> Item:
    if not text.strip():
        raise InputError("the prompt is empty: give a question, or a file of them")
    return _Prompt(id=f"prompt-{text_digest(text)[:8]}", question=text).item()


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def _prompts(path: Path, limit: int | None) -> Questions:
    if not path.is_file():
        raise InputError(f"{path}: no such file; a prompt may be given in its place, between quotation marks")
    source = Source(path, str(path))
    items: dict[str, Item] = {}
    rejects: list[Reject] = []
    for line in read_lines(source):
        found = _read(line, source)
        if isinstance(found, Reject):
            rejects.append(found)
        elif items.setdefault(found.id, found) != found:
            raise InputError(
                f"{path}: the id {found.id!r} stands for two prompts: give different prompts different ids"
            )
    if not items:
        reason = f": {rejects[0]}" if rejects else ": it is empty"
        raise InputError(f'{path} holds no prompt{reason}. A line is an object such as {{"id": "q1", "question": "?"}}')
    return Questions(tuple(items.values())[:limit], tuple(rejects), from_file=True)


def _read(line: Line | Reject, source: Source) -> Item | Reject:
    if isinstance(line, Reject):
        return line
    try:
        return _Prompt.model_validate(line.data).item()
    except ValidationError as error:
        return source.reject(line.number, reason_of(error), line.raw)


@dataclass(slots=True)
class AttemptFile:
    """A file of attempts that is only ever appended to; each line is on disk before the next one is written.

    Attributes:
        earlier: the attempts it holds already.
        cut: whether its last line was cut off when an earlier run was killed; that line is dropped.
    """

    path: Path
    earlier: list[ClashRecord] = field(default_factory=list)
    cut: bool = False
    _file: BufferedWriter | None = None

    def __enter__(self) -> "AttemptFile":
        if self.path.exists():
            self._read()
        try:
            self._file = self.path.open("ab")
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}; choose another --out") from None
        return self

    def _read(self) -> None:
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                self.earlier.append(ClashRecord.model_validate_json(line))
            except ValidationError as error:
                raise InputError(
                    f"{self.path}:{number} is no record of `metajudge clash`: {reason_of(error)}; choose another --out"
                ) from None
        self.cut = len(whole) < len(raw)
        if self.cut and not raw[len(whole) :].startswith(b"{"):  # nothing of ours: it stays as it is
            raise InputError(f"{self.path} ends in what is no record of `metajudge clash`; choose another --out")
        if self.cut:
            os.truncate(self.path, len(whole))

    def append(self, record: ClashRecord) -> None:
        """Adds one attempt."""
        assert self._file is not None
        with written_to(self.path):
            self._file.write(record.model_dump_json().encode() + b"\n")
            self._file.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            let_go(self._file)  # each line was flushed: only one that failed can be left


def write_judgments(path: Path, records: Iterable[ClashRecord]) -> int:
    """Writes the rankings of the records that count as judgments."""
    return write_jsonl(path, (judgment for record in records for judgment in judgments_of_clash(record)))


def check_outputs(json_out: Path | None, judgments: Path | None, reports: Sequence[Path], out: Path | None) -> None:
    """Refuses what cannot be written before any work is done.

    Raises:
        InputError: a folder, or one that does not exist, or a report of no known format.
    """
    for path in (judgments, out, None if json_out is None or str(json_out) == "-" else json_out):
        if path is not None:
            check_writable(path)
    for path in reports:
        check_report_path(path)
