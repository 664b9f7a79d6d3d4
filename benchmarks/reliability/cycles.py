"""Answers made anew each cycle: does the winner stay, and is it the answers or the judging that changes?"""

from collections import defaultdict
from collections.abc import Sequence

from metajudge.clashes.record import ClashRecord
from metajudge.stats.stability import (
    count_digests,
    kendall_across,
    split_variance,
    winner_stability,
    winner_stability_by,
)

from ..figure import Figures, FigureTable, absent, made, share
from .clash_records import counted_attempts
from .judges import beside
from .records import TIE


def self_figures(records: Sequence[ClashRecord]) -> Figures:
    """How often a candidate put its own answer first, and how often the panel did; nothing without candidates' votes.

    Args:
        records: earlier attempts are left out by the declared rule.
    """
    chose: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for record, _ in counted_attempts(records):
        for vote in record.votes:
            if vote.own is not None and vote.own_first is not None and record.status == "ok":
                chose[vote.own].append((vote.own_first, record.winner == vote.own))
    table = FigureTable(__package__)
    if chose:
        every = [one for pairs in chose.values() for one in pairs]
        for of, who, pairs in (
            ("first", "every candidate", every),
            *((f"by_model.{model}", model, pairs) for model, pairs in sorted(chose.items())),
        ):
            table.add("self.{of}", beside(("first", "panel"), pairs), of=of, who=who)
    return table.found


def cycle_figures(records: Sequence[ClashRecord]) -> Figures:
    """Every statistic over cycles, by id; nothing where there is one cycle only.

    Args:
        records: of all cycles and repeats; earlier attempts are left out by the declared rule.
    """
    chosen, table = [record for record, _ in counted_attempts(records)], FigureTable(__package__)
    if len({record.cycle for record in chosen}) < 2:
        return {}
    first = sorted(
        (record for record in chosen if record.repeat == 1), key=lambda record: (record.item_id, record.cycle)
    )
    winners: defaultdict[str, list[str | None]] = defaultdict(list)
    groups: dict[str, str] = {}
    for record in first:
        winners[record.item_id].append(record.winner or (TIE if record.status == "tie" else None))
        groups[record.item_id] = record.category or "no category"
    found = winner_stability(winners)
    lost = f"{len(found.without)} items have fewer than two verdicts." if found.without else ""
    table.add("cycles.stable", share(len(found.stable_prompts), found.n), lost)
    by_category = {
        name: {"stable": len(one.stable_prompts), "split": len(one.split_prompts), "without": len(one.without)}
        for name, one in winner_stability_by(winners, groups).items()
    }
    table.add("cycles.by_category", made(by_category, found.n))
    _tau(table, first)
    series: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    for record in first:
        for answer in record.candidates:
            series[record.item_id, answer.name].append(answer.text_digest)
    texts = count_digests(series)
    value = {"all_different": texts.all_different, "repeated": texts.repeated, "all_equal": texts.all_equal}
    table.add("cycles.digests", made(value, texts.answers))
    _variance(table, chosen)
    return table.found


def _tau(table: FigureTable, records: Sequence[ClashRecord]) -> None:
    scores: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for record in records:
        if record.tally is not None and set(record.tally.scores) == {one.name for one in record.candidates}:
            scores[record.item_id].append(dict(record.tally.scores))
    lost = len(records) - sum(map(len, scores.values()))
    means = [one.mean for one in map(kendall_across, scores.values()) if one.mean is not None]
    found = absent("No item has two cycles that rank all candidates differently.")
    if means:
        found = made(sum(means) / len(means), len(means))
    remark = f"{lost} evaluations did not rank all candidates and are left out." if lost else ""
    table.add("cycles.kendall_tau", found, remark)


def _variance(table: FigureTable, records: Sequence[ClashRecord]) -> None:
    values: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        names = sorted(one.name for one in record.candidates)
        if len(names) == 2 and record.status in ("ok", "tie"):
            outcome = 0.5 if record.winner is None else float(record.winner == names[0])
            values[record.item_id][record.cycle].append(outcome)
    found = split_variance({item: list(cycles.values()) for item, cycles in values.items()})
    if found.judgment is None and found.generation is None:
        table.add("cycles.variance", absent(f"{found.reason}."))
        return
    share_of_it = None if found.generation_share is None else 100 * found.generation_share
    value = {"generation": found.generation, "judgment": found.judgment, "generation_share": share_of_it}
    suffix = f"; {found.method}; share in percent"
    table.add("cycles.variance", made(value, found.n, suffix=suffix), f"{found.reason}." if found.reason else "")
