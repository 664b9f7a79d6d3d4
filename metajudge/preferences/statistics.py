"""Figures of a dataset for its card and ``stats.json``."""

from typing import Any

import duckdb

from metajudge.preferences.request import ExportRequest, Rule

_LENGTHS = """
    SELECT count(*), avg(chosen_length), avg(rejected_length), median(chosen_length), median(rejected_length),
        avg((chosen_length > rejected_length)::INTEGER) FILTER (chosen_length <> rejected_length),
        avg((chosen_length = rejected_length)::INTEGER),
        avg(ln(chosen_length::DOUBLE / rejected_length))
    FROM {table} WHERE rejected_length > 0 AND chosen_length > 0"""
_NAMES = (
    "pairs",
    "chosen_mean",
    "rejected_mean",
    "chosen_median",
    "rejected_median",
    "chosen_longer",
    "equally_long",
    "mean_log_ratio",
)


def lengths(work: duckdb.DuckDBPyConnection, table: str) -> dict[str, float | int | None]:
    """Lengths in characters; ``chosen_longer`` is a share of the pairs that differ in length."""
    (row,) = work.execute(_LENGTHS.format(table=table)).fetchall()
    return {
        name: round(value, 6) if isinstance(value, float) else value for name, value in zip(_NAMES, row, strict=True)
    }


def figures(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> dict[str, Any]:
    """Rows by split, judge, category and flag, and what the vetting was."""

    def counts(query: str) -> dict[str, int]:
        return {str(name): count for name, count in work.execute(query).fetchall()}

    joined = "ordered JOIN entries USING (entry_id)"
    found: dict[str, Any] = {
        "splits": {
            part: {"rows": rows, "clusters": clusters}
            for part, rows, clusters in work.execute(
                "SELECT part, count(*), count(DISTINCT cluster) FROM ordered GROUP BY 1 ORDER BY 1"
            ).fetchall()
        },
        "judges": counts(f"SELECT judge, count(*) FROM {joined} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50"),
        "categories": counts(
            "SELECT coalesce(category, '(none)'), count(*) FROM ordered JOIN items USING (item_no) "
            "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200"
        ),
        "flags": counts("SELECT unnest(flags) AS flag, count(*) FROM ordered GROUP BY 1 ORDER BY 1"),
        "kept_by": counts(f"SELECT coalesce(kept_by, '(none)'), count(*) FROM {joined} GROUP BY 1 ORDER BY 2 DESC, 1"),
        "rows_outside_guarantee": work.execute(
            f"SELECT count(*) FILTER (kept_by IS NOT NULL AND NOT by_rule) FROM {joined}"
        ).fetchall()[0][0]
        if request.selection.rule is Rule.GUARANTEE
        else None,
        "with_probability": work.execute(f"SELECT count(probability) FROM {joined}").fetchall()[0][0],
    }
    return found


def kinds(work: duckdb.DuckDBPyConnection) -> dict[str, dict[str, int]]:
    """Kind of verdict -> how many judgments there were (``judgments``) and were kept (``kept``)."""
    rows = work.execute("""
        SELECT coalesce(kind_of(j.verdict), 'no_verdict'), count(*), count(*) FILTER (a.kept)
        FROM selected a JOIN judgments j USING (judgment_id) GROUP BY 1 ORDER BY 1""").fetchall()
    return {kind: {"judgments": count, "kept": kept} for kind, count, kept in rows}


def vetting(work: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """The panels that vetted the judgments, with how many each: agents, rubric, strategy, threshold, calibration."""
    names = ("strategy", "agents", "rubric", "rubric_digest", "threshold", "calibration", "panel_digest", "version")
    rows = work.execute(
        f"SELECT {', '.join(names)}, count(*) FROM selected GROUP BY ALL ORDER BY count(*) DESC, panel_digest LIMIT 50"
    ).fetchall()
    return [dict(zip((*names, "judgments"), row, strict=True)) for row in rows]
