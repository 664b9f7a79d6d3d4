"""Rows of a store with the texts of judgments and of their items."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from metajudge.bulk.reading import Intake
from metajudge.store.bulk import ItemRow, JudgmentRow


def text_rows(
    intake: Intake, rows: NDArray[np.int64], no_item: Collection[str], no_judgment: Collection[str]
) -> tuple[list[ItemRow], list[JudgmentRow]]:
    """Rows of items and of judgments with their texts, of those whose digests the store does not have.

    Args:
        no_item, no_judgment: digests of what the store lacks.
    """
    facts, items, judgments = intake.facts, dict[str, ItemRow](), list[JudgmentRow]()
    places = zip(rows.tolist(), facts.item[rows].tolist(), facts.judge[rows].tolist(), strict=True)
    for (row, place, judge), digest in zip(places, intake.digest_column(rows), strict=True):
        item = facts.items[place]
        if item.digest in no_item and item.digest not in items:
            code = int(facts.category[row])
            category = None if code < 0 else facts.categories[code]
            items[item.digest] = ItemRow(item.digest, item.id, category, intake.texts.item_payload(row, item.digest))
        if digest in no_judgment:
            own = (digest, facts.judgment_ids[row], item.digest, item.id, facts.judges[judge])
            judgments.append(JudgmentRow(*own, intake.texts.judgment_payload(row)))
    return list(items.values()), judgments
