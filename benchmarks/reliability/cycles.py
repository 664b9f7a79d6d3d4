"""Answers made anew each cycle: does the winner stay, and is it the answers or the judging that changes?"""

from collections import defaultdict
from collections.abc import Sequence

from metajudge.clashes.record import ClashRecord
from metajudge.stats.stability import (
    RankStability,
    WinnerStability,
    count_digests,
    kendall_across,
    split_variance,
    winner_stability,
    winner_stability_by,
)

from ..figure import Figure, Figures, absent, made, share
from .clash_records import counted_attempts
from .records import TIE

WITHOUT = "no category"


def cycle_figures(records: Sequence[ClashRecord]) -> Figures:
    """Every statistic over cycles, by id; nothing where there is one cycle only.

    Args:
        records: of all cycles and repeats; earlier attempts are left out by the declared rule.
    """
    chosen = [record for record, _ in counted_attempts(records)]
    if len({record.cycle for record in chosen}) < 2:
        return {}
    first = sorted(
        (record for record in chosen if record.repeat == 1), key=lambda record: (record.item_id, record.cycle)
    )
    winners: defaultdict[str, list[str | None]] = defaultdict(list)
    groups: dict[str, str] = {}
    for record in first:
        winners[record.item_id].append(record.winner or (TIE if record.status == "tie" else None))
        groups[record.item_id] = record.category or WITHOUT
    found = winner_stability(winners)
    text = "items with a verdict in at least two cycles: the same winner in all (a tie differs from a winner)"
    lost = f"{len(found.without)} items have fewer than two verdicts." if found.without else ""
    figures: Figures = {
        "cycles.stable": share(len(found.stable_prompts), found.n, text, lost),
        "cycles.by_category": made(
            {name: _counts(one) for name, one in winner_stability_by(winners, groups).items()},
            found.n,
            "the same by the items' category, such as their difficulty; counts",
        ),
        "cycles.kendall_tau": _tau(first),
        "cycles.digests": _digests(first),
    }
    return figures | _variance(chosen)


def _counts(found: WinnerStability) -> dict[str, int]:
    return {"stable": len(found.stable_prompts), "split": len(found.split_prompts), "without": len(found.without)}


def _tau(records: Sequence[ClashRecord]) -> Figure:
    text = "mean over items of Kendall's tau-b of the candidates' points between every two cycles"
    scores: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    lost = 0
    for record in records:
        complete = record.tally is not None and set(record.tally.scores) == {one.name for one in record.candidates}
        if complete and record.tally is not None:
            scores[record.item_id].append(dict(record.tally.scores))
        else:
            lost += 1
    taus: list[RankStability] = [kendall_across(cycles) for cycles in scores.values()]
    means = [one.mean for one in taus if one.mean is not None]
    if not means:
        return absent(text, "No item has two cycles that rank all candidates differently.")
    remark = f"{lost} evaluations did not rank all candidates and are left out." if lost else None
    return made(sum(means) / len(means), len(means), text, why=remark)


def _digests(records: Sequence[ClashRecord]) -> Figure:
    series: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    for record in records:
        for one in record.candidates:
            series[record.item_id, one.name].append(one.text_digest)
    found = count_digests(series)
    value = {"all_different": found.all_different, "repeated": found.repeated, "all_equal": found.all_equal}
    text = "series of answers (an item and a candidate) by whether a text digest comes again; counts"
    return made(value, found.answers, text)


def _variance(records: Sequence[ClashRecord]) -> Figures:
    text = (
        "variance within items of the outcome (1 where the alphabetically first candidate wins, 1/2 for a tie, 0 else; "
        "pairs only), split into generation (between cycles, beyond judging) and judgment (between repeats)"
    )
    values: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        names = sorted(one.name for one in record.candidates)
        if len(names) == 2 and record.status in ("ok", "tie"):
            outcome = 0.5 if record.winner is None else float(record.winner == names[0])
            values[record.item_id][record.cycle].append(outcome)
    found = split_variance({item: list(cycles.values()) for item, cycles in values.items()})
    if found.judgment is None and found.generation is None:
        return {"cycles.variance": absent(text, f"{found.reason}.")}
    value = {
        "generation": found.generation,
        "judgment": found.judgment,
        "generation_share": None if found.generation_share is None else 100 * found.generation_share,
    }
    remark = f"{found.reason}." if found.reason else None
    definition = f"{text}; {found.method}; share in percent"
    return {"cycles.variance": made(value, found.n, definition, why=remark)}
