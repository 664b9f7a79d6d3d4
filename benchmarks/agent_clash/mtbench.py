"""Experiment 1: concordance on MT-Bench, tables 1 to 3."""

from collections import Counter
from collections.abc import Iterable
from math import sqrt
from statistics import NormalDist, mean
from typing import Any

from scipy.stats import chi2_contingency
from scipy.stats.contingency import odds_ratio, relative_risk

from metajudge.stats.paired import sign_test
from metajudge.stats.panels import Unity

from ..figure import FigureTable, absent, count, ends_of, kappa, kappa_of, made, of_rows, share, share_of, tested
from .figures import printed
from .records import LoggedEvaluation, Study, dollars

STRONGEST_FIRST = ("gpt-4", "claude-v1", "gpt-3.5-turbo", "vicuna-13b-v1.2", "alpaca-13b", "llama-13b")
RANK = {model: place for place, model in enumerate(STRONGEST_FIRST)}
TIERS = {"strong": STRONGEST_FIRST[:3], "weak": STRONGEST_FIRST[3:]}
AGREED = "No verdict disagrees with the human."


def add(table: FigureTable, study: Study) -> None:
    """All figures of experiment 1 and of its tables."""
    rows, judged = study.of("mtbench"), study.judged("mtbench")
    n, matches = len(rows), sum(row.match for row in judged)
    table.add("exp1.n", count(n, n))
    table.add("exp1.n_valid", count(len(judged), n))
    table.add("exp1.matches", count(matches, n))
    without = n - len(judged)
    both = f"; {without} of them without a verdict, counted as not matching" if without else ""
    over = 100 * matches / len(judged) if judged else 0.0
    remark = f"Over the {len(judged)} rows with a verdict it is {over:.1f} percent." if judged else ""
    table.add("exp1.wilson", ends_of(table.add("exp1.concordance", share(matches, n), remark, both=both), n))
    _kappas(table, n, matches, judged)
    _description(table, rows, judged, matches)
    for model in _ordered(printed("t1.") | {row.human_winner for row in judged if row.human_winner}):
        table.add("t1.{model}", share_of(row.match for row in judged if row.human_winner == model), model=model)
    _tiers(table, judged)
    _direction(table, [row for row in judged if not row.match])


def _kappas(table: FigureTable, n: int, matches: int, judged: list[LoggedEvaluation]) -> None:
    sides = [(row.side(row.human_winner), row.side(row.ai_winner)) for row in judged]
    side = table.add("exp1.kappa_side", kappa(sides), theirs=2 * matches / max(1, n) - 1, n=n)
    table.add("exp1.kappa_model", kappa([(row.human_winner, row.ai_winner) for row in judged]))
    if side.ends is None:
        table.add("exp1.kappa_ci", ends_of(side, side.n))
        return
    found = kappa_of(sides)
    spread = sqrt(found.observed * (1 - found.observed) / found.n) / (1 - found.expected)
    centre = found.estimate or 0.0
    simple = [centre - 1.959964 * spread, centre + 1.959964 * spread]
    table.add("exp1.kappa_ci", ends_of(side, side.n), theirs=simple, centre=centre)


def _description(
    table: FigureTable, rows: list[LoggedEvaluation], judged: list[LoggedEvaluation], matches: int
) -> None:
    n, lost = len(rows), [row for row in rows if not row.valid]
    table.add("exp1.unique_comparisons", count(len({(row.question_id, row.pair) for row in rows}), n), theirs=n)
    winners = Counter(row.human_winner for row in rows if row.human_winner)
    valid = Counter(row.human_winner for row in judged)
    table.add(
        "exp1.human_winners",
        of_rows({model: winners[model] for model in _ordered(winners)}, winners.total()),
        theirs={model: valid[model] + (model == "llama-13b") for model in _ordered(winners)},
        lost=", ".join(str(row.eval_id) for row in lost) or "none",
        winner=", ".join(sorted({row.human_winner or "nobody" for row in lost})) or "nobody",
    )
    _pair_concentration(table, judged)
    groups = {"match": [r for r in judged if r.match], "mismatch": [r for r in judged if not r.match]}
    confidence = {name: _confidence_of(mine) for name, mine in groups.items()}
    table.add("exp1.confidence_by_correctness", of_rows(confidence, len(judged)))
    cost, times = dollars(rows), [row.elapsed_s for row in rows if row.valid and row.elapsed_s is not None]
    table.add("exp1.cost", of_rows(cost, n))
    table.add("exp1.cost_per_correct", made(cost / matches, matches) if matches else absent("No verdict matches."))
    table.add("exp1.mean_time", of_rows(mean(times) if times else 0.0, len(times)))


