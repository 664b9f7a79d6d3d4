"""Experiment 1: concordance on MT-Bench, tables 1 to 3."""

from collections import Counter
from math import sqrt
from statistics import NormalDist, mean
from typing import Any

from scipy.stats import chi2_contingency
from scipy.stats.contingency import odds_ratio, relative_risk

from metajudge.stats.paired import sign_test
from metajudge.stats.panels import Unity

from ..figure import NO_ROWS, Figure, Figures, absent
from .figures import PUBLISHED, Explanation, compare, count, kappa, kappa_of, share
from .records import LoggedEvaluation, Study

STRONGEST_FIRST = ("gpt-4", "claude-v1", "gpt-3.5-turbo", "vicuna-13b-v1.2", "alpaca-13b", "llama-13b")
TIERS = {"strong": STRONGEST_FIRST[:3], "weak": STRONGEST_FIRST[3:]}


def figures(study: Study) -> Figures:
    """All figures of experiment 1 and of its tables, by id."""
    rows, judged = study.of("mtbench"), study.judged("mtbench")
    return {
        **_concordance(rows, judged),
        **_kappas(len(rows), judged),
        **_description(rows, judged),
        **_by_winner(judged),
        **_tiers(judged),
        **_direction(judged),
    }


def _concordance(rows: list[LoggedEvaluation], judged: list[LoggedEvaluation]) -> Figures:
    n, matches = len(rows), sum(row.match for row in judged)
    without = n - len(judged)
    both = f"; {without} of them without a verdict, counted as not matching" if without else ""
    over_valid = share(matches, len(judged), "")
    remark = f"Over the {len(judged)} rows with a verdict it is {over_valid.value:.1f} percent." if judged else ""
    concordance = share(matches, n, f"published mtbench rows whose verdict is the human winner{both}", remark=remark)
    interval = list(concordance.interval or ())
    text = "95 % Wilson interval of exp1.concordance, [low, high] in percent"
    return {
        "exp1.n": count(n, n, "published mtbench evaluations, those without a verdict included"),
        "exp1.n_valid": count(len(judged), n, "published mtbench evaluations with a verdict"),
        "exp1.matches": count(matches, n, "mtbench verdicts that name the human winner"),
        "exp1.concordance": concordance,
        "exp1.wilson": compare(interval, n, text, concordance.interval) if interval else absent(text),
    }


def _kappas(n: int, judged: list[LoggedEvaluation]) -> Figures:
    sides = [(row.side(row.human_winner), row.side(row.ai_winner)) for row in judged]
    models = [(row.human_winner, row.ai_winner) for row in judged]
    matches = sum(row.match for row in judged)
    uniform = Explanation(
        how=f"2 p - 1 of the concordance over {n} rows (chance one half by definition, Brennan and Prediger's kappa), "
        "not Cohen's with observed margins",
        value=2 * matches / max(1, n) - 1,
    )
    side = kappa(sides, "human and panel verdict as side A or B, mtbench rows with a verdict", uniform)
    text = "95 % interval [low, high] of exp1.kappa_side (Fleiss, Cohen and Everitt's standard error)"
    return {
        "exp1.kappa_side": side,
        "exp1.kappa_model": kappa(
            models,
            "human and panel verdict as the winning model, mtbench rows with a verdict",
            remark="The paper speaks of six model categories but prints no such kappa; with more labels chance "
            "agreement is rarer, so the same matches give a higher one.",
        ),
        "exp1.kappa_ci": compare(list(side.interval), len(judged), text, side.interval, _simple_interval(sides))
        if side.interval
        else absent(text, side.why or NO_ROWS),
    }


def _simple_interval(sides: list[tuple[str, str]]) -> Explanation:
    found = kappa_of(sides)
    spread = sqrt(found.observed * (1 - found.observed) / found.n) / (1 - found.expected)
    centre = found.estimate or 0.0
    return Explanation(
        how=f"an interval around kappa {centre:.3f} of rows with a verdict, not around the .760 quoted with it, with "
        "Cohen's simple standard error of 1960",
        value=[centre - 1.959964 * spread, centre + 1.959964 * spread],
    )


