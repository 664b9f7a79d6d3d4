"""Verdicts whose questions or responses are not known: what there is of them, and on which responses verdicts are."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from metajudge.reading.containers.cells import nested
from metajudge.reading.containers.tables import Survey
from metajudge.reading.conversations import chat_in, is_chat
from metajudge.reading.mapping import FieldMap, FieldName
from metajudge.reading.names import FIELDS, base_name, heard
from metajudge.reading.spread import ONE_HOT, PLACES, PREFIX, columns_in, is_tie_name
from metajudge.reading.vocabulary import NoVerdict, UnknownValueError, Vocabulary
from metajudge.types import ID_PATTERN, Pairwise, letters

MOST_WORDS: Final = 4
"""A column with longer texts that is mapped to nothing may be a question or a response."""
MOST_RANKED: Final = 26
_NO_TEXTS: Final = frozenset((*FIELDS["rationale"], *FIELDS["reference"], *FIELDS["instruction"], "notes"))
"""Columns whose texts are neither a question nor a response."""


_MARKED: Final = re.compile(r"\[\[[AB](?:[<>=]{1,2}[AB])?\]\]|[AB][<>=]{1,2}[AB]")


def completed(mapping: FieldMap, columns: Sequence[str], survey: Survey) -> FieldMap:
    """The mapping with empty texts in place of those that a table does not have.

    It stays as it is where a column that is mapped to nothing may be a question or a response, and where nothing tells
    items apart: no column of ids, and judges in a column, so that two rows may be about one item.

    Args:
        mapping: which column is what.
        columns: of the table.
        survey: its first rows.
    """
    given = mapping.columns.keys() | mapping.constants.keys()
    lacks = "question" not in given, not mapping.response_ids
    told_apart = given & {"item_id", "id", "question_id"} or (all(lacks) and "judge" not in mapping.columns)
    if not any(lacks) or not mapping.verdicts or not told_apart:
        return mapping
    free = [name for name in columns if name not in mapping.used_columns and not _is_no_text(name)]
    if any(len(text.split()) > MOST_WORDS for name in free for text in survey.texts(name)):
        return mapping
    if any(_has_texts(nested(value)) for name in free for value in survey.cells(name)):
        return mapping
    ids = responses_of(mapping, survey) if lacks[1] else ()
    if ids is None:
        return mapping
    texts = {f"responses.{name}": "" for name in ids}
    return mapping.updated(constants={"question": "", **texts} if lacks[0] else texts)


def _has_texts(value: Any) -> bool:
    """Whether a cell is a conversation or a list with a longer text."""
    listed = value if isinstance(value, list) else []
    return is_chat(chat_in(value)) or any(isinstance(one, str) and len(one.split()) > MOST_WORDS for one in listed)


def _is_no_text(column: str) -> bool:
    said = heard(column)
    return base_name(column) in _NO_TEXTS or (said is not None and said.what == "reason")


def responses_of(mapping: FieldMap, survey: Survey) -> tuple[str, ...] | None:
    """On which responses verdicts without texts are: those with models, or the ones that the values name.

    Verdicts that all compare A with B are on two responses, rankings on all that they name, others on one. None where
    the values rank names that are no ids.
    """
    if mapping.model_columns:
        return tuple(sorted(mapping.model_columns))
    values = list[Any]()
    for field, column in mapping.columns.items():
        if FieldName.of(field).family not in ("verdict", "label"):
            continue
        if column.startswith(PREFIX) and not column.startswith(PLACES):
            names = columns_in(column)
            count = len(names) - (column.startswith(ONE_HOT) and is_tie_name(names[-1]))
            return tuple(letters(place) for place in range(count))
        given = [survey.cells(one) for one in columns_in(column)]
        values += given[0] if len(given) == 1 else [list(row) for row in zip(*given, strict=True)]
    if _compare(values, mapping):
        return "A", "B"
    ranked = list(map(_ranked, values))
    if not values or not all(
        len(names) > 1 or value in (None, "") for names, value in zip(ranked, values, strict=True)
    ):
        return ("A",)
    ids = sorted({name for names in ranked for name in names})
    return tuple(ids) if len(ids) <= MOST_RANKED and all(re.fullmatch(ID_PATTERN, one) for one in ids) else None


def _compare(values: Iterable[Any], mapping: FieldMap) -> bool:
    """Whether values are verdicts on two responses: all of them, or some by a mark or a word for a tie."""
    vocabulary, kinds, marked = Vocabulary(mapping.values, categories=True), set[type](), False
    for value in {str(one): one for one in _drawn(values)}.values():
        marked |= isinstance(value, str) and _MARKED.fullmatch(value.strip()) is not None
        try:
            found = vocabulary.read(value, ("A", "B"), {})
        except UnknownValueError:
            found = None
        marked |= isinstance(found, Pairwise) and found.is_tie
        kinds.add(type(found))
    return marked or (Pairwise in kinds and kinds <= {Pairwise, NoVerdict})


def _drawn(values: Iterable[Any]) -> Iterator[Any]:
    """Values, and those in lists of repeated verdicts."""
    for value in values:
        found = nested(value)
        yield from found if is_draws(found, ()) else [value]


def is_draws(value: Any, ids: Sequence[str]) -> bool:
    """Whether a value is a list of repeated verdicts on these responses, and no ranking of them."""
    if not isinstance(value, list) or not value or any(isinstance(one, list | dict) for one in value):
        return False
    texts = all(isinstance(one, str) for one in value)
    return len(ids) == 1 or not texts or len(set(value)) < len(value)


def _ranked(value: Any) -> list[str]:
    """The names that a ranking ranks; none of anything else."""
    found = nested(value)
    if isinstance(found, list):
        groups = [one if isinstance(one, list) else [one] for one in found]
        names = [name for group in groups for name in group if name not in (None, "")]
    else:
        text = found.replace("=", ">") if isinstance(found, str) else ""
        names = [part.strip() for part in text.split(">") if part.strip()] if ">" in text else []
    return names if all(isinstance(one, str) for one in names) and len(set(names)) == len(names) else []


def no_texts(mapping: FieldMap) -> str | None:
    """A note on verdicts without texts; None where all texts are there."""
    texts = ["question", *(f"responses.{one}" for one in mapping.response_ids)]
    lacks = [name for name in texts if mapping.constants.get(name) == ""]
    if not lacks:
        return None
    if lacks != texts:
        part = "question" if lacks == ["question"] else "response"
        return f"No column is a {part}: agents would not know it, and items are told apart by their ids or rows."
    ids = mapping.response_ids
    on = f"{'two' if len(ids) == 2 else len(ids)} responses, {', '.join(ids[:-1])} and {ids[-1]}"
    on = on if len(ids) > 1 else "one response each"
    return f"No texts: no column is a question or a response. Verdicts are on {on}; agents would have nothing to read."
