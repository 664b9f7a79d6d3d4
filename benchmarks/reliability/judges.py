"""The judges of a panel: each by itself, smaller panels, unanimity, places, capability and kinship."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean

from metajudge.clashes.tally import why_no_unanimity
from metajudge.providers.families import family_of
from metajudge.stats.agreement import fleiss_kappa, krippendorff_alpha
from metajudge.stats.paired import sign_test
from metajudge.stats.panels import MOST_JUDGES, Unity, panel_ablation, unity

from .. import figure
from ..figure import NO_ROWS, Build, FigureTable
from .records import Evaluation


def add_judges(
    table: FigureTable, rows: Sequence[Evaluation], judges: Sequence[str], independent: int | None = None
) -> None:
    """All figures of the judges, over the first run.

    Args:
        independent: different models among them; None where each is one of its own.
    """
    for judge in judges:
        _one_judge(table, rows, judge)
    _ablation(table, rows, judges)
    _unanimity(table, rows, judges, independent)
    _agreement(table, rows, judges)
    _direction(table, rows)


def _one_judge(table: FigureTable, rows: Sequence[Evaluation], judge: str) -> None:
    from scipy.stats import binomtest

    votes = [(one, choice) for one in rows if (choice := one.votes.get(judge)) is not None]
    lost = len(rows) - len(votes)
    remark = f"{lost} evaluations have no first choice of this judge." if lost else ""
    table.add("judge.{judge}", figure.share_of(choice == one.human for one, choice in votes), remark, judge=judge)
    firsts = [choice == one.shown_first[judge] for one, choice in votes if judge in one.shown_first]
    found = table.add("position.{judge}", figure.share_of(firsts), judge=judge)
    if firsts:
        p = f"; binomial p = {binomtest(sum(firsts), len(firsts)).pvalue:.2g}"
        table.found[f"position.{judge}"] = found.model_copy(update={"definition": f"{found.definition}{p}"})
    table.add("family.{judge}", _family(votes, judge), family=family_of(judge), judge=judge)


def _family(votes: Sequence[tuple[Evaluation, str]], judge: str) -> Build:
    """Self-preference, as far as kinship can be read off names."""
    chose: list[tuple[bool, bool]] = []
    for one, choice in votes:
        kin = [side for side in one.sides if side in one.models and family_of(one.models[side]) == family_of(judge)]
        if len(kin) == 1 and set(one.sides) <= set(one.models):
            chose.append((choice == kin[0], one.human == kin[0]))
    if not chose:
        return figure.absent("No pair has exactly one response known to be of the judge's family.")
    return beside(("judge", "human"), chose)


def beside(names: tuple[str, str], chose: Sequence[tuple[bool, bool]]) -> Build:
    """Two shares of the same rows in percent, their difference in points, and the exact p of McNemar's test."""
    one, other = (100 * fmean(values) for values in zip(*chose, strict=True))
    p = figure.tested(figure.mcnemar(chose))("").value
    return figure.made({names[0]: one, names[1]: other, "difference": one - other, "p": p}, len(chose))


def _ablation(table: FigureTable, rows: Sequence[Evaluation], judges: Sequence[str]) -> None:
    too_many = f"{len(judges)} judges make {2 ** len(judges) - 1:,} panels; up to {MOST_JUDGES} are counted out."
    if not rows or len(judges) > MOST_JUDGES:
        for name in ("panels", "panels.by_size"):
            table.add(name, figure.absent(too_many if rows else NO_ROWS))
        return
    results = panel_ablation([one.votes for one in rows], [one.human for one in rows], judges)
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for result in results:
        if result.concordance is not None:
            shares[str(len(result.judges))].append(100 * result.concordance.estimate)
    panels = [
        {
            "judges": list(one.judges),
            **{name: getattr(one, name) for name in ("right", "wrong", "undecided")},
            "concordance": None if one.concordance is None else 100 * one.concordance.estimate,
            "interval": None if one.concordance is None else [100 * one.concordance.low, 100 * one.concordance.high],
        }
        for one in results
    ]
    by_size = {
        size: {"panels": len(found), "mean": fmean(found), "least": min(found), "most": max(found)}
        for size, found in shares.items()
    }
    table.add("panels", figure.made(panels, len(rows)))
    table.add("panels.by_size", figure.made(by_size, len(rows)))
    # Over all evaluations, undecided ones in the denominator, so that panel and judges stand on the same rows.
    whole = 100 * results[-1].of_all.estimate
    single = [100 * result.of_all.estimate for result in results if len(result.judges) == 1]
    for gain, word, of in (("random", "mean", fmean), ("worst", "least", min), ("best", "most", max)):
        build = figure.made(whole - of(single), len(rows))
        table.add("panels.{gain}", build, gain=f"gain_vs_{gain}", word=word, size=len(judges))


