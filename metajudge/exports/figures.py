"""What ``stats.json`` and the card say of the rows and of how their verdicts were vetted."""

from typing import Any

import duckdb

from metajudge.exports.request import ExportRequest, Rule
from metajudge.exports.workspace import named_rows, only

_LENGTHS = """
    SELECT count(*) AS pairs, avg(chosen_length) AS chosen_mean, avg(rejected_length) AS rejected_mean,
        median(chosen_length) AS chosen_median, median(rejected_length) AS rejected_median,
        avg((chosen_length > rejected_length)::INTEGER) FILTER (chosen_length <> rejected_length) AS chosen_longer,
        avg((chosen_length = rejected_length)::INTEGER) AS equally_long,
        avg(ln(chosen_length::DOUBLE / rejected_length)) AS mean_log_ratio
    FROM placed WHERE rejected_length > 0 AND chosen_length > 0"""
_ROWS = "ordered JOIN entries USING (entry_id) JOIN items ON items.item_no = ordered.item_no"
_COUNTS = {
    "judges": f"SELECT judge, count(*) FROM {_ROWS} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50",
    "categories": f"SELECT coalesce(category, '(none)'), count(*) FROM {_ROWS} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200",
    "flags": "SELECT unnest(flags) AS flag, count(*) FROM ordered GROUP BY 1 ORDER BY 1",
    "kept_by": f"SELECT coalesce(kept_by, '(none)'), count(*) FROM {_ROWS} GROUP BY 1 ORDER BY 2 DESC, 1",
}
_VETTING = """
    SELECT strategy, agents, rubric, rubric_digest, threshold, calibration, panel_digest, version,
        count(*) AS judgments
    FROM selected GROUP BY ALL ORDER BY count(*) DESC, panel_digest LIMIT 50"""


def lengths(work: duckdb.DuckDBPyConnection) -> dict[str, float | int | None]:
    """Lengths in characters; ``chosen_longer`` is a share of the pairs that differ in length."""
    (row,) = named_rows(work, _LENGTHS)
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}


def figures(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> dict[str, Any]:
    """Rows by split, judge, category, flag and what kept them; judgments by kind of verdict and by panel."""
    parts = work.execute("SELECT part, count(*), count(DISTINCT cluster) FROM ordered GROUP BY 1 ORDER BY 1").fetchall()
    kinds = work.execute("""
        SELECT coalesce(kind_of(j.verdict), 'no_verdict'), count(*), count(*) FILTER (a.kept)
        FROM selected a JOIN judgments j USING (judgment_id) GROUP BY 1 ORDER BY 1""").fetchall()
    outside, probable = only(
        work, f"SELECT count(*) FILTER (kept_by IS NOT NULL AND NOT by_rule), count(probability) FROM {_ROWS}"
    )
    return {
        "splits": {part: {"rows": rows, "clusters": clusters} for part, rows, clusters in parts},
        **{name: dict(work.execute(query).fetchall()) for name, query in _COUNTS.items()},
        "rows_outside_guarantee": outside if request.selection.rule is Rule.GUARANTEE else None,
        "with_probability": probable,
        "kinds": {kind: {"judgments": count, "kept": kept} for kind, count, kept in kinds},
        "vetting": named_rows(work, _VETTING),
    }
