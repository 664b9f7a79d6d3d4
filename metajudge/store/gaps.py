"""Payloads with gaps: what many assessments share is one text, and each has its own values beside it.

A gap is a control character, which JSON texts write as an escape and so never contain. A DuckDB file keeps such
payloads as they are, so that its compression finds equal texts, and fills the gaps where they are read
(``migrations/0011_gaps.sql``). PostgreSQL gets them filled.
"""

from collections.abc import Sequence
from typing import Final

import orjson

JUDGMENT_ID: Final = "\x01"
ITEM_ID: Final = "\x02"
JUDGE: Final = "\x03"
DIGEST: Final = "\x04"
SIGNALS: Final = "\x05"

COLUMNS: Final = tuple(f"signals_{place}" for place in range(1, 6))
"""Columns of the parts of the signals in a DuckDB file; a part is a run of ``,"name":{...}``, or nothing."""

PROBABILITY: Final = "\x01"
VALUE: Final = "\x02"
UNADJUSTED: Final = "\x03"
MARGIN: Final = "\x04"
IN_WORDS: Final = "\x05"
"""Gaps of an annotation: the probability, the numbers of a decision, and :func:`in_words`."""

NUMBERS: Final = ("value", "unadjusted", "margin")
"""Columns of the numbers of a decision in a DuckDB file, beside ``gaps``, which says whether a payload has any."""

OWN_COLUMNS: Final[dict[str, tuple[str, ...]]] = {"assessments": COLUMNS, "annotations": ("gaps", *NUMBERS)}
"""What only a DuckDB file has, by table; NULL where a payload is whole."""


def rows_of(table: str) -> str:
    """The table of a DuckDB file that is written to; those with gaps are read through a view."""
    return f"{table.removesuffix('s')}_rows" if table in OWN_COLUMNS else table


def no_own(table: str) -> tuple[None, ...]:
    """Values of the columns that only a DuckDB file has, for a row whose payload is whole."""
    return (None,) * len(OWN_COLUMNS.get(table, ()))


def in_words(probability: float) -> str:
    """A probability as a decision's reasons name it."""
    return f"the probability {probability:.4g} "


def filled(payload: str, own: Sequence[str], parts: Sequence[str]) -> str:
    """A payload without gaps.

    Args:
        own: the judgment's id, its item, its judge and its digest, in the order of the gaps.
        parts: of its signals.
    """
    text = payload.replace(SIGNALS, "{" + "".join(parts)[1:] + "}")
    for gap, value in zip((JUDGMENT_ID, ITEM_ID, JUDGE, DIGEST), own, strict=True):
        text = text.replace(gap, orjson.dumps(value).decode())
    return text


def filled_annotation(payload: str, probability: float | None, numbers: Sequence[float | None]) -> str:
    """An annotation's payload without gaps.

    Args:
        numbers: :data:`NUMBERS`.
    """
    text = payload.replace(IN_WORDS, in_words(probability or 0.0))
    for gap, value in zip((PROBABILITY, VALUE, UNADJUSTED, MARGIN), (probability, *numbers), strict=True):
        text = text.replace(gap, orjson.dumps(value).decode())
    return text
