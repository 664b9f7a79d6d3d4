"""Splits by question cluster, and length matching within each split."""

from collections.abc import Iterator

import numpy as np

from metajudge.errors import ConfigurationError
from metajudge.evidence.units import ITEM, MOST_SHARE, QUESTION
from metajudge.exports.near_duplicates import near_groups
from metajudge.exports.request import ExportRequest, Kind
from metajudge.exports.words import AT_ONCE, Words, words_of
from metajudge.exports.workspace import FunnelStep, Work, ahead, fill, only, ranges

RATIOS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5)
"""Edges of the bins of |log(chosen length / rejected length)| within which lengths are matched."""


def unit_of(work: Work, request: ExportRequest) -> str:
    """What stands in one part as a whole; see :class:`~metajudge.exports.request.ExportRequest`.

    Responses to one prompt are never divided unasked: a model that was trained on it would be tested on it.
    """
    if request.unit is not None or request.kind is Kind.RESPONSES:
        return request.unit or QUESTION
    items, most, ids = only(
        work,
        """SELECT coalesce(sum(n), 0), coalesce(max(n), 0), coalesce(sum(ids), 0)
            FROM (SELECT count(*) AS n, count(question_id) AS ids FROM items GROUP BY normal(question))""",
    )
    return ITEM if items > 1 and not ids and most > MOST_SHARE * items else QUESTION


def split_by_cluster(work: Work, request: ExportRequest) -> None:
    """Fills ``placed``: ``measures`` with ``cluster`` and ``part``.

    Questions that are the same after normalisation, or near duplicates, are one cluster. Clusters are put in a seeded
    order; one goes to the part in which its middle falls of the concatenated rows.

    Raises:
        ConfigurationError: a part is left without a row.
    """
    _cluster(work, request)
    parts = request.parts
    ends = np.cumsum(list(parts.values()))
    cases = " ".join(
        f"WHEN middle < {end!r} THEN '{name}'" for name, end in zip(list(parts)[:-1], ends[:-1].tolist(), strict=True)
    )
    last = list(parts)[-1]
    chosen = f"CASE {cases} ELSE '{last}' END" if cases else f"'{last}'"
    work.execute(f"""
        CREATE OR REPLACE TABLE placed AS
        WITH sizes AS (SELECT cluster, count(*) AS n FROM measures JOIN clusters USING (question_hash) GROUP BY 1),
        laid AS (
            SELECT cluster, (sum(n) OVER (ORDER BY md5('{request.seed}' || chr(31) || cluster), cluster) - n / 2.0)
                / sum(n) OVER () AS middle FROM sizes
        )
        SELECT m.*, cluster, {chosen} AS part
        FROM measures m JOIN clusters USING (question_hash) JOIN laid USING (cluster)""")
    (clusters,) = only(work, "SELECT count(DISTINCT cluster) FROM placed")
    require_parts(work, request, f"{clusters} clusters of questions")


def require_parts(work: Work, request: ExportRequest, what: str) -> None:
    """Every part has a row.

    Raises:
        ConfigurationError: one has none; with the numbers and what to change.
    """
    counts = dict(work.execute("SELECT part, count(*) FROM placed GROUP BY 1").fetchall())
    empty = [name for name in request.parts if not counts.get(name)]
    if empty and request.split is not None:
        there = ", ".join(f"{name} {counts.get(name, 0)}" for name in request.parts)
        raise ConfigurationError(
            f"the split leaves {' and '.join(empty)} empty: {what} give {there} rows. Use larger fractions, fewer "
            "parts, or more data"
        )


def balance_lengths(work: Work, request: ExportRequest) -> FunnelStep:
    """Drops rows at random so that, in each part and bin of the length ratio, longer is chosen as often as shorter."""
    edges = " ".join(f"WHEN ratio < {edge} THEN {place}" for place, edge in enumerate(RATIOS))
    work.execute(f"""
        CREATE OR REPLACE TABLE lost AS
        WITH ratios AS (
            SELECT entry_id, part, sign(chosen_length - rejected_length) AS side,
                abs(ln(chosen_length::DOUBLE / rejected_length)) AS ratio FROM placed
        ), binned AS (SELECT *, CASE {edges} ELSE {len(RATIOS)} END AS bin FROM ratios WHERE side <> 0),
        counted AS (
            SELECT *, row_number() OVER (PARTITION BY part, bin, side
                    ORDER BY md5('{request.seed}' || entry_id)) AS place,
                count(*) FILTER (side > 0) OVER (PARTITION BY part, bin) AS longer,
                count(*) FILTER (side < 0) OVER (PARTITION BY part, bin) AS shorter
            FROM binned
        )
        SELECT entry_id FROM counted WHERE place > least(longer, shorter)""")
    before, lost = only(work, "SELECT (SELECT count(*) FROM placed), (SELECT count(*) FROM lost)")
    work.execute("DELETE FROM placed WHERE entry_id IN (SELECT entry_id FROM lost)")
    require_parts(work, request, "the rows left after balancing lengths")
    return FunnelStep("length balance", "rows", before, before - lost, {"no_match_in_length": lost})


def _cluster(work: Work, request: ExportRequest) -> None:
    """``clusters``: normalised question -> the first item (by number) of its cluster."""
    work.execute("""
        CREATE OR REPLACE TABLE clusters AS
        SELECT question_hash, min(item_no) AS first FROM measures GROUP BY 1""")
    near: list[tuple[int, int]] = []
    if len(request.parts) > 1 and request.near_threshold < 1 and unit_of(work, request) == QUESTION:
        numbers: list[int] = []

        def chunks() -> Iterator[list[Words]]:
            """The first item of every normalised question, in order."""
            firsts = "items WHERE item_no IN (SELECT first FROM clusters)"
            for low, high in ranges(work, f"SELECT item_no AS place, length(question) AS size FROM {firsts}", AT_ONCE):
                rows = work.execute(f"""
                    SELECT item_no, question FROM {firsts} AND item_no BETWEEN {low} AND {high}
                    ORDER BY 1""").fetchall()
                numbers.extend(row[0] for row in rows)
                yield [words_of([row[1] for row in rows])]

        groups = near_groups(ahead(chunks()), request.near_threshold, request.seed)
        moved = np.flatnonzero(groups != np.arange(len(groups)))
        near = [(numbers[index], numbers[root]) for index, root in zip(moved, groups[moved], strict=True)]
    fill(work, "near_questions", ("first", "root"), [near])
    work.execute("""
        CREATE OR REPLACE TABLE clusters AS
        SELECT question_hash, md5(i.item_id)[:12] AS cluster FROM (
            SELECT question_hash, coalesce(root, c.first) AS item_no
            FROM clusters c LEFT JOIN near_questions n ON n.first = c.first
        ) JOIN items i USING (item_no)""")
