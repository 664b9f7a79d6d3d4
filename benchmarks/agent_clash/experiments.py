"""Both experiments: concordance on MT-Bench (tables 1 to 3) and on Chatbot Arena (6 to 9), and repeated runs."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import sqrt
from statistics import NormalDist, mean
from typing import Any

from scipy.stats import chi2_contingency
from scipy.stats.contingency import odds_ratio, relative_risk

from metajudge.stats.intervals import two_proportion_z
from metajudge.stats.paired import sign_test
from metajudge.stats.panels import Unity
from metajudge.stats.stability import Correctness, StabilityClass, stability_class

from .. import figure
from ..figure import NO_ROWS, SEED, FigureTable
from .figures import PUBLISHED, printed
from .records import LoggedEvaluation, Study, by_id, dollars

STRONGEST_FIRST = ("gpt-4", "claude-v1", "gpt-3.5-turbo", "vicuna-13b-v1.2", "alpaca-13b", "llama-13b")
RANK = {model: place for place, model in enumerate(STRONGEST_FIRST)}
TIERS = {"strong": STRONGEST_FIRST[:3], "weak": STRONGEST_FIRST[3:]}
AGREED = "No verdict disagrees with the human."


def add_mtbench(table: FigureTable, study: Study) -> None:
    """All figures of experiment 1 and of its tables."""
    rows, judged = study.of("mtbench"), study.judged("mtbench")
    n, matches = len(rows), sum(row.match for row in judged)
    table.add("exp1.n", figure.count(n, n))
    table.add("exp1.n_valid", figure.count(len(judged), n))
    table.add("exp1.matches", figure.count(matches, n))
    without = n - len(judged)
    both = f"; {without} of them without a verdict, counted as not matching" if without else ""
    over = 100 * matches / len(judged) if judged else 0.0
    remark = f"Over the {len(judged)} rows with a verdict it is {over:.1f} percent." if judged else ""
    table.add(
        "exp1.wilson", figure.ends_of(table.add("exp1.concordance", figure.share(matches, n), remark, both=both), n)
    )
    _kappas(table, n, matches, judged)
    _description(table, rows, judged, matches)
    for model in _ordered(printed("t1.") | {row.human_winner for row in judged if row.human_winner}):
        table.add("t1.{model}", figure.share_of(row.match for row in judged if row.human_winner == model), model=model)
    _tiers(table, judged)
    _direction(table, [row for row in judged if not row.match])


def _kappas(table: FigureTable, n: int, matches: int, judged: list[LoggedEvaluation]) -> None:
    sides = sides_of(judged)
    side = table.add("exp1.kappa_side", figure.kappa(sides), theirs=2 * matches / max(1, n) - 1, n=n)
    table.add("exp1.kappa_model", figure.kappa([(row.human_winner, row.ai_winner) for row in judged]))
    words: dict[str, Any] = {}
    if side.ends is not None:
        found = figure.kappa_of(sides)
        spread = sqrt(found.observed * (1 - found.observed) / found.n) / (1 - found.expected)
        centre = found.estimate or 0.0
        words = {"theirs": [centre - 1.959964 * spread, centre + 1.959964 * spread], "centre": centre}
    table.add("exp1.kappa_ci", figure.ends_of(side, side.n), **words)


def sides_of(judged: Iterable[LoggedEvaluation]) -> list[tuple[str, str]]:
    """Human and panel verdict of each as side A or B."""
    return [(row.side(row.human_winner), row.side(row.ai_winner)) for row in judged]


def _description(
    table: FigureTable, rows: list[LoggedEvaluation], judged: list[LoggedEvaluation], matches: int
) -> None:
    n, lost = len(rows), [row for row in rows if not row.valid]
    table.add("exp1.unique_comparisons", figure.count(len({(row.question_id, row.pair) for row in rows}), n), theirs=n)
    winners = Counter(row.human_winner for row in rows if row.human_winner)
    valid = Counter(row.human_winner for row in judged)
    table.add(
        "exp1.human_winners",
        figure.of_rows({model: winners[model] for model in _ordered(winners)}, winners.total()),
        theirs={model: valid[model] + (model == "llama-13b") for model in _ordered(winners)},
        lost=", ".join(str(row.eval_id) for row in lost) or "none",
        winner=", ".join(sorted({row.human_winner or "nobody" for row in lost})) or "nobody",
    )
    _pair_concentration(table, judged)
    groups = {"match": [r for r in judged if r.match], "mismatch": [r for r in judged if not r.match]}
    confidence = {name: _confidence_of(mine) for name, mine in groups.items()}
    table.add("exp1.confidence_by_correctness", figure.of_rows(confidence, len(judged)))
    cost, times = dollars(rows), [row.elapsed_s for row in rows if row.valid and row.elapsed_s is not None]
    table.add("exp1.cost", figure.of_rows(cost, n))
    table.add(
        "exp1.cost_per_correct",
        figure.made(cost / matches, matches) if matches else figure.absent("No verdict matches."),
    )
    table.add("exp1.mean_time", figure.of_rows(mean(times) if times else 0.0, len(times)))


def _ordered(models: Iterable[str]) -> list[str]:
    return sorted(models, key=lambda model: (RANK.get(model, len(RANK)), model))


def _pair_concentration(table: FigureTable, judged: list[LoggedEvaluation]) -> None:
    missed = Counter(row.pair for row in judged if not row.match)
    if not missed:
        table.add("exp1.pair_concentration", figure.absent(AGREED))
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
    table.add("exp1.pair_concentration", figure.made(value, missed.total()))


def _confidence_of(rows: list[LoggedEvaluation]) -> dict[str, Any]:
    recorded = [row.confidence_recorded for row in rows if row.confidence_recorded is not None]
    complete = [row for row in rows if row.unity is not Unity.INCOMPLETE]
    margins = []
    for row in complete:
        first, second, *_ = [*(times for _, times in Counter(row.supreme_choices.values()).most_common(2)), 0]
        margins.append((first - second) / row.panel_size)
    united = sum(row.unity is Unity.UNANIMOUS for row in complete)
    return {
        "n": len(rows),
        "mean_recorded": mean(recorded) if recorded else None,
        "complete_panels": len(complete),
        "mean_panel_margin": mean(margins) if margins else None,
        "unanimous": 100 * united / len(complete) if complete else None,
    }


def _tiers(table: FigureTable, judged: list[LoggedEvaluation]) -> None:
    hits = {tier: [row.match for row in judged if row.human_winner in models] for tier, models in TIERS.items()}
    for tier, matches in hits.items():
        table.add("t2.{tier}", figure.share_of(matches), tier=tier, models=", ".join(TIERS[tier]))
    cells = [[matches.count(True), matches.count(False)] for matches in hits.values()]
    n, names = sum(map(sum, cells)), ("t2.chi2", "t2.chi2_yates", "t2.odds_ratio", "t2.risk_ratio")
    if not all(map(all, cells)):
        for name in names:
            table.add(name, figure.absent("A cell of the table is empty.") if n else figure.absent())
        return
    for name, yates in zip(names, (False, True), strict=False):
        test = chi2_contingency(cells, correction=yates)
        method = f"; chi-square, 1 df, {'with' if yates else 'without'} Yates correction, p = {test.pvalue:.2g}"
        table.add(name, figure.made(float(test.statistic), n, suffix=method))
    odds, ((strong, missed), (weak, others)) = odds_ratio(cells, kind="sample"), cells
    risk = relative_risk(strong, strong + missed, weak, weak + others)
    for name, ratio, found, method, words in (
        (names[2], odds.statistic, odds, "odds ratio, Woolf", {}),
        (names[3], risk.relative_risk, risk, "risk ratio, Katz", {"theirs": float(odds.statistic)}),
    ):
        ends = found.confidence_interval(0.95)
        build = figure.made(float(ratio), n, (float(ends.low), float(ends.high)), f"; {method} interval, 95 %")
        table.add(name, build, **words)


def _direction(table: FigureTable, missed: list[LoggedEvaluation]) -> None:
    placed = [row for row in missed if row.ai_winner in RANK and row.human_winner in RANK]
    # Positive where the panel's winner ranks above the human's.
    steps = [RANK[row.human_winner or ""] - RANK[row.ai_winner or ""] for row in placed]
    stronger, weaker = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    value = {"stronger": stronger, "weaker": weaker, "share_stronger": 100 * stronger / max(1, stronger + weaker)}
    ids = sorted((row.eval_id for row in missed), key=lambda one: (isinstance(one, str), one))
    table.add("t3.ids", figure.made(ids, len(ids)))
    suffix = "; counts, and the share of stronger ones in percent"
    table.add("exp1.direction", figure.made(value, len(placed), suffix=suffix) if steps else figure.absent(AGREED))
    z = (stronger - weaker) / sqrt(stronger + weaker) if stronger + weaker else 0.0
    words = {"theirs": 2 * NormalDist().cdf(-abs(z)), "z": z} if steps else {}
    table.add("exp1.sign_p_exact", figure.tested(sign_test(steps)) if steps else figure.absent(AGREED), **words)


FEWEST = 3
"""Human winners with fewer evaluations have no line in table 7."""

CHRONIC = 2
"""A pair is chronic where at least so many of its evaluations are wrong in both runs."""

FAMILIES = {"gpt": ("gpt", "chatgpt"), "claude": ("claude",), "gemini": ("gemini",)}

NO_ELO = "The Elo ratings behind the paper's figure (Chatbot Arena, circa August 2024) are not published with it."


def add_arena(table: FigureTable, study: Study) -> None:
    """All figures of experiment 2."""
    first, second = study.judged("arena", 1), study.judged("arena", 2)
    for run in (1, 2):
        _run(table, study, run)
    both = [*first, *second]
    ids = [str(row.eval_id) for row in both]
    combined, size = figure.resampled_share([row.match for row in both], ids), len(set(ids))
    table.add("t6.combined_clustered", combined, seed=SEED, size=size, n=len(both))
    _by_winner(table, first)
    rows = study.of("arena")
    winners = {row.human_winner for row in first}
    table.add(
        "exp2.models", figure.count(len({one for row in rows for one in row.pair}), len(rows)), theirs=len(winners)
    )
    table.add("exp2.pairs", figure.count(len({row.pair for row in rows}), len(rows)))
    _chronic(table, first, second)
    table.add("families", figure.of_rows({name: _family(start, first) for name, start in FAMILIES.items()}, len(first)))
    table.add("elo.direction", figure.absent(NO_ELO))
    _against_mtbench(table, study)


def _run(table: FigureTable, study: Study, run: int) -> None:
    rows, judged = study.of("arena", run), study.judged("arena", run)
    matches, n = sum(row.match for row in judged), len(judged)
    table.add("t6.run{run}.matches", figure.count(matches, n), run=run)
    table.add("t6.run{run}.wilson", figure.ends_of(figure.share(matches, n)(""), n), run=run)
    table.add("t6.run{run}.kappa", figure.kappa(sides_of(judged)), theirs=2 * matches / max(1, n) - 1, run=run)
    table.add("t6.run{run}.cost", figure.of_rows(dollars(rows), len(rows)), run=run)


def _by_winner(table: FigureTable, first: list[LoggedEvaluation]) -> None:
    winners = Counter(row.human_winner for row in first if row.human_winner)
    models = {model for model, n in winners.items() if n >= FEWEST} | printed("t7.")
    for model in sorted(models, key=lambda model: (-winners[model], model)):
        mine = [row.match for row in first if row.human_winner == model]
        if len(mine) < FEWEST:
            why = f"Only {len(mine)} rows have this human winner; a line needs {FEWEST}."
            table.add("t7.{model}", figure.absent(why), model=model, valid="", said="")
            continue
        left_out = f"The paper's table leaves this model out, though it has n >= {FEWEST}."
        words = {"valid": " with a verdict", "said": ": the panel names it too"}
        remark = "" if f"t7.{model}" in PUBLISHED else left_out
        table.add("t7.{model}", figure.share_of(mine), remark, model=model, **words)


def _chronic(table: FigureTable, first: list[LoggedEvaluation], second: list[LoggedEvaluation]) -> None:
    other, keys = by_id(second), ("wrong_in_both_runs", "wrong_in_run1", "wrong_in_run2", "n")
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    both = [(row, other[str(row.eval_id)]) for row in first if str(row.eval_id) in other]
    for one, again in both:
        wrong = (not one.match and not again.match, not one.match, not again.match, True)
        counts[one.pair].update(dict(zip(keys, wrong, strict=True)))
    value = {
        " vs ".join(pair): {key: found[key] for key in keys}
        for pair, found in sorted(counts.items(), key=lambda entry: (-entry[1][keys[0]], entry[0]))
        if found[keys[0]] >= CHRONIC
    }
    each_run = {pair: {keys[0]: min(one[keys[1]], one[keys[2]]), "n": one["n"]} for pair, one in value.items()}
    table.add("exp2.chronic_pairs", figure.of_rows(value, len(both)), theirs=each_run, chronic=CHRONIC)


def _family(start: tuple[str, ...], first: list[LoggedEvaluation]) -> dict[str, int]:
    return {
        "ai": sum((row.ai_winner or "").startswith(start) for row in first),
        "human": sum((row.human_winner or "").startswith(start) for row in first),
        "shown": sum(model.startswith(start) for row in first for model in row.pair),
    }


def _against_mtbench(table: FigureTable, study: Study) -> None:
    mtbench, arena = study.of("mtbench"), study.of("arena", 1)
    judged = [study.judged("mtbench", 1), study.judged("arena", 1)]
    (hits, n), (others, size) = ((sum(row.match for row in rows), len(rows)) for rows in judged)
    said, z, p = "", figure.absent(), figure.absent()
    if mtbench and arena:
        test = two_proportion_z(hits, len(mtbench), others, len(arena))
        ends = f"95 % {100 * test.low:.1f} to {100 * test.high:.1f}"
        said = f"The difference is {100 * test.estimate:.1f} points ({ends})."
        z, p = figure.made(test.statistic, test.n), figure.made(test.p_value, test.n)
        if all(judged):
            valid = two_proportion_z(hits, n, others, size)
            said += (
                f" Over rows with a verdict alone ({valid.n_first} and {valid.n_second}) z = {valid.statistic:.2f}, "
                f"p = {valid.p_value:.3f}."
            )
    table.add("t9.z", z, said)
    table.add("t9.p", p)
    every = {name: study.of(name) for name in ("mtbench", "arena")}
    value = {name: dollars(rows) for name, rows in every.items()}
    value |= {f"{name}_per_evaluation": value[name] / len(rows) for name, rows in every.items() if rows}
    table.add("t9.cost", figure.of_rows(value, sum(map(len, every.values()))))


CATEGORIES = ("STABLE_WRONG", "UNSTABLE", "LOW_CONF_OK")
"""Of the evaluations of the targeted third run."""


def add_repeats(table: FigureTable, study: Study) -> None:
    """All figures of repeated runs."""
    other, again = by_id(study.judged("arena", 2)), by_id(study.valid("arena", 2))
    first = [row for row in study.judged("arena", 1) if str(row.eval_id) in other]
    matched = [(row.match, other[str(row.eval_id)].match) for row in first]
    repeats = [(row, again[str(row.eval_id)]) for row in study.valid("arena", 1) if str(row.eval_id) in again]
    verdicts = [(one.side(one.ai_winner), one.side(two.ai_winner)) for one, two in repeats]
    names = ("both_match", "only_run1_matches", "only_run2_matches", "neither_matches")
    table.add("t8.matrix", figure.of_rows(figure.crossed(matched, names), len(matched)))
    table.add("t8.same", figure.share_of(one == two for one, two in verdicts))
    of_matches = figure.kappa_of(matched).estimate if matched else None
    table.add("t8.kappa_verdict", figure.kappa(verdicts), theirs=of_matches)
    table.add("t8.kappa_match", figure.kappa(matched))
    test = figure.mcnemar(matched)
    words = {} if test is None else {"first": test.favour_first, "second": test.favour_second}
    table.add("t8.mcnemar_exact", figure.tested(test), **words)
    _stability(table, matched)
    _third_run(table, study)
    _majority(table, study)


def _stability(table: FigureTable, matched: list[tuple[bool, bool]]) -> None:
    outcomes = {True: Correctness.RIGHT, False: Correctness.WRONG}
    classes = Counter(stability_class([outcomes[one], outcomes[two]]) for one, two in matched)
    kinds = (StabilityClass.STABLE_RIGHT, StabilityClass.STABLE_WRONG, StabilityClass.UNSTABLE)
    table.add("stability.classes", figure.of_rows({str(kind): classes[kind] for kind in kinds}, len(matched)))
    why = "Every evaluation is stably right: nothing is to be decomposed." if matched else NO_ROWS
    figure.add_decomposition(table, classes, why)


def _third_run(table: FigureTable, study: Study) -> None:
    rows = [[row for row in study.judged("arena", 3) if row.category == kind] for kind in CATEGORIES]
    wrong, unstable, low = ([row.match for row in mine] for mine in rows)
    # A tie that label order settled is no confirmation and no exception either; the reader must see it.
    ties = ", ".join(str(row.eval_id) for row in rows[0] if row.match and row.weighted_tie)
    said = f"The right verdict of id {ties} is an exact tie of the weighted score, settled by label order: without that"
    remark = f"{said} rule there is no exception." if ties else ""
    figure.add_third_run(table, "run3", wrong, unstable, low, remark)


def _majority(table: FigureTable, study: Study) -> None:
    votes: defaultdict[str, list[bool]] = defaultdict(list)
    for row in study.judged("arena"):
        votes[str(row.eval_id)].append(row.match)
    tied = sum(2 * sum(matches) == len(matches) for matches in votes.values())
    remark = f"{tied} evaluations have as many runs for as against." if tied else ""
    table.add("majority.concordance", figure.share_of(2 * sum(one) > len(one) for one in votes.values()), remark)
