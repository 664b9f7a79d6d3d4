"""Judgments as lines of JSON that DuckDB reads, each item once."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from metajudge.errors import InputError
from metajudge.preferences.assessment_lines import to_line, to_text
from metajudge.preferences.verdicts import verdict_text
from metajudge.readers import JudgmentSource
from metajudge.readers.lines import Reject
from metajudge.types import Item, Judgment


def write_judgments(source: JudgmentSource | Iterable[Judgment], judgments: Path, items: Path, judging: bool) -> int:
    """Writes all judgments of a source, numbered from 0.

    Args:
        source: repeated judgments are left out.
        judgments, items: the files to make.
        judging: whether rationales and instructions are needed.

    Returns:
        How many records could not be read.

    Raises:
        InputError: an item's id is used for two contents.
    """
    with judgments.open("wb", buffering=1 << 20) as rows, items.open("wb", buffering=1 << 20) as own:
        if isinstance(source, JudgmentSource):
            source.collect(lambda: _Rows(judging, rows, own))
            return source.rejects
        _Rows(judging, rows, own).add_block(list({one.digest: one for one in source}.values()))
        return 0


class _Rows:
    """Judgments as lines of JSON, and each item once.

    Args:
        judging: whether rationales and instructions are needed.
        judgments, items: the files, of which nothing stays but what is added.
    """

    def __init__(self, judging: bool, judgments: IO[bytes], items: IO[bytes]) -> None:
        self._judging = judging
        self._judgments, self._items = judgments, items
        self._known: dict[str, int] = {}
        self._count = 0
        self._last: Item | None = None
        for file in (judgments, items):
            file.seek(0)
            file.truncate()

    def add(self, record: Judgment | Reject) -> None:
        """Takes a record; those that cannot be read are counted by their source."""
        self.add_block((record,))

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records."""
        for record in block:
            if isinstance(record, Reject):
                continue
            if record.item is not self._last and self._is_new(record):
                self._items.write(to_line({"item_no": self._count, **_item_row(record)}))
            self._last = record.item
            self._judgments.write(to_line(self._row(record)))
            self._count += 1

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

    def _row(self, judgment: Judgment) -> dict[str, Any]:
        """The columns of a judgment that have a value."""
        meta, people, verdict = judgment.meta, judgment.item.labels, judgment.verdict
        row: dict[str, Any] = {
            "judgment_no": self._count,
            "judgment_id": judgment.id,
            "judgment_digest": judgment.raw_digest().hex(),
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
            row["people"] = to_text([one.model_dump(mode="json") for one in people])
        return row


def _item_row(judgment: Judgment) -> dict[str, Any]:
    item = judgment.item
    return {
        "item_id": item.id,
        "question": item.question,
        "responses": to_text(item.responses),
        "category": item.category,
        "label": verdict_text(item.label),
        "models": _json_or_none(item.models),
        "scale": None if item.scale is None else to_text(item.scale),
        "question_id": item.question_id,
    }


def _json_or_none(value: Any) -> str | None:
    return to_text(value) if isinstance(value, dict) else None