def _description(rows: list[LoggedEvaluation], judged: list[LoggedEvaluation]) -> Figures:
    n, matches = len(rows), sum(row.match for row in judged)
    distinct = len({(row.question_id, row.pair) for row in rows})
    winners = Counter(row.human_winner for row in rows if row.human_winner)
    valid = Counter(row.human_winner for row in judged)
    cost = sum(row.cost_usd or 0.0 for row in rows)
    times = [row.elapsed_s for row in rows if row.valid and row.elapsed_s is not None]
    lost = [str(row.eval_id) for row in rows if not row.valid]
    per_correct = "cost of published mtbench rows over matching verdicts, in US dollars"
    mean_time = "mean elapsed_s of mtbench rows with a verdict, in seconds"
    return {
        "exp1.unique_comparisons": count(
            distinct,
            n,
            "distinct (question, unordered pair of models) among published mtbench rows",
            Explanation(how="the number of rows: comparisons that occur twice are counted twice", value=n),
        ),
        "exp1.human_winners": compare(
            {model: winners[model] for model in _ordered(winners)},
            winners.total(),
            "published mtbench rows by human winner; counts",
            explanation=Explanation(
                how="the count over rows with a verdict, and the row without one (id "
                f"{', '.join(lost) or 'none'}) given to llama-13b, where the data give it to {_lost_winner(rows)}",
                value={model: valid[model] + (model == "llama-13b") for model in _ordered(winners)},
            ),
        ),
        "exp1.pair_concentration": _pair_concentration(judged),
        "exp1.confidence_by_correctness": _confidence(judged),
        "exp1.cost": compare(cost, n, "sum of cost_usd of published mtbench rows, in US dollars"),
        "exp1.cost_per_correct": compare(cost / matches, matches, per_correct)
        if matches
        else absent(per_correct, "No verdict matches."),
        "exp1.mean_time": compare(mean(times), len(times), mean_time) if times else absent(mean_time),
    }


def _lost_winner(rows: list[LoggedEvaluation]) -> str:
    return ", ".join(sorted({row.human_winner or "nobody" for row in rows if not row.valid})) or "nobody"


def _ordered(models: Any) -> list[str]:
    rank = {model: place for place, model in enumerate(STRONGEST_FIRST)}
    return sorted(models, key=lambda model: (rank.get(model, len(rank)), model))


def _pair_concentration(judged: list[LoggedEvaluation]) -> Figure:
    definition = (
        "pair(s) of models with the most disagreements between panel and human among mtbench rows with a verdict: "
        "their number, its share of all disagreements and the pair's own rate, both in percent; by_pair has all"
    )
    missed = Counter(row.pair for row in judged if not row.match)
    if not missed:
        return absent(definition, "No verdict disagrees with the human.")
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
    return compare(value, missed.total(), definition)


def _confidence(judged: list[LoggedEvaluation]) -> Figure:
    definition = (
        "mtbench rows with a verdict by whether it names the human winner: n, mean recorded confidence, and, since "
        "that is not normalised by the panel, mean margin (S1 - S2) / 3 of the three panel judges in [0, 1] and the "
        "share of unanimous panels in percent"
    )
    if not judged:
        return absent(definition)
    groups = {"match": [r for r in judged if r.match], "mismatch": [r for r in judged if not r.match]}
    value = {name: _confidence_of(rows) for name, rows in groups.items()}
    remark = (
        "The paper prints no figure, only that confidence is equally high for right and wrong verdicts. The recorded "
        "confidence divides by the number of candidate judges and cannot be compared between evaluations."
    )
    return compare(value, len(judged), definition, remark=remark)


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


def _by_winner(judged: list[LoggedEvaluation]) -> Figures:
    known = {name.removeprefix("t1.") for name in PUBLISHED if name.startswith("t1.")}
    winners = _ordered(known | {row.human_winner for row in judged if row.human_winner})
    found: Figures = {}
    for model in winners:
        mine = [row for row in judged if row.human_winner == model]
        text = f"mtbench rows with a verdict whose human winner is {model}: the panel names it too"
        found[f"t1.{model}"] = share(sum(row.match for row in mine), len(mine), text)
    return found


