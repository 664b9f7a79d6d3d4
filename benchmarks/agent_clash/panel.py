"""The panel and its judges: ablation (table 11), unanimity (table 12), split decisions."""

from collections.abc import Sequence
from statistics import mean

from metajudge.stats.panels import Unity

from ..figure import Figure, Figures, absent, fisher
from .figures import PUBLISHED, Explanation, compare, compared, share
from .records import LoggedEvaluation, Study

TWICE = "of the log groups mtbench and arena_r1 with three panel judges, where repeated attempts count as evaluations"


def figures(study: Study) -> Figures:
    """All figures of the panel, by id."""
    rows = {"mtbench": study.judged("mtbench"), "arena": study.judged("arena", 1)}
    pooled = [*rows["mtbench"], *rows["arena"]]
    printed = {name.removeprefix("ablation.mtbench.") for name in PUBLISHED if name.startswith("ablation.mtbench.")}
    judges = sorted({*study.panel, *printed})
    logged = {"mtbench": rows["mtbench"], "arena": last_attempts(study)}
    in_groups = [
        row
        for row in study.rows
        if row.source.matrix_group in ("mtbench", "arena_r1") and row.labelled and row.unity is not Unity.INCOMPLETE
    ]
    return {**_ablation(judges, rows, logged), **_unanimity(pooled, in_groups), **_split(judges, pooled, in_groups)}


def last_attempts(study: Study) -> list[LoggedEvaluation]:
    """The last logged attempt of each id in the log group that the paper's table 11 was made from."""
    last: dict[str, LoggedEvaluation] = {}
    group = [row for row in study.rows if row.source.matrix_group == "arena_r1" and row.labelled]
    for row in sorted(group, key=lambda row: row.timestamp_utc or ""):
        last[str(row.eval_id)] = row
    return list(last.values())


def hits(judge: str, rows: Sequence[LoggedEvaluation]) -> tuple[int, int]:
    """How often a panel judge chose the human winner, and how often it chose at all."""
    choices = [(row.supreme_choices.get(judge), row.human_winner) for row in rows]
    matches = [choice == human for choice, human in choices if choice is not None]
    return sum(matches), len(matches)


def panel_hits(rows: Sequence[LoggedEvaluation]) -> tuple[int, int]:
    """The same for the majority of the three panel judges."""
    matches = [row.panel_choice == row.human_winner for row in rows if row.panel_choice is not None]
    return sum(matches), len(matches)


def rate(counted: tuple[int, int]) -> float | None:
    """A share in percent; None of nothing."""
    return 100 * counted[0] / counted[1] if counted[1] else None


def _ablation(
    judges: list[str], rows: dict[str, list[LoggedEvaluation]], logged: dict[str, list[LoggedEvaluation]]
) -> Figures:
    found: Figures = {}
    which = {"mtbench": "mtbench rows with a verdict", "arena": "arena run 1 rows with a verdict"}
    how = "that over {} rows: for arena the last attempt of each id in log group arena_r1, not the published rows"
    for experiment, mine in rows.items():
        for judge in judges:
            name = f"ablation.{experiment}.{judge}"
            counted = hits(judge, mine)
            explained = Explanation(
                how=how.format(len(logged[experiment])), value=rate(hits(judge, logged[experiment]))
            )
            found[name] = share(*counted, f"{which[experiment]}: {judge} ranked the human winner first", explained)
    pooled, pooled_log = [*rows["mtbench"], *rows["arena"]], [*logged["mtbench"], *logged["arena"]]
    how = how.format(len(pooled_log))
    both = "mtbench and arena run 1 rows with a verdict"
    for judge in judges:
        name = f"ablation.{judge}"
        explained = Explanation(how=how, value=rate(hits(judge, pooled_log)))
        found[name] = share(*hits(judge, pooled), f"{both}: {judge} ranked the human winner first", explained)
    panel = panel_hits(pooled)
    undecided = len(pooled) - panel[1]
    remark = f"{undecided} more rows have no majority of three." if undecided else ""
    text = f"{both}: at least two of the three panel judges ranked the human winner first"
    explained = Explanation(how=how, value=rate(panel_hits(pooled_log)))
    found["ablation.panel"] = share(*panel, text, explained, remark)
    return found | _gains(judges, pooled, pooled_log, how)


