"""The reliability of a panel, from its recorded evaluations: concordance, repetition, third run, answers made anew."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from statistics import fmean
from typing import get_args

from metajudge.clashes.concordance import first_shown
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.tally import why_no_unanimity
from metajudge.errors import InputError
from metajudge.judging.blinding import blinding_totals
from metajudge.stats.agreement import brennan_prediger
from metajudge.stats.stability import (
    StabilityClass,
    ThirdRun,
    choose_third_run,
    kendall_across,
    repetition,
    repetition_by,
    retest,
    split_variance,
    stability_class,
)

from .. import figure
from ..figure import SEED, Figures, FigureTable
from .judges import add_judges, beside
from .records import TIE, Evaluation, Status, by_item, counted_attempts, evaluations_of


@dataclass(frozen=True, slots=True)
class ReliabilityFindings:
    """Figures by id, sentences about the data, and where they come from."""

    figures: Figures
    summary: tuple[str, ...]
    provenance: dict[str, str]


def analyse_records(
    records: Sequence[ClashRecord], runs: int | None = None, third: ThirdRun | None = None
) -> ReliabilityFindings:
    """Analyses the records of one panel.

    Args:
        runs: full ones; None reads them off the records: a run of fewer items than the first is no full one.

    Raises:
        InputError: no record is a labelled pair and there is neither a second cycle nor a self-evaluation, or the
            records are of different panels.
    """
    recorded = evaluations_of(records)
    unlabelled = cycle_figures(records) | self_figures(records)
    if not recorded.evaluations and not unlabelled:
        left = ", ".join(f"{n} {why}" for why, n in recorded.left_out.most_common()) or "no records"
        raise InputError(f"nothing to compare with a human: {left}; concordance needs pairs whose label names a winner")
    sizes = Counter(one.run for one in recorded.evaluations)
    repeats = runs or max((run for run in sizes if sizes[run] == sizes[1]), default=1)
    figures: Figures = {}
    if recorded.evaluations:  # answers made anew need no human label to see whether the winner stays
        figures = analyse(
            recorded.evaluations, recorded.panel, repeats=repeats, third=third, independent=recorded.independent
        )
    blinded = blinding_totals(record.blinding for record in recorded.counting).sentence()
    alone = why_no_unanimity(2, len(recorded.panel), recorded.independent)
    unity = f"No verdict is called unanimous: {alone}." if alone is not None else ""
    firsts = [f"Careful: {one.sentence()}." for one in first_shown(recorded.counting) if one.reported]
    return ReliabilityFindings(
        figures=figures | unlabelled,
        summary=(
            *_summary(len(recorded.evaluations), recorded.left_out, recorded.panel, repeats, third),
            *(one for one in (blinded, unity, *firsts) if one),
        ),
        provenance={
            "panel": ", ".join(recorded.panel),
            "attempts": str(recorded.attempts),
            "seed": ", ".join(sorted({str(record.seed) for record in records})),
            "prompts": ", ".join(sorted({f"{k} {v[:12]}" for r in records for k, v in r.prompt_digests.items()})),
            "made with": ", ".join(sorted({record.metajudge_version for record in records})),
        },
    )


def _summary(
    n: int, left_out: Counter[str], panel: Sequence[str], repeats: int, third: ThirdRun | None
) -> tuple[str, ...]:
    if not n:
        return (f"No evaluation by {', '.join(panel)} has a human's choice beside it: what needs none is here.",)
    sentences = [f"{n} evaluations by {len(panel)} judges ({', '.join(panel)}); full runs: {repeats}."]
    if third is not None:
        sentences.append(f"A targeted run took {len(third.chosen)} items: {third.rule}.")
    if left_out:
        sentences.append("Left out: " + ", ".join(f"{count} {why}" for why, count in left_out.most_common()) + ".")
    return tuple(sentences)


def analyse(
    evaluations: Sequence[Evaluation],
    judges: Sequence[str],
    *,
    repeats: int,
    third: ThirdRun | None = None,
    independent: int | None = None,
) -> Figures:
    """Every statistic of a panel's reliability, by id.

    Args:
        evaluations: of all runs, one an item and run.
        judges: the configured panel, lost judges included.
        repeats: full runs; a run of a higher number is the targeted third.
        third: how its items were chosen.
        independent: different models among the judges; None where each is one of its own.

    Raises:
        InputError: an item is evaluated twice in one run.
    """
    for (item, run), times in Counter((one.item, one.run) for one in evaluations).items():
        if times > 1:
            raise InputError(f"item {item} is evaluated twice in run {run}: an evaluation counts once")
    table, full = FigureTable(__package__), [one for one in evaluations if one.run <= repeats]
    runs = sorted({one.run for one in full})
    for run in runs:
        _concordance(table, run, [one for one in full if one.run == run])
    decided = [one for one in full if one.decided]
    clusters = [one.cluster for one in decided]
    few = "There are fewer than two different comparisons with a verdict."
    combined = figure.resampled_share([one.right for one in decided], clusters, few)
    table.add("combined.clustered", combined, seed=SEED, size=len(set(clusters)), n=len(decided))
    for first, second in combinations(runs, 2):
        _retest(table, full, first, second)
    _stability(table, full)
    _third_run(table, [one for one in evaluations if one.run > repeats], third)
    _majority(table, evaluations)
    add_judges(table, [one for one in full if one.run == 1], judges, independent)
    return table.found


def third_run(evaluations: Sequence[Evaluation], size: int, *, seed: int = SEED) -> ThirdRun:
    """Chooses the items of a targeted third run from the runs so far; lots are drawn with the seed.

    Confidence is the mean of the runs' margins; a run without a verdict has none.
    """
    items = by_item(evaluations)
    classes = {item: stability_class([one.outcome for one in runs]) for item, runs in items.items()}
    margins = {item: [one.confidence for one in runs if one.confidence is not None] for item, runs in items.items()}
    return choose_third_run(
        classes, {item: fmean(known) if known else None for item, known in margins.items()}, size, Random(seed)
    )


def _concordance(table: FigureTable, run: int, rows: list[Evaluation]) -> None:
    n, decided = len(rows), [one for one in rows if one.decided]
    right = sum(one.right for one in decided)
    statuses = Counter(one.status for one in rows)
    costs = [one.cost_usd for one in rows if one.cost_usd is not None]
    sides = [(one.side(one.human), one.side(one.winner or "")) for one in decided]
    table.add("run{run}.n", figure.count(n, n), run=run)
    table.add("run{run}.status", figure.made({name: statuses[name] for name in get_args(Status)}, n), run=run)
    table.add("run{run}.concordance", figure.share(right, len(decided)), run=run)
    table.add("run{run}.concordance_of_all", figure.share(right, n), run=run)
    table.add("run{run}.kappa", figure.kappa(sides), run=run)
    uniform, cost = figure.absent(), figure.absent("No evaluation has a known cost.")
    if sides:
        found = brennan_prediger([one for one, _ in sides], [other for _, other in sides], ("A", "B"))
        uniform = figure.made(found.estimate, found.n, found.ends)
    if costs:
        cost = figure.made(sum(costs), len(costs), suffix=", evaluations of known cost")
    table.add("run{run}.kappa_uniform", uniform, run=run)
    unknown = n - len(costs)
    table.add("run{run}.cost", cost, f"{unknown} evaluations have no known cost." if unknown else "", run=run)


def _retest(table: FigureTable, rows: list[Evaluation], first: int, second: int) -> None:
    items = {item: {one.run: one for one in runs} for item, runs in by_item(rows).items()}
    pairs = [(runs[first], runs[second]) for runs in items.values() if first in runs and second in runs]
    found = retest([one.label for one, _ in pairs], [other.label for _, other in pairs])
    name, words = "retest.run{first}_run{second}", {"first": first, "second": second}
    lost = f"{found.without} items lack a verdict in one of the runs." if found.without else ""
    labels = [(one.label, other.label) for one, other in pairs if one.label is not None and other.label is not None]
    decided = [(one.right, other.right) for one, other in pairs if one.decided and other.decided]
    names = ("both_right", f"only_run{first}_right", f"only_run{second}_right", "neither_right")
    table.add(f"{name}.same", figure.share_of(one == other for one, other in labels), lost, **words)
    table.add(f"{name}.kappa_verdict", figure.kappa(labels), **words)
    table.add(f"{name}.kappa_match", figure.kappa(decided), **words)
    table.add(f"{name}.matrix", figure.made(figure.crossed(decided, names), len(decided)), **words)
    table.add(f"{name}.mcnemar_exact", figure.tested(figure.mcnemar(decided)), **words)


def _stability(table: FigureTable, rows: list[Evaluation]) -> None:
    classes = Counter(stability_class([one.outcome for one in runs]) for runs in by_item(rows).values())
    table.add("stability.classes", figure.made({str(kind): classes[kind] for kind in StabilityClass}, classes.total()))
    figure.add_decomposition(table, classes, "No item is stably wrong or unstable.")


def _third_run(table: FigureTable, rows: list[Evaluation], third: ThirdRun | None) -> None:
    if third is None:
        for name in ("still_wrong", "still_wrong_p", "unstable", "lowconf"):
            table.add("third.{missing}", figure.absent("There was no such run."), missing=name)
        return
    decided = {one.item: one.right for one in rows if one.decided}
    undecided = len(rows) - len(decided)
    lost = f"{undecided} of its {len(rows)} evaluations came to no winner and are in none of the shares."
    wrong, unstable, low = (
        [decided[item] for item in chosen if item in decided]
        for chosen in (third.stable_wrong, third.unstable, third.low_confidence)
    )
    chosen = {name: len(getattr(third, name)) for name in ("stable_wrong", "unstable", "low_confidence")}
    chosen |= {"drawn_among_equal_confidence": third.drawn, "left_out_at_that_confidence": len(third.left_out)}
    table.add("third.chosen", figure.made(chosen, len(third.chosen)), lost if undecided else "", rule=third.rule)
    figure.add_third_run(table, "third", wrong, unstable, low)


def _majority(table: FigureTable, rows: Sequence[Evaluation]) -> None:
    items = [[one.right for one in runs if one.decided] for runs in by_item(rows).values()]
    known = [fmean(matches) for matches in items if matches]
    tied, without = known.count(0.5), len(items) - len(known)
    right = sum(share > 0.5 for share in known)
    remarks = [f"{tied} items have as many runs for as against and are left out"] * bool(tied)
    remarks += [f"{without} items have no decided run"] * bool(without)
    table.add(
        "majority.concordance", figure.share(right, len(known) - tied), f"{'. '.join(remarks)}." if remarks else ""
    )


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
    table, every = FigureTable(__package__), [one for pairs in chose.values() for one in pairs]
    each = [(f"by_model.{model}", model, pairs) for model, pairs in sorted(chose.items())]
    for of, who, pairs in [("first", "every candidate", every), *each] if every else ():
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
    found = repetition(winners)
    lost = f"{len(found.without)} items have fewer than two verdicts." if found.without else ""
    table.add("cycles.stable", figure.share(len(found.equal), found.n), lost)
    by_category = {
        name: {"stable": len(one.equal), "split": one.n_changing, "without": len(one.without)}
        for name, one in repetition_by(winners, groups).items()
    }
    table.add("cycles.by_category", figure.made(by_category, found.n))
    _tau(table, first)
    series: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    for record in first:
        for answer in record.candidates:
            series[record.item_id, answer.name].append(answer.text_digest)
    texts = repetition(series)
    kinds = {"all_different": texts.different, "repeated": texts.repeated, "all_equal": texts.equal}
    table.add("cycles.digests", figure.made({kind: len(names) for kind, names in kinds.items()}, texts.n))
    _variance(table, chosen)
    return table.found


def _tau(table: FigureTable, records: Sequence[ClashRecord]) -> None:
    scores: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for record in records:
        if record.tally is not None and set(record.tally.scores) == {one.name for one in record.candidates}:
            scores[record.item_id].append(dict(record.tally.scores))
    lost = len(records) - sum(map(len, scores.values()))
    means = [one for one in map(kendall_across, scores.values()) if one is not None]
    none = figure.absent("No item has two cycles that rank all candidates differently.")
    found = figure.made(sum(means) / len(means), len(means)) if means else none
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
    share_of_it = None if found.generation_share is None else 100 * found.generation_share
    value = {"generation": found.generation, "judgment": found.judgment, "generation_share": share_of_it}
    why = f"{found.reason}." if found.reason else ""
    none = found.judgment is None and found.generation is None
    build = figure.absent(why) if none else figure.made(value, found.n, suffix=f"; {found.method}; share in percent")
    table.add("cycles.variance", build, why)