def _tiers(judged: list[LoggedEvaluation]) -> Figures:
    hits = {tier: [row.match for row in judged if row.human_winner in models] for tier, models in TIERS.items()}
    found: Figures = {}
    for tier, matches in hits.items():
        text = (
            f"mtbench rows with a verdict whose human winner is one of {', '.join(TIERS[tier])}: the panel names it too"
        )
        found[f"t2.{tier}"] = share(sum(matches), len(matches), text)
    shape = "match by tier of the human winner, strong against weak, mtbench rows with a verdict"
    names = ("t2.chi2", "t2.chi2_yates", "t2.odds_ratio", "t2.risk_ratio")
    if not judged:
        return found | {name: absent(shape) for name in names}
    yes, no = ({tier: matches.count(match) for tier, matches in hits.items()} for match in (True, False))
    if not any((*yes.values(), *no.values())):
        return found | {name: absent(shape) for name in names}
    table = [[yes[tier], no[tier]] for tier in ("strong", "weak")]
    if not all((*yes.values(), *no.values())):
        return found | {name: absent(shape, "A cell of the table is empty.") for name in names}
    n = sum(map(sum, table))
    for name, yates in (("t2.chi2", False), ("t2.chi2_yates", True)):
        test = chi2_contingency(table, correction=yates)
        method = f"chi-square, 1 df, {'with' if yates else 'without'} Yates correction"
        found[name] = compare(float(test.statistic), n, f"{shape}; {method}, p = {test.pvalue:.2g}")
    odds = odds_ratio(table, kind="sample")
    risk = relative_risk(yes["strong"], yes["strong"] + no["strong"], yes["weak"], yes["weak"] + no["weak"])
    ends = odds.confidence_interval(0.95)
    definition = f"{shape}; odds ratio, Woolf interval, 95 %"
    found["t2.odds_ratio"] = compare(float(odds.statistic), n, definition, (float(ends.low), float(ends.high)))
    as_risk = Explanation(
        how="the odds ratio read as a ratio of probabilities (approximately 11 times more likely)",
        value=float(odds.statistic),
    )
    ends = risk.confidence_interval(0.95)
    definition = f"{shape}; risk ratio, Katz interval, 95 %"
    found["t2.risk_ratio"] = compare(
        float(risk.relative_risk), n, definition, (float(ends.low), float(ends.high)), as_risk
    )
    return found


def _direction(judged: list[LoggedEvaluation]) -> Figures:
    missed = [row for row in judged if not row.match]
    rank = {model: place for place, model in enumerate(STRONGEST_FIRST)}
    placed = [row for row in missed if row.ai_winner in rank and row.human_winner in rank]
    # Positive where the panel's winner ranks above the human's.
    steps = [rank[row.human_winner or ""] - rank[row.ai_winner or ""] for row in placed]
    stronger, weaker = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    value = {"stronger": stronger, "weaker": weaker, "share_stronger": 100 * stronger / max(1, stronger + weaker)}
    order = "GPT-4, Claude-v1, GPT-3.5-turbo, Vicuna-13B, Alpaca-13B, LLaMA-13B"
    text = f"mtbench disagreements by whether the panel chose the model that ranks higher in the order {order}"
    p_text = f"two-sided exact sign test of exp1.direction ({order})"
    ids = sorted((row.eval_id for row in missed), key=lambda one: (isinstance(one, str), one))
    found: Figures = {
        "t3.ids": compare(ids, len(ids), "eval_id of the mtbench rows with a verdict that is not the human winner"),
        "exp1.direction": compare(value, len(placed), f"{text}; counts, and the share of stronger ones in percent")
        if steps
        else absent(text, "No verdict disagrees with the human."),
    }
    if not steps:
        return found | {"exp1.sign_p_exact": absent(p_text, "No verdict disagrees with the human.")}
    test = sign_test(steps)
    z = (stronger - weaker) / sqrt(stronger + weaker) if stronger + weaker else 0.0
    normal = Explanation(
        how=f"that of a normal approximation without continuity correction (z = {z:.2f})",
        value=2 * NormalDist().cdf(-abs(z)),
    )
    found["exp1.sign_p_exact"] = compare(test.p_value, test.n, p_text, None, normal)
    return found
