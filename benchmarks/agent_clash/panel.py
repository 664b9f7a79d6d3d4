"""The panel and its judges: ablation (table 11), unanimity (table 12), split decisions."""

from collections.abc import Iterator, Sequence
from statistics import mean

from metajudge.stats.panels import Unity

from ..figure import FigureTable, absent, fisher, made, share
from .figures import printed
from .records import LoggedEvaluation, Study

Rows = Sequence[LoggedEvaluation]


def add(table: FigureTable, study: Study) -> None:
    """All figures of the panel."""
    rows = {"mtbench": study.judged("mtbench"), "arena": study.judged("arena", 1)}
    judges = sorted({*study.panel, *printed("ablation.mtbench.")})
    logged = {"mtbench": rows["mtbench"], "arena": last_attempts(study)}
    in_groups = [
        row
        for row in study.rows
        if row.source.matrix_group in ("mtbench", "arena_r1") and row.labelled and row.unity is not Unity.INCOMPLETE
    ]
    pooled, pooled_log = [*rows["mtbench"], *rows["arena"]], [*logged["mtbench"], *logged["arena"]]
    which = {"mtbench": "mtbench rows", "arena": "arena run 1 rows"}
    for name, mine in rows.items():
        words = {"experiment": name, "rows": which[name]}
        _by_judge(table, "ablation.{experiment}.{judge}", judges, mine, logged[name], **words)
    _by_judge(table, "ablation.{judge}", judges, pooled, pooled_log)
    panel, log = panel_hits(pooled), len(pooled_log)
    undecided = len(pooled) - panel[1]
    remark = f"{undecided} more rows have no majority of three." if undecided else ""
    table.add("ablation.panel", share(*panel), remark, theirs=rate(panel_hits(pooled_log)), logged=log)
    gains = zip(("random", "worst"), _gains(judges, pooled), _gains(judges, pooled_log), strict=True)
    for name, gain, paper in gains:
        found = absent() if gain is None else made(gain, len(pooled))
        table.add(f"ablation.gain_vs_{name}", found, theirs=paper, logged=log)
    _unanimity(table, pooled, in_groups)
    ours, theirs = ([row for row in mine if row.unity is Unity.SPLIT] for mine in (pooled, in_groups))
    _by_judge(table, "split.by_judge.{judge}", judges, ours, theirs)
    _panel_gain(table, judges, ours, theirs)


def last_attempts(study: Study) -> list[LoggedEvaluation]:
    """The last logged attempt of each id in the log group that the paper's table 11 was made from."""
    group = [row for row in study.rows if row.source.matrix_group == "arena_r1" and row.labelled]
    return list({str(row.eval_id): row for row in sorted(group, key=lambda row: row.timestamp_utc or "")}.values())


def hits(judge: str, rows: Rows) -> tuple[int, int]:
    """How often a panel judge chose the human winner, and how often it chose at all."""
    choices = [(row.supreme_choices.get(judge), row.human_winner) for row in rows]
    matches = [choice == human for choice, human in choices if choice is not None]
    return sum(matches), len(matches)


def panel_hits(rows: Rows) -> tuple[int, int]:
    """The same for the majority of the three panel judges."""
    matches = [row.panel_choice == row.human_winner for row in rows if row.panel_choice is not None]
    return sum(matches), len(matches)


def rate(counted: tuple[int, int]) -> float | None:
    """A share in percent; None of nothing."""
    return 100 * counted[0] / counted[1] if counted[1] else None


def rates(judges: Sequence[str], rows: Rows) -> dict[str, float]:
    """The same of each judge that chose at all."""
    return {judge: one for judge in judges if (one := rate(hits(judge, rows))) is not None}


def _by_judge(table: FigureTable, key: str, judges: list[str], ours: Rows, theirs: Rows, **words: str) -> None:
    for judge in judges:
        paper = rate(hits(judge, theirs))
        table.add(key, share(*hits(judge, ours)), theirs=paper, judge=judge, logged=len(theirs), **words)


def _gains(judges: list[str], rows: Rows) -> Iterator[float | None]:
    """What the panel gains over the mean of its judges, and over the worst of them."""
    panel, each = rate(panel_hits(rows)), list(rates(judges, rows).values())
    for middle in (mean, min):
        yield None if panel is None or not each else panel - middle(each)


def _unanimity(table: FigureTable, pooled: Rows, in_groups: Rows) -> None:
    incomplete = sum(row.unity is Unity.INCOMPLETE for row in pooled)
    left_out = f"{incomplete} rows that lack a panel judge are in neither class." if incomplete else ""
    counted: list[tuple[int, int]] = []
    for kind, votes in ((Unity.UNANIMOUS, "3-0"), (Unity.SPLIT, "2-1")):
        counted.append(panel_hits([row for row in pooled if row.unity is kind]))
        theirs = panel_hits([row for row in in_groups if row.unity is kind])
        words = {"kind": kind, "votes": votes, "logged": theirs[1]}
        table.add("unanimity.{kind}", share(*counted[-1]), left_out, theirs=rate(theirs), **words)
    table.add("unanimity.fisher_p", fisher(counted[0], counted[1]))


def _panel_gain(table: FigureTable, judges: list[str], ours: Rows, theirs: Rows) -> None:
    panel, each = rate(panel_hits(ours)), rates(judges, ours)
    if panel is None or not each:
        table.add("split.panel_gain", absent())
        return
    most = max(each.values())
    paper_panel, paper = rate(panel_hits(theirs)), rates(judges, theirs)
    claude = next((one for judge, one in paper.items() if "claude" in judge), None)
    table.add(
        "split.panel_gain",
        made(panel - most, len(ours)),
        theirs=None if paper_panel is None or claude is None else paper_panel - claude,
        best=" and ".join(judge for judge, one in each.items() if one == most),
        rate=most,
        panel=panel,
        logged=len(theirs),
        top=f"{max(paper.values()):.1f}" if paper else "nothing",
    )
