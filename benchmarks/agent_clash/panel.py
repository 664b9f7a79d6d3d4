"""The panel and its judges (tables 11 and 12), and the record: candidates' own votes, cycles, the audit of the log."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean
from typing import Any, NamedTuple

from metajudge.stats.panels import Unity
from metajudge.stats.stability import repetition, repetition_by

from .. import figure
from ..figure import FigureTable
from .figures import printed
from .records import PANEL_SIZE, LoggedEvaluation, Study, dollars

Rows = Sequence[LoggedEvaluation]


def add_panel(table: FigureTable, study: Study) -> None:
    """All figures of the panel."""
    rows = {"mtbench": study.judged("mtbench"), "arena": study.judged("arena", 1)}
    judges = sorted({*study.panel, *printed("ablation.mtbench.")})
    # The paper's table 11 was made from the last logged attempt of each id in one group of the log.
    group = [row for row in study.rows if row.source.matrix_group == "arena_r1" and row.labelled]
    last = {str(row.eval_id): row for row in sorted(group, key=lambda row: row.timestamp_utc or "")}
    logged = {"mtbench": rows["mtbench"], "arena": list(last.values())}
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
    table.add("ablation.panel", figure.share(*panel), remark, theirs=rate(panel_hits(pooled_log)), logged=log)
    gains = zip(("random", "worst"), _gains(judges, pooled), _gains(judges, pooled_log), strict=True)
    for name, gain, paper in gains:
        found = figure.absent() if gain is None else figure.made(gain, len(pooled))
        table.add(f"ablation.gain_vs_{name}", found, theirs=paper, logged=log)
    _unanimity(table, pooled, in_groups)
    ours, theirs = ([row for row in mine if row.unity is Unity.SPLIT] for mine in (pooled, in_groups))
    _by_judge(table, "split.by_judge.{judge}", judges, ours, theirs)
    _panel_gain(table, judges, ours, theirs)


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
        table.add(key, figure.share(*hits(judge, ours)), theirs=paper, judge=judge, logged=len(theirs), **words)


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
        table.add("unanimity.{kind}", figure.share(*counted[-1]), left_out, theirs=rate(theirs), **words)
    table.add("unanimity.fisher_p", figure.fisher(counted[0], counted[1]))


def _panel_gain(table: FigureTable, judges: list[str], ours: Rows, theirs: Rows) -> None:
    panel, each = rate(panel_hits(ours)), rates(judges, ours)
    if panel is None or not each:
        table.add("split.panel_gain", figure.absent())
        return
    most, paper_panel, paper = max(each.values()), rate(panel_hits(theirs)), rates(judges, theirs)
    best = " and ".join(judge for judge, one in each.items() if one == most)
    claude = next((one for judge, one in paper.items() if "claude" in judge), None)
    gain = None if paper_panel is None or claude is None else paper_panel - claude
    top = f"{max(paper.values()):.1f}" if paper else "nothing"
    words = {"best": best, "rate": most, "panel": panel, "logged": len(theirs), "top": top}
    table.add("split.panel_gain", figure.made(panel - most, len(ours)), theirs=gain, **words)


class SelfVote(NamedTuple):
    """One candidate's vote on a comparison with itself.

    Attributes:
        first: whether it ranked itself first, by the stored label map.
        misread: the same where label A0 is taken for the winner of the final ranking.
    """

    model: str
    first: bool
    misread: bool
    expected: bool


def add_self_votes(table: FigureTable, study: Study) -> None:
    """Self-preference: candidates that judged their own answer without knowing it, in logged and in published rows."""
    logged = "logged mtbench and arena rows, unpublished attempts included"
    published = (row for row in study.published if row.experiment in ("mtbench", "arena"))
    for prefix, rows, which in (
        ("self", study.logged, logged),
        ("self_published", published, "published mtbench and arena rows"),
    ):
        votes = list(self_votes(rows))
        misread = 100 * sum(vote.misread for vote in votes) / max(1, len(votes))
        words = {"prefix": prefix, "which": which}
        table.add("{prefix}.first", figure.share_of(vote.first for vote in votes), theirs=misread, **words)
        table.add("{prefix}.expected", figure.share_of(vote.expected for vote in votes), **words)
        groups: defaultdict[str, list[SelfVote]] = defaultdict(list)
        for vote in votes:
            groups[vote.model].append(vote)
        models = groups.keys() | printed(f"{prefix}.by_model.")
        for model in sorted(models, key=lambda model: (-len(groups.get(model, [])), model)):
            _of_model(table, groups.get(model, []), {**words, "model": model})


def _of_model(table: FigureTable, votes: list[SelfVote], words: dict[str, str]) -> None:
    name, n = "{prefix}.by_model.{model}", len(votes)
    if not votes:
        table.add(name, figure.absent("This model judged no comparison of its own in these data."), **words)
        return
    readings = ([v.first for v in votes], [v.expected for v in votes], [v.misread for v in votes])
    first, expected, misread = (100 * sum(one) / n for one in readings)
    value = {"first": first, "expected": expected, "difference": first - expected, "n": n}
    theirs, ends = {"difference": misread - expected, "n": n}, figure.share_of(readings[0])("").ends
    table.add(name, figure.of_rows(value, n, ends), theirs=theirs, misread=misread, **words)


def self_votes(rows: Iterable[LoggedEvaluation]) -> Iterable[SelfVote]:
    """Every vote of a candidate on its own answer, where a human's choice is known and the vote names a model."""
    for row in rows:
        for vote in row.of_role("candidate"):
            own = next((model for model in row.pair if model in (vote.judge, vote.model)), None)
            choice = row.choice(vote)
            if own is not None and choice is not None and row.labelled:
                won = vote.first_label == row.first_shown
                misread = row.ai_winner is not None and won == (own == row.ai_winner)
                yield SelfVote(own, choice == own, misread, row.human_winner == own)


