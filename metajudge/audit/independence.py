"""Whether the judges of a file are independent of one another, without labels."""

from collections.abc import Mapping

import numpy as np

from metajudge.audit.gather import Gathered
from metajudge.audit.table import Table
from metajudge.evidence.dependence import Dependence, dependence_among
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.types.right import Right
from metajudge.types.verdict import VerdictKind


def independence_of(source: Gathered, tables: Mapping[VerdictKind, Table], right: Right | None = None) -> Dependence:
    """What is known of the independence of the judges.

    Args:
        source: what was read.
        tables: of each kind that the file has.
        right: the rule given, as for the tables.
    """
    rules = Rules(right)
    for table in tables.values():
        given = [source.verdicts.values[code] for code in np.unique(table.raw).tolist()]
        for truth in {source.items[item].truth() for item in np.unique(table.item).tolist()}:
            rules.add(given[0], truth)
        for verdict in given:
            rules.add(verdict, None)
    parts = [(source.rows[kind], [one.item for one in source.things[kind]]) for kind in tables]

    def column(name: str) -> list[int]:
        return [value for rows, _ in parts for value in getattr(rows, name)]

    recorded = Recorded(
        item=np.array([items[thing] for rows, items in parts for thing in rows.thing], dtype=np.int64),
        judge=np.array(column("judge"), dtype=np.int64),
        judges=source.judges.values,
        order=np.array(column("order"), dtype=np.int64),
        orders=source.orders.values,
        verdict=np.array(column("verdict"), dtype=np.int64),
        verdicts=source.verdicts.values,
        models=source.models,
    )
    question = np.array([one.question for one in source.items], dtype=np.int64)
    words = np.array(column("words"), dtype=np.int64)
    return dependence_among(recorded, question, words, rules)