def _gains(judges: list[str], pooled: list[LoggedEvaluation], pooled_log: list[LoggedEvaluation], how: str) -> Figures:
    texts = {
        "ablation.gain_vs_random": "ablation.panel less the mean of the panel judges' pooled shares, in points",
        "ablation.gain_vs_worst": "ablation.panel less the least of the panel judges' pooled shares, in points",
    }
    ours, theirs = _gain(judges, pooled), _gain(judges, pooled_log)
    if ours is None:
        return {name: absent(text) for name, text in texts.items()}
    explained = theirs or (None, None)
    return {
        name: compare(value, len(pooled), text, explanation=Explanation(how=how, value=published))
        for (name, text), value, published in zip(texts.items(), ours, explained, strict=True)
    }


def _gain(judges: list[str], rows: list[LoggedEvaluation]) -> tuple[float, float] | None:
    panel = rate(panel_hits(rows))
    shares = [one for judge in judges if (one := rate(hits(judge, rows))) is not None]
    return None if panel is None or not shares else (panel - mean(shares), panel - min(shares))


def _unanimity(pooled: list[LoggedEvaluation], in_groups: list[LoggedEvaluation]) -> Figures:
    found: Figures = {}
    tables: dict[Unity, tuple[int, int]] = {}
    incomplete = sum(row.unity is Unity.INCOMPLETE for row in pooled)
    left_out = f"{incomplete} rows that lack a panel judge are in neither class." if incomplete else ""
    for kind, words in ((Unity.UNANIMOUS, "3-0"), (Unity.SPLIT, "2-1")):
        mine = [row for row in pooled if row.unity is kind]
        tables[kind] = panel_hits(mine)
        theirs = panel_hits([row for row in in_groups if row.unity is kind])
        text = f"mtbench and arena run 1 rows whose three panel judges are {words}: their majority is the human winner"
        explained = Explanation(how=f"that over {theirs[1]} rows {TWICE}", value=rate(theirs))
        found[f"unanimity.{kind}"] = share(*tables[kind], text, explained, left_out)
    found["unanimity.fisher_p"] = _fisher(tables)
    return found


def _fisher(tables: dict[Unity, tuple[int, int]]) -> Figure:
    definition = (
        "two-sided p of Fisher's exact test of match with the human by unanimous or split panel, mtbench and "
        "arena run 1 rows with a verdict and three panel judges"
    )
    return compared(fisher(tables[Unity.UNANIMOUS], tables[Unity.SPLIT], definition))


def _split(judges: list[str], pooled: list[LoggedEvaluation], in_groups: list[LoggedEvaluation]) -> Figures:
    ours = [row for row in pooled if row.unity is Unity.SPLIT]
    theirs = [row for row in in_groups if row.unity is Unity.SPLIT]
    found: Figures = {}
    which = "mtbench and arena run 1 rows with a 2-1 panel"
    how = f"that over {len(theirs)} rows {TWICE}"
    for judge in judges:
        name = f"split.by_judge.{judge}"
        explained = Explanation(how=how, value=rate(hits(judge, theirs)))
        found[name] = share(*hits(judge, ours), f"{which}: {judge} ranked the human winner first", explained)
    return found | {"split.panel_gain": _panel_gain(judges, ours, theirs, which)}


def _panel_gain(judges: list[str], ours: list[LoggedEvaluation], theirs: list[LoggedEvaluation], which: str) -> Figure:
    definition = (
        f"{which}: share of majorities that are the human winner, less that of the best single judge, in points"
    )
    rates = {judge: one for judge in judges if (one := rate(hits(judge, ours))) is not None}
    panel = rate(panel_hits(ours))
    if panel is None or not rates:
        return absent(definition)
    best = [judge for judge, one in rates.items() if one == max(rates.values())]
    remark = f"Best single judge: {' and '.join(best)} with {max(rates.values()):.1f}; the panel has {panel:.1f}."
    paper_panel, paper_rates = rate(panel_hits(theirs)), {judge: rate(hits(judge, theirs)) for judge in judges}
    claude = next((one for judge, one in paper_rates.items() if "claude" in judge), None)
    top = max((one for one in paper_rates.values() if one is not None), default=None)
    explained = Explanation(
        how=f"the gain over Claude Opus 4.5 over {len(theirs)} rows {TWICE}; the best judge of those rows has "
        f"{'nothing' if top is None else f'{top:.1f}'} itself",
        value=None if paper_panel is None or claude is None else paper_panel - claude,
    )
    return compare(panel - max(rates.values()), len(ours), definition, None, explained, remark)
