"""The judges of a panel: each by itself, smaller panels, unanimity, places, capability and kinship."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean

from metajudge.clashes.tally import why_no_unanimity
from metajudge.providers.families import family_of
from metajudge.stats.agreement import Agreement, fleiss_kappa, krippendorff_alpha, landis_koch
from metajudge.stats.intervals import binomial_test
from metajudge.stats.paired import mcnemar_exact, sign_test
from metajudge.stats.panels import MOST_JUDGES, PanelResult, Unity, panel_ablation, unity

from ..figure import NO_ROWS, Figure, Figures, absent, fisher, made, share
from .records import Evaluation


def judge_figures(rows: Sequence[Evaluation], judges: Sequence[str], independent: int | None = None) -> Figures:
    """All figures of the judges, over the first run.

    Args:
        independent: different models among them; None where each is one of its own.
    """
    found: Figures = {}
    for judge in judges:
        found |= _one_judge(rows, judge)
    return (
        found
        | _ablation(rows, judges)
        | _unanimity(rows, judges, independent)
        | _agreement(rows, judges)
        | _direction(rows)
    )


def _one_judge(rows: Sequence[Evaluation], judge: str) -> Figures:
    votes = [(one, choice) for one in rows if (choice := one.votes.get(judge)) is not None]
    lost = len(rows) - len(votes)
    firsts = [choice == one.shown_first[judge] for one, choice in votes if judge in one.shown_first]
    place = f"first choices of {judge} that were shown first; without a preference for a place half"
    position = share(sum(firsts), len(firsts), place)
    if firsts:
        test = binomial_test(sum(firsts), len(firsts))
        position = position.model_copy(update={"definition": f"{position.definition}; binomial p = {test.p_value:.2g}"})
    return {
        f"judge.{judge}": share(
            sum(choice == one.human for one, choice in votes),
            len(votes),
            f"evaluations of run 1 in which {judge} ranked the human's choice first",
            f"{lost} evaluations have no first choice of this judge." if lost else "",
        ),
        f"position.{judge}": position,
        f"family.{judge}": _family(votes, judge),
    }


def _family(votes: Sequence[tuple[Evaluation, str]], judge: str) -> Figure:
    """Self-preference, as far as kinship can be read off names."""
    mine = family_of(judge)
    text = (
        f"pairs of run 1 with exactly one response of the family {mine} of {judge}: percent in which the judge, and in "
        "which the human, chose that response; difference in points, exact McNemar p"
    )
    chose: list[tuple[bool, bool]] = []
    for one, choice in votes:
        kin = [side for side in one.sides if side in one.models and family_of(one.models[side]) == mine]
        if len(kin) == 1 and set(one.sides) <= set(one.models):
            chose.append((choice == kin[0], one.human == kin[0]))
    if not chose:
        return absent(text, "No pair has exactly one response known to be of the judge's family.")
    judged, human = (100 * fmean(values) for values in zip(*chose, strict=True))
    test = mcnemar_exact([one for one, _ in chose], [other for _, other in chose])
    value = {"judge": judged, "human": human, "difference": judged - human, "p": test.p_value}
    return made(value, len(chose), text)


def _ablation(rows: Sequence[Evaluation], judges: Sequence[str]) -> Figures:
    text = (
        "every panel that could be made of the judges, run 1: share of its majorities (more than half of its members) "
        "that are the human's choice, in percent with Wilson's interval, and panels' undecided evaluations"
    )
    sizes = "the same by size of the panel: mean, least and most of the shares, in percent"
    if not rows:
        return {"panels": absent(text), "panels.by_size": absent(sizes)}
    if len(judges) > MOST_JUDGES:
        why = f"{len(judges)} judges make {2 ** len(judges) - 1:,} panels; up to {MOST_JUDGES} are counted out."
        return {"panels": absent(text, why), "panels.by_size": absent(sizes, why)}
    results = panel_ablation([one.votes for one in rows], [one.human for one in rows], judges)
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for result in results:
        if result.concordance is not None:
            shares[str(len(result.judges))].append(100 * result.concordance.estimate)
    by_size = {
        size: {"panels": len(found), "mean": fmean(found), "least": min(found), "most": max(found)}
        for size, found in shares.items()
    }
    return {
        "panels": made([_panel(result) for result in results], len(rows), text),
        "panels.by_size": made(by_size, len(rows), sizes),
        **_gains(results, len(judges), len(rows)),
    }


def _panel(result: PanelResult) -> dict[str, object]:
    found = result.concordance
    return {
        "judges": list(result.judges),
        "right": result.right,
        "wrong": result.wrong,
        "undecided": result.undecided,
        "concordance": None if found is None else 100 * found.estimate,
        "interval": None if found is None else [100 * found.low, 100 * found.high],
    }


def _gains(results: Sequence[PanelResult], size: int, n: int) -> Figures:
    """Over all evaluations, undecided ones in the denominator, so that panel and judges stand on the same rows."""
    whole = 100 * results[-1].of_all.estimate
    single = [100 * result.of_all.estimate for result in results if len(result.judges) == 1]
    texts = {
        "mean": ("gain_vs_random", fmean(single)),
        "least": ("gain_vs_worst", min(single)),
        "most": ("gain_vs_best", max(single)),
    }
    return {
        f"panels.{name}": made(
            whole - value,
            n,
            f"share of evaluations of run 1 whose majority of {size} is the human's choice, less the {word} "
            "of the single judges' shares, in points; evaluations without a choice stay in the denominators",
        )
        for word, (name, value) in texts.items()
    }


def _unanimity(rows: Sequence[Evaluation], judges: Sequence[str], independent: int | None) -> Figures:
    alone = why_no_unanimity(2, len(judges), len(judges) if independent is None else independent)
    if alone is not None:
        text = "unanimous against split panels of run 1"
        return {
            f"unanimity.{name}": absent(text, f"{alone.capitalize()}.")
            for name in (Unity.UNANIMOUS, Unity.SPLIT, "fisher_p")
        }
    kinds: defaultdict[Unity, list[Evaluation]] = defaultdict(list)
    for one in rows:
        kinds[unity([one.votes.get(judge) for judge in judges], len(judges))].append(one)
    found: Figures = {}
    counts: dict[Unity, tuple[int, int]] = {}
    incomplete = len(kinds[Unity.INCOMPLETE])
    for kind in (Unity.UNANIMOUS, Unity.SPLIT):
        decided = [one for one in kinds[kind] if one.decided]
        counts[kind] = (sum(one.right for one in decided), len(decided))
        found[f"unanimity.{kind}"] = share(
            *counts[kind],
            f"decided evaluations of run 1 with a complete, {kind} panel that name the human's choice",
            f"{incomplete} evaluations lack a judge's first choice and are in neither class." if incomplete else "",
        )
    text = "two-sided p of Fisher's exact test of right against wrong by unanimous or split panel"
    return found | {"unanimity.fisher_p": fisher(counts[Unity.UNANIMOUS], counts[Unity.SPLIT], text)}


def _agreement(rows: Sequence[Evaluation], judges: Sequence[str]) -> Figures:
    votes = [[one.votes.get(judge) for judge in judges] for one in rows]
    sides = [
        [None if vote is None else one.side(vote) for vote in given] for one, given in zip(rows, votes, strict=True)
    ]
    complete = [row for row in sides if None not in row]
    pairable = [row for row in sides if sum(vote is not None for vote in row) > 1]
    fleiss = "judges' first choices as side A or B, evaluations of run 1 with a complete panel"
    alpha = "judges' first choices as side A or B, all evaluations of run 1 with two at least"
    return {
        "judges.fleiss_kappa": _chance_corrected(fleiss_kappa(complete), fleiss)
        if complete and len(judges) > 1
        else absent(fleiss, "No evaluation has a complete panel of two or more."),
        "judges.krippendorff_alpha": _chance_corrected(krippendorff_alpha(pairable), alpha)
        if pairable
        else absent(alpha, "No evaluation has two first choices."),
    }


def _chance_corrected(found: Agreement, text: str) -> Figure:
    definition = f"{text}; {found.method}"
    if found.estimate is None:
        return made(None, found.n, definition, why=f"{found.reason}.")
    word = f'Landis and Koch call it "{landis_koch(found.estimate)}"'
    return made(found.estimate, found.n, f"{definition}. {word}", interval=found.ends)


def _direction(rows: Sequence[Evaluation]) -> Figures:
    """Do disagreements lean to the model that humans prefer elsewhere?"""
    text = (
        "disagreements of run 1 by whether the panel chose the model with the higher rate of human wins in all other "
        "comparisons of these data; counts, equal rates apart"
    )
    p_text = "two-sided exact sign test of capability.direction"
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
    if not steps:
        why = "No disagreement is between models with other comparisons in these data." if placed else NO_ROWS
        return {"capability.direction": absent(text, why), "capability.sign_p": absent(p_text, why)}
    test = sign_test(steps)
    value = {"stronger": test.favour_first, "weaker": test.favour_second, "equal": test.tied}
    return {
        "capability.direction": made(value, len(steps), text),
        "capability.sign_p": made(test.p_value, len(steps), p_text),
    }
