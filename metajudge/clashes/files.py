"""What ``metajudge clash`` reads and writes: prompts or items in, judgments out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metajudge.clashes.judgments import judgments_of_clash
from metajudge.clashes.record import ClashRecord
from metajudge.errors import InputError
from metajudge.readers.items import open_items
from metajudge.readers.jsonl import write_jsonl
from metajudge.readers.lines import Reject
from metajudge.readers.questions import Question, names_file, open_questions
from metajudge.types import Item


@dataclass(frozen=True, slots=True)
class Asked:
    """What a clash is about: questions for its candidates, or items with their responses.

    Attributes:
        rejects: lines that are neither, with the reason.
        from_file: False for a prompt given as text.
    """

    items: Sequence[Question | Item]
    rejects: Sequence[Reject]
    from_file: bool


def open_asked(prompt: str, *, given: bool, limit: int | None = None) -> Asked:
    """Reads a literal prompt, or a file: of questions, or of items where the responses are given.

    Raises:
        InputError: no such file, nothing in it, an id given to two prompts, or no responses where they should be given.
    """
    if not given:
        found = open_questions(prompt, limit=limit)
        return Asked(found.items, found.rejects, found.from_file)
    if not names_file(prompt):
        raise InputError("--responses given takes the responses from a file of items: give the file as the prompt")
    source = open_items([prompt], limit=limit)
    items = tuple(source)
    if not items:
        reason = f": {source.rejects[0]}" if source.rejects else ""
        raise InputError(f"{prompt} contains no item with responses{reason}")
    return Asked(items, tuple(source.rejects), from_file=True)


def write_judgments(path: Path, records: Iterable[ClashRecord]) -> int:
    """Writes the rankings of the records that count as judgments; returns how many."""
    return write_jsonl(path, (judgment for record in records for judgment in judgments_of_clash(record)))