def add_cycles(table: FigureTable, study: Study) -> None:
    """The end-to-end cycles of section 12: answers made anew, winners compared."""
    rows, every = study.valid("e2e"), study.of("e2e")
    winners: defaultdict[str, list[str | None]] = defaultdict(list)
    digests: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    groups: dict[str, str] = {}
    for row in rows:
        prompt = str(row.eval_id)
        winners[prompt].append(row.ai_winner)
        if row.e2e is not None:
            groups[prompt] = row.e2e.difficulty
            digests[prompt, "a"].append(row.e2e.hash_a)
            digests[prompt, "b"].append(row.e2e.hash_b)
    found, answers = repetition(winners), repetition(digests) if digests else None
    tied = sorted({str(row.eval_id) for row in rows if row.weighted_tie} & {*found.repeated, *found.different})
    remark = f"Of the split prompts, {', '.join(tied)} have a verdict that is an exact tie, settled by label order."
    table.add("e2e.stable", figure.share(len(found.equal), found.n), remark if tied else "")
    table.add("e2e.split", figure.share(found.n_changing, found.n))
    by_group = repetition_by({name: said for name, said in winners.items() if name in groups}, groups)
    value: dict[str, Any] = {}
    for name, one in by_group.items():
        stable, split = len(one.equal), one.n_changing
        if one.n:
            value[name] = {"stable": stable, "split": split, "n": one.n, "share_stable": 100 * stable / one.n}
    n = sum(one["n"] for one in value.values())
    words = {} if answers is None else {"different": len(answers.different), "answers": answers.n}
    table.add("e2e.by_difficulty", figure.of_rows(value, n), **words)
    table.add("e2e.cost", figure.of_rows(dollars(every), len(every)))


def add_audit(table: FigureTable, study: Study) -> None:
    """The audit of the record: votes, lost judges, ties, rankings, attempts, places, cost."""
    rows = [row for row in study.published if row.experiment in ("mtbench", "arena")]
    verdicts = [row for row in rows if row.valid]
    few = [row.row_id for row in rows if sum(one is not None for one in row.supreme_choices.values()) < PANEL_SIZE]
    ties = [row.row_id for row in study.published if row.weighted_tie]
    bad = [row.row_id for row in study.published if not row.well_formed]
    table.add("audit.candidate_votes", figure.count(sum(bool(r.of_role("candidate")) for r in verdicts), len(verdicts)))
    table.add("audit.fewer_than_panel", figure.count(len(few), len(rows)), size=PANEL_SIZE, names=_names(few))
    table.add("audit.ties", figure.count(len(ties), len(study.published)), names=_names(ties))
    table.add("audit.invalid_rankings", figure.count(len(bad), len(study.published)), _names(bad).strip())
    unpublished = sum(not row.published for row in study.rows)
    table.add("audit.unpublished_attempts", figure.count(unpublished, len(study.rows)))
    firsts: defaultdict[str, list[bool]] = defaultdict(list)
    for row in study.rows:
        for vote in row.judges:
            if row.choice(vote) is not None:
                firsts[vote.judge].append(vote.first_label == row.first_shown)
    for judge in sorted(firsts):
        table.add("audit.position.{judge}", figure.share_of(firsts[judge]), judge=judge)
    table.add("cost.total", figure.of_rows(dollars(rows), len(rows)))


def _names(ids: list[str]) -> str:
    return f"{', '.join(ids)}. " if ids else ""
