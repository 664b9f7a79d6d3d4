"""Judgments from any table, by a mapping of its columns."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.files.secrets import without_secrets
from metajudge.reading.alike import Alike, retold
from metajudge.reading.containers.cells import cell, names_in, nested
from metajudge.reading.containers.lines import BadLine, Line, Reject
from metajudge.reading.containers.tables import Survey, Table
from metajudge.reading.mapped_items import RowItems, object_in, stem_of
from metajudge.reading.mapped_labels import RowLabels, UnknownCell, listed_labels, vocabularies_of, vocabulary_fault
from metajudge.reading.mapping import FLAGS, JUDGED, FieldMap, Wording, check_columns, check_fields
from metajudge.reading.people import ByPeople, PersonScore, Target, named_score, person_score_of, says_who
from metajudge.reading.reader import UNREADABLE, FoundJudgment, LineReader, attempt
from metajudge.reading.spread import columns_in, is_flag, tie_beside
from metajudge.reading.textless import completed, is_draws, no_texts
from metajudge.reading.vocabulary import MOST_CATEGORIES, NoVerdict, shown_order
from metajudge.types import AnyVerdict, Category, Item, Judgment, digest

_SAYS = frozenset(("verdict", "no_verdict", "instruction", "order", "swapped", "labels", "meta"))
"""Fields that a judgment depends on beside its item, its id, its judge and its rationale."""


class MappedTable(LineReader):
    """Reads the rows of a table as judgments, one or several of each.

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
        super().__init__(f"{table.format}, mapped", table.source, table.rows, self._made)
        columns, name = table.columns(), table.source.name
        check_columns(mapping, columns, name)
        if needed == JUDGED:
            mapping = completed(mapping, columns, table.survey())
        self.table, self.mapping, self.guessed = table, mapping, False
        self._scored_by_people = says_who(columns)
        check_columns(mapping, columns, name)
        check_fields(mapping, columns, name, needed, wording)
        first = table.survey() if survey else Survey(())
        said = no_texts(mapping) if needed == JUDGED else None
        self.told = [] if said is None else [said]
        """What is to be known of values that stand for no answer, a sentence a column."""
        self._parts = list[RowJudgments]()
        judges, criteria = (len({one[at] for one in mapping.verdicts}) > 1 for at in (1, 2))
        shared: dict[str, RowItems] = {}
        for one, part in mapping.judgments():
            verdicts, labels, told = vocabularies_of(part, first, wording)
            self.told += [sentence for sentence in told if sentence not in self.told]
            people = RowLabels(part, wording, verdicts, labels)
            items = shared.setdefault(one.criterion, RowItems(table, part, people, one.criterion))
            suffix = "".join(f"/{one}" for one in (one.own * judges, one.criterion * criteria) if one)
            self._parts.append(RowJudgments(items, people, table, first, suffix))
        for each in self._parts:
            each.require_known_values(columns, first, self._rows_of_judges(first.rows))

    @property
    def one_label_a_row(self) -> bool:
        """Whether several rows may be one judgment with the labels of several people."""
        return self._parts[0].people.one_a_row

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        """Every judgment, score by a person and reject; a cell that cannot be read spoils no other of its row."""
        if len(self._parts) == 1:
            yield from super().read()
            return
        for row in self.rows():
            if isinstance(row, Reject):
                yield row
                continue
            reasons = set[str]()
            for part in self._parts:
                found = attempt(self.source, row, part.judgments)
                if not isinstance(found, Reject):
                    yield from (FoundJudgment(one, self.source.name, row.number) for one in found)
                elif found.reason not in reasons:
                    reasons.add(found.reason)
                    yield found

    def named(self, row: Line) -> str | None:
        """The name of a row's score, where rows say who gave it."""
        return named_score(row.data) if self._scored_by_people else None

    def rows_of_judges(self) -> Iterator[Line | Reject]:
        """The rows that are no score by a person."""
        return (row for row in self.table.rows() if isinstance(row, Reject) or person_score_of(row.data) is None)

    def _rows_of_judges(self, rows: Sequence[Line]) -> Sequence[Line]:
        return [row for row in rows if person_score_of(row.data) is None] if self._scored_by_people else rows

    def item(self, row: Line) -> Item:
        """A row as an item; without a column of items' ids, ``id`` names the item.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        items = self._parts[0].items
        item, name = items.item(row), items.people.text(row, "id")
        return item if name is None or items.people.text(row, "item_id") else item.model_copy(update={"id": name})

    def judgment(self, row: Line) -> Judgment:
        """A row as a judgment, the first one where it is several.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        return self._parts[0].judgments(row)[0]

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

    def _made(self, row: Line) -> Sequence[Judgment | PersonScore]:
        score = person_score_of(row.data) if self._scored_by_people else None
        if score is None:
            return self._parts[0].judgments(row)
        try:
            return [replace(score, target=self.item(row).id)]
        except UNREADABLE:
            return [score]  # counted, as a score of an unknown item


