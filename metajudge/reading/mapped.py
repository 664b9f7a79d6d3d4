"""Judgments from any table, by a mapping of its columns."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.files.secrets import without_secrets
from metajudge.reading.alike import Alike, retold
from metajudge.reading.containers.cells import TURNS, cell, key_of, names_in
from metajudge.reading.containers.lines import BadLine, Line, Reject
from metajudge.reading.containers.tables import Survey, Table
from metajudge.reading.conversations import chat_in, exchange, in_turns, is_chat, messages, text_of
from metajudge.reading.mapped_labels import (
    RowLabels,
    UnknownCell,
    is_true,
    listed_labels,
    no_texts,
    vocabularies_of,
    vocabulary_fault,
    without_texts,
)
from metajudge.reading.mapping import (
    FLAGS,
    JUDGED,
    FieldMap,
    OneHot,
    Wording,
    check_columns,
    check_fields,
    columns_in,
    is_flag,
    one_hot_of,
    tie_beside,
)
from metajudge.reading.people import ByPeople, PersonScore, Target, named_score, person_score_of, says_who
from metajudge.reading.reader import UNREADABLE, LineReader
from metajudge.reading.scales import parse_scale
from metajudge.reading.vocabulary import MOST_CATEGORIES, NoVerdict
from metajudge.types import Category, Item, Judgment, Label, Message, digest
from metajudge.types.label import combined

MOST_TURNS = 10_000

_OF_JUDGMENT = frozenset(
    ("id", "judge", "verdict", "no_verdict", "rationale", "instruction", "order", "labels", "meta")
)
"""Fields that say nothing of the item."""
_SAYS = frozenset(("verdict", "no_verdict", "instruction", "order", "swapped", "labels", "meta"))
"""Fields that a judgment depends on beside its item, its id, its judge and its rationale."""


class MappedTable(LineReader):
    """Reads the rows of a table as judgments.

    Args:
        table: the rows.
        mapping: which column is what.
        survey: whether the first rows are looked at now for verdicts that mean nothing.
        needed: fields that must be mapped; :data:`~metajudge.reading.mapping.ASKED` where only items are read.
        wording: how messages name what the user gives.

    Raises:
        InputError: a column that is not there, a field left out, a column of zeros and ones beside one that is 1 for
            ties, or a verdict among the first ``SURVEYED_ROWS`` rows that means nothing;
            each with the fix. Later rows with such a value are rejects.
    """

    separate = False

    def __init__(
        self,
        table: Table,
        mapping: FieldMap,
        *,
        survey: bool = True,
        needed: Sequence[str] = JUDGED,
        wording: Wording = FLAGS,
    ) -> None:
        super().__init__(
            f"{table.format}, mapped",
            table.source,
            table.rows,
            lambda row: [self._person_score(row) or self.judgment(row)],
        )
        columns = table.columns()
        textless = without_texts(table, mapping) if needed == JUDGED else None
        mapping = textless or mapping
        self.table = table
        self.mapping = mapping
        self._said: Mapping[str, tuple[Label, ...]] | None = None
        self._newest: tuple[list[Any], Item] | None = None
        kinds = {name: name.split(".")[0] for name in mapping.columns}
        of_item = [column for name, column in mapping.columns.items() if kinds[name] not in _OF_JUDGMENT]
        self._of_item = sorted({*of_item, "turn", "turn_number"})
        says = [one for name, column in mapping.columns.items() if kinds[name] in _SAYS for one in columns_in(column)]
        self._alike = Alike(tuple(dict.fromkeys(says)))
        self._own = [(name[5:], one) for name, one in mapping.columns.items() if name.startswith("meta.")]
        self._noted = [(name[9:], one) for name, one in mapping.columns.items() if name.startswith("metadata.")]
        self._in_turns = mapping.columns.get("question", "").startswith(TURNS)
        self._stem = stem_of(table.source.name)
        self._scored_by_people = says_who(columns)
        check_columns(mapping, columns, table.source.name)
        check_fields(mapping, columns, table.source.name, needed, wording)
        self._wording = wording
        self._one_hot: dict[str, OneHot | None] = {
            field: one_hot_of(column, mapping.response_ids) for field, column in mapping.columns.items()
        }
        first = table.survey() if survey else Survey(())
        self.guessed = False
        verdicts, labels, self.told = vocabularies_of(mapping, first, wording)
        """What is to be known of values that stand for no answer, a sentence a column."""
        self._people = RowLabels(mapping, wording, verdicts, labels)
        if textless is not None:
            self.told.insert(0, no_texts(textless.response_ids))
        self._require_whole_verdicts(columns, first)
        self._require_known_values(first.rows)

    def named(self, row: Line) -> str | None:
        """The name of a row's score, where rows say who gave it."""
        return named_score(row.data) if self._scored_by_people else None

    @property
    def one_label_a_row(self) -> bool:
        """Whether several rows may be one judgment with the labels of several people."""
        return self._people.one_a_row

    def rows_of_judges(self) -> Iterator[Line | Reject]:
        """The rows that are no score by a person."""
        return (row for row in self.table.rows() if isinstance(row, Reject) or person_score_of(row.data) is None)

    def item(self, row: Line) -> Item:
        """A row as an item; without a column of items' ids, ``id`` names the item.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        item, name = self._item(row), self._text(row, "id")
        return item if name is None or self._text(row, "item_id") else item.model_copy(update={"id": name})

    def judgment(self, row: Line) -> Judgment:
        """A row as a judgment.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        item = self._item(row)
        said = self._alike.said(row.data, item)
        known = self._alike.find(said)
        verdict, why = self._verdict(row, "verdict", item) if known is None else (known.verdict, known.no_verdict)
        judge = self._text(row, "judge")
        if judge is None:
            raise BadLine(f"judge: column {self.mapping.columns.get('judge')!r} is empty")
        name = self._text(row, "id") or self._name(row, item, judge, verdict)
        rationale = self._text(row, "rationale") or ""
        made = None if known is None else retold(known, name, item, judge, rationale)
        if made is not None:
            return made
        judgment = Judgment(
            id=name,
            item=item,
            judge=judge,
            verdict=verdict,
            no_verdict=why if verdict is None else None,
            rationale=rationale,
            instruction=self._text(row, "instruction"),
            order=self._order(row, item),
            labels=self._shown_labels(row, item),
            meta=self._meta(row),
        )
        self._alike.keep(said, judgment)
        return judgment

    def targets(self) -> Iterator[Target]:
        """What every score is about; see :class:`~metajudge.reading.people.ScoredByPeople`."""
        rows = self.table.rows() if self._scored_by_people else iter(())
        for row in (row for row in rows if not isinstance(row, Reject)):
            try:
                item, score = self.item(row).id, person_score_of(row.data)
            except UNREADABLE:
                continue
            if score is None:
                yield Target(item, named_score(row.data))
            else:
                yield Target(item, score.name, ByPeople(replace(score, target=item), self.source.name, row.number))

    def _person_score(self, row: Line) -> PersonScore | None:
        score = person_score_of(row.data)
        if score is None:
            return None
        try:
            return replace(score, target=self.item(row).id)
        except UNREADABLE:
            return score  # counted, as a score of an unknown item

    def _name(self, row: Line, item: Item, judge: str, verdict: Any) -> str:
        """An id of file and row; where each row has one annotator's label, the same for all rows of a judgment."""
        if not self._people.one_a_row:
            return f"{self._stem}:{row.number}"
        said = digest([str(verdict), self._text(row, "rationale") or ""])[:8]
        return f"{self._stem}:{item.id}:{judge}:{said}"

    def _shown_labels(self, row: Line, item: Item) -> tuple[str, ...] | None:
        """What the judge called the responses; None where the column has people's labels."""
        value = self._value(row, "labels")
        return None if listed_labels(value, item, own=True) is not None else names_in(value) or None

    def _item(self, row: Line) -> Item:
        item = self._plain_item(row)
        if self._people.one_a_row:
            self._people.of_annotator(row, item)  # a row whose label means nothing is a reject
        labels = combined(self._labels_by_row().get(item.id, ()), self._people.beside(row, item))
        return item.model_copy(update={"labels": labels}) if labels else item

    def _labels_by_row(self) -> Mapping[str, tuple[Label, ...]]:
        """Item -> labels, where each row has the label of one annotator; read once.

        Rows that differ in the label alone are one judgment; the labels of an item's judgments are the same people's.
        """
        if self._said is not None:
            return self._said
        judged: dict[str, dict[str, list[Label]]] = {}
        said = [one for name, one in self.mapping.columns.items() if name in _OF_JUDGMENT]
        rows = self.table.rows() if self._people.one_a_row else iter(())
        for row in (row for row in rows if not isinstance(row, Reject)):
            try:
                item = self._plain_item(row)
                label = self._people.of_annotator(row, item)
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
        plain = not self._one_hot.get("label") and all(
            value is None or (type(value) is str and value) for value in cells
        )
        if plain and self._newest is not None and self._newest[0] == cells:
            return self._newest[1]
        item = self._new_item(row)
        self._newest = (cells, item) if plain else None
        return item

    def _new_item(self, row: Line) -> Item:
        answers = {
            name: value
            for name in self.mapping.response_ids
            if (value := self._value(row, f"responses.{name}")) is not None
            and (value != "" or self._answered(row, name))
        }
        models = {name: model for name in answers if (model := self._text(row, f"models.{name}"))}
        question = self._value(row, "question")
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
            "category": self._text(row, "category"),
            "reference": self._text(row, "reference"),
            "question_id": self._text(row, "question_id"),
            "models": models or None,
            "scale": parse_scale(self._value(row, "scale")) if len(answers) == 1 else None,
            "conversation": self._conversation(row) or spoken.conversation,
            "replies": spoken.replies or None,
            "metadata": spoken.metadata(self._metadata(row, answers)),
        }
        item = Item.model_validate(data)
        one = self._has("label") and not self._people.one_a_row
        label, _ = self._verdict(row, "label", item) if one else (None, None)
        if label is not None:
            item = Item.model_validate({**data, "label": label})
        name = self._text(row, "item_id") or self._question_and_model(row, item)
        if name is not None and turn is not None and turn > 1:
            name = f"{name}/turn-{turn}"  # one id is shared by all turns of a conversation
        return item.model_copy(update={"id": name or f"item-{item.digest[:16]}"})

    def _question_and_model(self, row: Line, item: Item) -> str | None:
        """The id of an item that is one response to a question of several."""
        question = self._text(row, "question_id")
        if question is None:
            return None
        models = [*(item.models or {}).values()]
        return f"{question}/{models[0] if len(models) == len(item.responses) == 1 else item.digest[:8]}"

    def _conversation(self, row: Line) -> tuple[Message, ...]:
        """The messages of a column of their own, beside a question that is one text."""
        value = self._value(row, "conversation")
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
                found.setdefault(name, {}).update(_object(value, f"metadata.{name}", column))
            elif part is not None:
                found.setdefault(part, {})[name[len(part) + 1 :]] = value
        return found or None

    def _turn(self, row: Line, question: Any, answers: Mapping[str, Any]) -> int | None:
        """The turn of a conversation that was judged; None where none is given, or there is no conversation.

        Raises:
            BadLine: it is no number from 1, or the table says it in a column that is not mapped.
        """
        value = self._value(row, "turn")
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
                f"({self._wording.mapped(f'turn={unmapped}')})"
            )
        return None

    def _answered(self, row: Line, name: str) -> bool:
        """Whether an empty cell is an empty answer. CSV has no null: of more than two, it is one where it was shown."""
        if len(self.mapping.response_ids) <= 2:
            return True
        shown = names_in(self._value(row, "order"))
        return name in shown or (len(shown) == 1 and name in tuple(shown[0]))

    def _verdict(self, row: Line, field: str, item: Item) -> tuple[Any, str | None]:
        one_hot = self._one_hot.get(field)
        try:
            value = self._value(row, field) if one_hot is None else one_hot.read(row.data)
        except BadLine as bad:
            raise BadLine(f"{field}: {bad}") from None
        found = self._people.read(field, value, item)
        if isinstance(found, NoVerdict):
            stated = self._text(row, "no_verdict") if field == "verdict" else None
            return None, stated or found.reason
        return found, None

    def _order(self, row: Line, item: Item) -> tuple[str, ...]:
        ids, value = tuple(item.responses), self._value(row, "order")
        if is_true(self._value(row, "swapped")):
            return ids[::-1]
        if value in (None, ""):
            return ids
        return tuple(value) if isinstance(value, str) and sorted(value) == sorted(ids) else names_in(value)

    def _meta(self, row: Line) -> dict[str, Any]:
        value = self._value(row, "meta")
        meta = {} if value in (None, "") else _object(value, "meta", self.mapping.columns.get("meta", ""))
        own = {name: cell(row.data, column) for name, column in self._own}
        return meta | {name: value for name, value in own.items() if value is not None}

    def _has(self, field: str) -> bool:
        return field in self.mapping.columns or field in self.mapping.constants

    def _value(self, row: Line, field: str) -> Any:
        column = self.mapping.columns.get(field)
        return self.mapping.constants.get(field) if column is None else cell(row.data, column)

    def _text(self, row: Line, field: str) -> str | None:
        value = self._value(row, field)
        return None if value in (None, "") else text_of(value)

    def _require_known_values(self, rows: Sequence[Line]) -> None:
        unknown, words = Counter[str](), Counter[str]()
        first: dict[str, tuple[int, str]] = {}
        for row in rows:
            if self._scored_by_people and person_score_of(row.data) is not None:
                continue
            try:
                verdict = self.judgment(row).verdict
            except UnknownCell as bad:
                unknown[bad.key] += 1
                first.setdefault(bad.key, (row.number, bad.field))
                continue
            except (BadLine, ValidationError):
                continue
            if isinstance(verdict, Category) and isinstance(verdict.value, str) and not self._has("scale"):
                words[verdict.value] += 1
                first.setdefault(verdict.value, (row.number, "verdict"))
        if len(words) > MOST_CATEGORIES:
            unknown = words  # so many different words are no categories
        if unknown:
            fault = vocabulary_fault(unknown, first, self.mapping, self.source.name, self._wording)
            raise InputError(without_secrets(fault))

    def _require_whole_verdicts(self, columns: Sequence[str], survey: Survey) -> None:
        """Refuses a column of zeros and ones whose zeros are the other side, or a tie that another column says.

        Raises:
            InputError: with the mapping of all of these columns.
        """
        ids = self.mapping.response_ids
        taken = {one for column in self.mapping.columns.values() for one in columns_in(column)}
        for field in ("verdict", "label"):
            column = self.mapping.columns.get(field, "")
            if len(ids) < 2 or not column or self._one_hot.get(field) is not None:
                continue
            tie = tie_beside(column, columns, survey) if is_flag(column, survey) else None
            if tie is not None and tie not in taken:
                others = ",".join(f"COLUMN_{name}" for name in ids[1:])
                raise InputError(
                    f"{self.source.name}: column {column!r} is 0 for ties, too, which column {tie!r} says: name "
                    f"all of these columns, {self._wording.mapped(f'{field}=onehot:{column},{others},{tie}')}"
                )


def stem_of(name: str) -> str:
    """A file's name without folders and endings: what ids are made from."""
    base = Path(name).name or name
    return base.split(".", 1)[0] or base


def _object(value: Any, field: str, column: str) -> dict[str, Any]:
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