def _unanimity(table: FigureTable, rows: Sequence[Evaluation], judges: Sequence[str], independent: int | None) -> None:
    alone = why_no_unanimity(2, len(judges), len(judges) if independent is None else independent)
    if alone is not None:
        for name in (Unity.UNANIMOUS, Unity.SPLIT, "fisher_p"):
            table.add("unanimity.{missing}", figure.absent(f"{alone.capitalize()}."), missing=name)
        return
    kinds: defaultdict[Unity, list[Evaluation]] = defaultdict(list)
    for one in rows:
        kinds[unity([one.votes.get(judge) for judge in judges], len(judges))].append(one)
    incomplete = len(kinds[Unity.INCOMPLETE])
    remark = f"{incomplete} evaluations lack a judge's first choice and are in neither class." if incomplete else ""
    counts: list[tuple[int, int]] = []
    for kind in (Unity.UNANIMOUS, Unity.SPLIT):
        decided = [one for one in kinds[kind] if one.decided]
        counts.append((sum(one.right for one in decided), len(decided)))
        table.add("unanimity.{kind}", figure.share(*counts[-1]), remark, kind=kind)
    table.add("unanimity.fisher_p", figure.fisher(counts[0], counts[1]))


def _agreement(table: FigureTable, rows: Sequence[Evaluation], judges: Sequence[str]) -> None:
    votes = [(one, [one.votes.get(judge) for judge in judges]) for one in rows]
    sides = [[None if vote is None else one.side(vote) for vote in given] for one, given in votes]
    complete = [row for row in sides if None not in row] if len(judges) > 1 else []
    pairable = [row for row in sides if sum(vote is not None for vote in row) > 1]
    for name, of, given, why in (
        ("fleiss_kappa", fleiss_kappa, complete, "No evaluation has a complete panel of two or more."),
        ("krippendorff_alpha", krippendorff_alpha, pairable, "No evaluation has two first choices."),
    ):
        found = of(given) if given else None
        table.add(f"judges.{name}", figure.agreement(found, "" if found is None else f"; {found.method}", why))


def _direction(table: FigureTable, rows: Sequence[Evaluation]) -> None:
    """Do disagreements lean to the model that humans prefer elsewhere?"""
    placed = [one for one in rows if set(one.sides) <= set(one.models)]
    games = Counter[str](one.models[side] for one in placed for side in one.sides)
    wins = Counter[str](one.models[one.human] for one in placed)
    steps: list[float] = []
    for one in placed:
        if not one.decided or one.right:
            continue
        # The comparison itself must not reveal which of its models is the stronger.
        same = [other for other in placed if other.cluster == one.cluster]
        rates = {}
        for side in one.sides:
            model = one.models[side]
            played = games[model] - sum(model == other.models[s] for other in same for s in other.sides)
            won = wins[model] - sum(model == other.models[other.human] for other in same)
            if played:
                rates[side] = won / played
        if len(rates) == 2 and one.winner is not None:
            steps.append(rates[one.winner] - rates[one.human])
    why = "No disagreement is between models with other comparisons in these data." if placed else NO_ROWS
    value = p = figure.absent(why)
    if steps:
        test = sign_test(steps)
        counts = {"stronger": test.favour_first, "weaker": test.favour_second, "equal": test.tied}
        value, p = figure.made(counts, len(steps)), figure.made(test.p_value, len(steps))
    table.add("capability.direction", value)
    table.add("capability.sign_p", p)