class RowJudgments:
    """Reads what one judge says of one thing in a row: a judgment, or several where the cell has a list of verdicts.

    Args:
        items: reads the item.
        people: reads the verdict's words.
        table: the rows.
        survey: the first of them.
        suffix: of ids, where a row is several judgments.
    """

    def __init__(self, items: RowItems, people: RowLabels, table: Table, survey: Survey, suffix: str) -> None:
        self.items, self.people, self.mapping = items, people, people.mapping
        self._source, self._suffix, self._stem = table.source, suffix, stem_of(table.source.name)
        columns, ids = self.mapping.columns, self.mapping.response_ids
        kinds = {name: name.split(".")[0] for name in columns}
        says = [one for name, column in columns.items() if kinds[name] in _SAYS for one in columns_in(column)]
        self._alike = Alike(tuple(dict.fromkeys(says)))
        self._own = [(name[5:], one) for name, one in columns.items() if name.startswith("meta.")]
        whole = "verdict" in columns and "verdict" not in people.spreads
        cells = survey.cells(columns["verdict"]) if whole else []
        self._drawn = any(is_draws(nested(value), ids) for value in cells)

    def judgments(self, row: Line) -> list[Judgment]:
        """A row's judgments.

        Raises:
            BadLine: with the field, its column and what is wrong.
            ValidationError: the values do not go together.
        """
        if not self._drawn:
            return [self._judgment(row)]
        drawn = nested(self.people.value(row, "verdict"))
        if not isinstance(drawn, list):
            return [self._judgment(row)]
        return [self._judgment(row, (value,), f"/{number}") for number, value in enumerate(drawn, start=1)]

    def _judgment(self, row: Line, given: tuple[Any, ...] = (), draw: str = "") -> Judgment:
        item = self.items.item(row)
        said = None if given else self._alike.said(row.data, item)
        known = self._alike.find(said)
        verdict, why = self._verdict(row, item, given) if known is None else (known.verdict, known.no_verdict)
        judge = self.people.text(row, "judge")
        if judge is None:
            raise BadLine(f"judge: column {self.mapping.columns.get('judge')!r} is empty")
        name = (self.people.text(row, "id") or self._name(row, item, judge, verdict)) + self._suffix + draw
        rationale = self.people.text(row, "rationale") or ""
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
            instruction=self.people.text(row, "instruction"),
            order=self._order(row, item),
            labels=self._shown_labels(row, item),
            meta=self._meta(row),
        )
        self._alike.keep(said, judgment)
        return judgment

    def _name(self, row: Line, item: Item, judge: str, verdict: Any) -> str:
        """An id of file and row; where each row has one annotator's label, the same for all rows of a judgment."""
        if not self.people.one_a_row:
            return f"{self._stem}:{row.number}"
        said = digest([str(verdict), self.people.text(row, "rationale") or ""])[:8]
        return f"{self._stem}:{item.id}:{judge}:{said}"

    def _shown_labels(self, row: Line, item: Item) -> tuple[str, ...] | None:
        """What the judge called the responses; None where the column has people's labels."""
        value = self.people.value(row, "labels")
        return None if listed_labels(value, item, own=True) is not None else names_in(value) or None

    def _verdict(self, row: Line, item: Item, given: tuple[Any, ...]) -> tuple[AnyVerdict | None, str | None]:
        people = self.people
        found = people.read("verdict", given[0], item) if given else people.said(row, "verdict", item)
        if isinstance(found, NoVerdict):
            return None, people.text(row, "no_verdict") or found.reason
        return found, None

    def _order(self, row: Line, item: Item) -> tuple[str, ...]:
        return shown_order(self.people.value(row, "order"), tuple(item.responses), self.people.value(row, "swapped"))

    def _meta(self, row: Line) -> dict[str, Any]:
        value = self.people.value(row, "meta")
        meta = {} if value in (None, "") else object_in(value, "meta", self.mapping.columns.get("meta", ""))
        own = {name: cell(row.data, column) for name, column in self._own}
        return meta | {name: value for name, value in own.items() if value is not None}

    def require_known_values(self, columns: Sequence[str], survey: Survey, rows: Sequence[Line]) -> None:
        """Refuses values that mean nothing, and a column of zeros that are ties which another column says.

        Raises:
            InputError: with each of the values, or the mapping of all of these columns.
        """
        for field in ("verdict", "label"):
            self._require_whole(field, columns, survey)
        unknown, words = Counter[str](), Counter[str]()
        first: dict[str, tuple[int, str]] = {}
        for row in rows:
            try:
                verdicts = [one.verdict for one in self.judgments(row)]
            except UnknownCell as bad:
                unknown[bad.key] += 1
                first.setdefault(bad.key, (row.number, bad.field))
                continue
            except (BadLine, ValidationError):
                continue
            for verdict in verdicts if not self.people.has("scale") else ():
                if isinstance(verdict, Category) and isinstance(verdict.value, str):
                    words[verdict.value] += 1
                    first.setdefault(verdict.value, (row.number, "verdict"))
        if len(words) > MOST_CATEGORIES:
            unknown = words  # so many different words are no categories
        if unknown:
            fault = vocabulary_fault(unknown, first, self.mapping, self._source.name, self.people.wording)
            raise InputError(without_secrets(fault))

    def _require_whole(self, field: str, columns: Sequence[str], survey: Survey) -> None:
        column, ids = self.mapping.columns.get(field, ""), self.mapping.response_ids
        if len(ids) < 2 or not column or field in self.people.spreads or not is_flag(column, survey):
            return
        tie = tie_beside(column, columns, survey)
        if tie is not None and tie not in self.mapping.used_columns:
            others = ",".join(f"COLUMN_{name}" for name in ids[1:])
            raise InputError(
                f"{self._source.name}: column {column!r} is 0 for ties, too, which column {tie!r} says: name "
                f"all of these columns, {self.people.wording.mapped(f'{field}=onehot:{column},{others},{tie}')}"
            )
