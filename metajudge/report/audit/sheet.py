"""A table of items for people to label: a random sample of those without a label."""

import io
import random
from collections.abc import Sequence

from metajudge.files.tables import csv_writer
from metajudge.types import Item, Judgment

SHEET = "to-label.csv"
MOST_ITEMS = 200
SEED = 0


def to_label(judgments: Sequence[Judgment], most: int = MOST_ITEMS, seed: int = SEED) -> list[Item]:
    """Items without a label, drawn at random without replacement.

    A random sample is what corrected rates need: items chosen for how they look would bias them.

    Args:
        judgments: whose items are drawn from.
        most: how many at most.
        seed: of the draw.
    """
    items = {one.item.id: one.item for one in judgments if one.item.truth is None}
    ordered = [items[name] for name in sorted(items)]
    return random.Random(seed).sample(ordered, min(most, len(ordered)))


def sheet(items: Sequence[Item]) -> str:
    """The table as CSV: ``label`` and ``annotator`` are empty and wait for a person."""
    names = list(dict.fromkeys(name for item in items for name in item.responses))
    single = all(len(item.responses) == 1 for item in items)
    titles = ["response_text"] if single else [f"text_of_{name}" for name in names]
    stream = io.StringIO(newline="")
    write = csv_writer(stream, ["item_id", "label", "annotator", "question_text", *titles])
    for item in items:
        texts = item.responses.values() if single else (item.responses.get(name) for name in names)
        write({"item_id": item.id, "question_text": item.question, **dict(zip(titles, texts, strict=True))})
    return stream.getvalue()
