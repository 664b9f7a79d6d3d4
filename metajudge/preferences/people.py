"""What people say of items, from all records of each: one answer where the item has no label of its own."""

from collections import Counter
from typing import Any

import duckdb
import orjson

from metajudge.preferences.verdicts import verdict_text
from metajudge.types import majority, parse_verdict


def take_peoples_labels(work: duckdb.DuckDBPyConnection) -> None:
    """Sets ``label`` of items without one to what the people of all its records say together.

    The same entry (value, annotator and time) in several records of an item is one person's word.
    """
    rows = work.execute("""
        SELECT i.item_no, j.people FROM judgments j JOIN items i USING (item_id)
        WHERE j.people IS NOT NULL AND i.label IS NULL ORDER BY 1, j.judgment_no""").fetchall()
    said: dict[int, Counter[bytes]] = {}
    for number, people in rows:
        entries = Counter(orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in orjson.loads(people))
        said[number] = said.get(number, Counter()) | entries
    for number, entries in said.items():
        given: list[dict[str, Any]] = [orjson.loads(one) for one in entries.elements()]
        label = majority([parse_verdict(one["value"]) for one in given])
        work.execute("UPDATE items SET label = $2 WHERE item_no = $1", [number, verdict_text(label)])
