"""Items in the rows of a table: question, responses, people's labels and ids."""

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.reading.containers.cells import TURNS, cell, key_of, names_in
from metajudge.reading.containers.lines import BadLine, Line, Reject
from metajudge.reading.containers.tables import Table
from metajudge.reading.conversations import chat_in, exchange, in_turns, is_chat, messages
from metajudge.reading.mapped_labels import RowLabels
from metajudge.reading.mapping import FieldMap
from metajudge.reading.reader import UNREADABLE
from metajudge.reading.scales import parse_scale
from metajudge.types import Item, Label, Message, digest
from metajudge.types.label import combined

MOST_TURNS = 10_000
OF_JUDGMENT: Final = frozenset(
    ("id", "judge", "verdict", "no_verdict", "rationale", "instruction", "order", "labels", "meta")
)
"""Fields that say nothing of the item."""


class RowItems:
    """Reads the item of a row.

    Args:
        table: the rows.
        mapping: which column is what.
        people: reads labels.
        criterion: what was judged of it: each makes an item of its own, ``ITEM/CRITERION``; empty for the whole.
    """

    def __init__(self, table: Table, mapping: FieldMap, people: RowLabels, criterion: str) -> None:
        self.mapping, self.people, self._table, self._criterion = mapping, people, table, criterion
        self._said: Mapping[str, tuple[Label, ...]] | None = None
        self._newest: tuple[list[Any], Item] | None = None
        of_item = [column for name, column in mapping.columns.items() if name.split(".")[0] not in OF_JUDGMENT]
        texts = [text for name, text in mapping.constants.items() if name.startswith(("question", "responses."))]
        self._in_part = "" in texts
        self._of_item = sorted({*of_item, "turn", "turn_number"})
        self._noted = [(name[9:], one) for name, one in mapping.columns.items() if name.startswith("metadata.")]
        self._in_turns = mapping.columns.get("question", "").startswith(TURNS)
        self._stem = stem_of(table.source.name)

    def item(self, row: Line) -> Item:
        """A row's item, with people's labels.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        item = self._plain_item(row)
        if self.people.one_a_row:
            self.people.of_annotator(row, item)  # a row whose label means nothing is a reject
        labels = combined(self._labels_by_row().get(item.id, ()), self.people.beside(row, item))
        return item.model_copy(update={"labels": labels}) if labels else item

    def _labels_by_row(self) -> Mapping[str, tuple[Label, ...]]:
        """Item -> labels, where each row has the label of one annotator; read once.

        Rows that differ in the label alone are one judgment; the labels of an item's judgments are the same people's.
        """
        if self._said is not None:
            return self._said
        judged: dict[str, dict[str, list[Label]]] = {}
        said = [one for name, one in self.mapping.columns.items() if name in OF_JUDGMENT]
        rows = self._table.rows() if self.people.one_a_row else iter(())
        for row in (row for row in rows if not isinstance(row, Reject)):
            try:
                item = self._plain_item(row)
                label = self.people.of_annotator(row, item)
            except UNREADABLE:
                continue  # it is a reject where the row itself is read
            if label is not None:
                judgment = digest([key_of(cell(row.data, column)) for column in said])
                judged.setdefault(item.id, {}).setdefault(judgment, []).append(label)
        self._said = {name: reduce(combined, several.values(), ()) for name, several in judged.items()}
        return self._said

    def _plain_item(self, row: Line) -> Item:
        """The item of a row; rows of one item mostly follow each other, and then share it."""
        cells = [cell(row.data, column) for column in self._of_item]
        # Only texts: equal numbers may be of several types. An empty answer may depend on the order shown.
        plain = not self._in_part and all(value is None or (type(value) is str and value) for value in cells)
        if plain and self._newest is not None and self._newest[0] == cells:
            return self._newest[1]
        item = self._new_item(row)
        self._newest = (cells, item) if plain else None
        return item

    def _new_item(self, row: Line) -> Item:
        answers = {
            name: value
            for name in self.mapping.response_ids
            if (value := self.people.value(row, f"responses.{name}")) is not None
            and (value != "" or self._answered(row, name))
        }
        models = {name: model for name in answers if (model := self.people.text(row, f"models.{name}"))}
        question = self.people.value(row, "question")
        if question is None:
            raise BadLine(f"question: column {self.mapping.columns['question']!r} is empty")
        if not answers:
            columns = ", ".join(map(repr, self.mapping.response_columns.values()))
            raise BadLine(f"responses: {columns} are all empty")
        if self._in_turns:
            question, answers = in_turns(question, answers)
        question, answers = chat_in(question), {name: chat_in(value) for name, value in answers.items()}
        turn = self._turn(row, question, answers)
        spoken = exchange(question, answers, turn)
        data: dict[str, Any] = {
            "id": "-",
            "question": spoken.question,
            "responses": spoken.answers,
            "category": self.people.text(row, "category"),
            "reference": self.people.text(row, "reference"),
            "question_id": self.people.text(row, "question_id"),
            "models": models or None,
            "scale": parse_scale(self.people.value(row, "scale")) if len(answers) == 1 else None,
            "conversation": self._conversation(row) or spoken.conversation,
            "replies": spoken.replies or None,
            "metadata": spoken.metadata(self._metadata(row, answers)),
        }
        item = Item.model_validate(data)
        label = self.people.of_all(row, item) if self.people.has("label") and not self.people.one_a_row else None
        if label is not None:
            item = Item.model_validate({**data, "label": label})
        return item.model_copy(update=self._ids(row, item, turn))

    def _ids(self, row: Line, item: Item, turn: int | None) -> dict[str, str]:
        """How the item is told apart: by its stated id, else by its texts; where some are not known, by the row."""
        name = self.people.text(row, "item_id") or self._question_and_model(row, item)
        if name is None and self._in_part:
            name = self.people.text(row, "id") or f"{self._stem}:{row.number}"
        if name is not None and turn is not None and turn > 1:
            name = f"{name}/turn-{turn}"  # one id is shared by all turns of a conversation
        name = name or f"item-{item.digest[:16]}"
        if not self._criterion:
            return {"id": name}
        unit = {} if item.question or item.question_id else {"question_id": name}
        return {"id": f"{name}/{self._criterion}", **unit}

    def _question_and_model(self, row: Line, item: Item) -> str | None:
        """The id of an item that is one response to a question of several."""
        question = self.people.text(row, "question_id")
        if question is None:
            return None
        models = [*(item.models or {}).values()]
        return f"{question}/{models[0] if len(models) == len(item.responses) == 1 else item.digest[:8]}"

    def _conversation(self, row: Line) -> tuple[Message, ...]:
        """The messages of a column of their own, beside a question that is one text."""
        value = self.people.value(row, "conversation")
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = _json(value, "conversation: no JSON list of messages")
        return messages(value)

    def _metadata(self, row: Line, answers: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
        """What is known of each response: an object (``metadata.A``), or a column each (``metadata.A.tokens``)."""
        found: dict[str, dict[str, Any]] = {}
        for name, column in self._noted:
            value = cell(row.data, column)
            if value in (None, ""):
                continue
            part = next((one for one in answers if name.startswith(f"{one}.")), None)
            if name in answers:
                found.setdefault(name, {}).update(object_in(value, f"metadata.{name}", column))
            elif part is not None:
                found.setdefault(part, {})[name[len(part) + 1 :]] = value
        return found or None

    def _turn(self, row: Line, question: Any, answers: Mapping[str, Any]) -> int | None:
        """The turn of a conversation that was judged; None where none is given, or there is no conversation.

        Raises:
            BadLine: it is no number from 1, or the table says it in a column that is not mapped.
        """
        value = self.people.value(row, "turn")
        if not any(is_chat(one) for one in (question, *answers.values())):
            return None
        if value not in (None, ""):
            text = key_of(value)
            if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MOST_TURNS:
                raise BadLine(f"turn: {text[:40]!r} is no turn of a conversation (1 for the first)")
            return int(text)
        unmapped = next((name for name in ("turn", "turn_number") if row.data.get(name) not in (None, "")), None)
        if unmapped is not None and any(is_chat(one) and len(one) > 2 for one in answers.values()):
            raise BadLine(
                f"the responses are conversations, and column {unmapped!r} may say which turn was judged: map it "
                f"({self.people.wording.mapped(f'turn={unmapped}')})"
            )
        return None

    def _answered(self, row: Line, name: str) -> bool:
        """Whether an empty cell is an empty answer. CSV has no null: of more than two, it is one where it was shown."""
        if len(self.mapping.response_ids) <= 2 or f"responses.{name}" in self.mapping.constants:
            return True
        shown = names_in(self.people.value(row, "order"))
        return name in shown or (len(shown) == 1 and name in tuple(shown[0]))


def stem_of(name: str) -> str:
    """A file's name without folders and endings: what ids are made from."""
    base = Path(name).name or name
    return base.split(".", 1)[0] or base


def object_in(value: Any, field: str, column: str) -> dict[str, Any]:
    """A cell that is an object, also as JSON text. Raises BadLine: it is something else."""
    fault = f"{field}: column {column!r} is no JSON object"
    if isinstance(value, str) and value.strip():
        value = _json(value, fault)
    if not isinstance(value, dict):
        raise BadLine(fault)
    return dict(value)


def _json(text: str, fault: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadLine(f"{fault}: {error}") from None