def _ordered(models: Iterable[str]) -> list[str]:
    return sorted(models, key=lambda model: (RANK.get(model, len(RANK)), model))


def _pair_concentration(table: FigureTable, judged: list[LoggedEvaluation]) -> None:
    missed = Counter(row.pair for row in judged if not row.match)
    if not missed:
        table.add("exp1.pair_concentration", absent(AGREED))
        return
    seen = Counter(row.pair for row in judged)
    most = max(missed.values())
    top = sorted(pair for pair, times in missed.items() if times == most)
    value = {
        "pairs": [" vs ".join(pair) for pair in top],
        "disagreements": most,
        "of": missed.total(),
        "share_of_disagreements": 100 * most / missed.total(),
        "n": seen[top[0]],
        "disagreement_rate": 100 * most / seen[top[0]],
        "by_pair": {" vs ".join(pair): {"disagreements": missed[pair], "n": seen[pair]} for pair in sorted(missed)},
    }
    table.add("exp1.pair_concentration", made(value, missed.total()))


def _confidence_of(rows: list[LoggedEvaluation]) -> dict[str, Any]:
    recorded = [row.confidence_recorded for row in rows if row.confidence_recorded is not None]
    complete = [row for row in rows if row.unity is not Unity.INCOMPLETE]
    margins = [_margin(row) for row in complete]
    united = sum(row.unity is Unity.UNANIMOUS for row in complete)
    return {
        "n": len(rows),
        "mean_recorded": mean(recorded) if recorded else None,
        "complete_panels": len(complete),
        "mean_panel_margin": mean(margins) if margins else None,
        "unanimous": 100 * united / len(complete) if complete else None,
    }


def _margin(row: LoggedEvaluation) -> float:
    counts = Counter(row.supreme_choices.values()).most_common()
    return (counts[0][1] - (counts[1][1] if len(counts) > 1 else 0)) / row.panel_size


def _tiers(table: FigureTable, judged: list[LoggedEvaluation]) -> None:
    hits = {tier: [row.match for row in judged if row.human_winner in models] for tier, models in TIERS.items()}
    for tier, matches in hits.items():
        table.add("t2.{tier}", share_of(matches), tier=tier, models=", ".join(TIERS[tier]))
    cells = [[matches.count(True), matches.count(False)] for matches in hits.values()]
    n, names = sum(map(sum, cells)), ("t2.chi2", "t2.chi2_yates", "t2.odds_ratio", "t2.risk_ratio")
    if not all(map(all, cells)):
        for name in names:
            table.add(name, absent("A cell of the table is empty.") if n else absent())
        return
    for name, yates in zip(names, (False, True), strict=False):
        test = chi2_contingency(cells, correction=yates)
        method = f"; chi-square, 1 df, {'with' if yates else 'without'} Yates correction, p = {test.pvalue:.2g}"
        table.add(name, made(float(test.statistic), n, suffix=method))
    odds = odds_ratio(cells, kind="sample")
    (strong, missed), (weak, others) = cells
    risk = relative_risk(strong, strong + missed, weak, weak + others)
    ratio, ends = float(odds.statistic), odds.confidence_interval(0.95)
    table.add(names[2], made(ratio, n, (float(ends.low), float(ends.high)), "; odds ratio, Woolf interval, 95 %"))
    ends, method = risk.confidence_interval(0.95), "; risk ratio, Katz interval, 95 %"
    found = made(float(risk.relative_risk), n, (float(ends.low), float(ends.high)), method)
    table.add(names[3], found, theirs=ratio)


def _direction(table: FigureTable, missed: list[LoggedEvaluation]) -> None:
    placed = [row for row in missed if row.ai_winner in RANK and row.human_winner in RANK]
    # Positive where the panel's winner ranks above the human's.
    steps = [RANK[row.human_winner or ""] - RANK[row.ai_winner or ""] for row in placed]
    stronger, weaker = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    value = {"stronger": stronger, "weaker": weaker, "share_stronger": 100 * stronger / max(1, stronger + weaker)}
    ids = sorted((row.eval_id for row in missed), key=lambda one: (isinstance(one, str), one))
    table.add("t3.ids", made(ids, len(ids)))
    if not steps:
        table.add("exp1.direction", absent(AGREED))
        table.add("exp1.sign_p_exact", absent(AGREED))
        return
    suffix = "; counts, and the share of stronger ones in percent"
    table.add("exp1.direction", made(value, len(placed), suffix=suffix))
    z = (stronger - weaker) / sqrt(stronger + weaker) if stronger + weaker else 0.0
    table.add("exp1.sign_p_exact", tested(sign_test(steps)), theirs=2 * NormalDist().cdf(-abs(z)), z=z)
