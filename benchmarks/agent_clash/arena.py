"""Experiment 2: concordance on Chatbot Arena, tables 6, 7 and 9, the sample, and model families."""

from collections import Counter, defaultdict
from typing import Any

from metajudge.stats.intervals import two_proportion_z

from ..figure import NO_ROWS, SEED, Figure, Figures, absent, resampled_share
from .figures import PUBLISHED, Explanation, compare, compared, count, kappa, share
from .records import LoggedEvaluation, Study, by_id

FEWEST = 3
"""Human winners with fewer evaluations have no line in table 7."""

CHRONIC = 2
"""A pair is chronic where at least so many of its evaluations are wrong in both runs."""

FAMILIES = {"gpt": ("gpt", "chatgpt"), "claude": ("claude",), "gemini": ("gemini",)}


def figures(study: Study) -> Figures:
    """All figures of experiment 2, by id."""
    first, second = study.judged("arena", 1), study.judged("arena", 2)
    return {
        **_run(study, 1),
        **_run(study, 2),
        "t6.combined_clustered": _combined([*first, *second]),
        **_by_winner(first),
        **_sample(study, first, second),
        "families": _families(first),
        "elo.direction": absent(
            "arena run 1 disagreements by whether the panel chose the model of higher Elo rating",
            "The Elo ratings behind the paper's figure (Chatbot Arena, circa August 2024) are not published with it.",
        ),
        **_against_mtbench(study),
    }


def _run(study: Study, run: int) -> Figures:
    name, judged = f"t6.run{run}", study.judged("arena", run)
    rows, matches = study.of("arena", run), sum(row.match for row in judged)
    which = f"arena run {run} rows with a verdict"
    whole = share(matches, len(judged), "")
    text = f"95 % Wilson interval of the share of {which} that name the human winner, [low, high] in percent"
    sides = [(row.side(row.human_winner), row.side(row.ai_winner)) for row in judged]
    uniform = Explanation(
        how="2 p - 1 of the concordance (chance one half by definition, Brennan and Prediger's kappa), not Cohen's",
        value=2 * matches / max(1, len(judged)) - 1,
    )
    return {
        f"{name}.matches": count(matches, len(judged), f"{which} that name the human winner"),
        f"{name}.wilson": compare(list(whole.interval), len(judged), text, whole.interval)
        if whole.interval
        else absent(text),
        f"{name}.kappa": kappa(sides, f"human and panel verdict as side A or B, {which}", uniform),
        f"{name}.cost": compare(
            sum(row.cost_usd or 0.0 for row in rows),
            len(rows),
            f"sum of cost_usd of published arena run {run} rows, in US dollars",
        ),
    }


def _combined(judged: list[LoggedEvaluation]) -> Figure:
    clusters = [str(row.eval_id) for row in judged]
    definition = (
        "verdicts of arena runs 1 and 2 that name the human winner, in percent; 95 % percentile interval of 10,000 "
        f"bootstrap samples (seed {SEED}) that draw evaluations with both their runs, as these are not independent"
    )
    found, size = resampled_share([row.match for row in judged], clusters, definition, NO_ROWS)
    remark = (
        f"{size} evaluations judged {found.n} times. The paper's interval of 69.1 to 80.9 takes all verdicts "
        "for independent and is therefore too narrow."
    )
    return compared(found, remark=remark)


def _by_winner(first: list[LoggedEvaluation]) -> Figures:
    winners = Counter(row.human_winner for row in first if row.human_winner)
    there = {model for model, n in winners.items() if n >= FEWEST}
    known = {name.removeprefix("t7.") for name in PUBLISHED if name.startswith("t7.")}
    found: Figures = {}
    for model in sorted(there | known, key=lambda model: (-winners[model], model)):
        name = f"t7.{model}"
        mine = [row for row in first if row.human_winner == model]
        if len(mine) < FEWEST:
            why = f"Only {len(mine)} rows have this human winner; a line needs {FEWEST}."
            found[name] = absent(f"arena run 1 rows whose human winner is {model}", why)
            continue
        text = f"arena run 1 rows with a verdict whose human winner is {model}: the panel names it too"
        left_out = "" if name in PUBLISHED else f"The paper's table leaves this model out, though it has n >= {FEWEST}."
        found[name] = share(sum(row.match for row in mine), len(mine), text, remark=left_out)
    return found


def _sample(study: Study, first: list[LoggedEvaluation], second: list[LoggedEvaluation]) -> Figures:
    rows = study.of("arena")
    models = {model for row in rows for model in row.pair}
    pairs = {row.pair for row in rows}
    winners = {row.human_winner for row in first}
    return {
        "exp2.models": count(
            len(models),
            len(rows),
            "distinct models among published arena rows",
            Explanation(
                how="the number of distinct human winners of run 1, not of models compared", value=len(winners)
            ),
        ),
        "exp2.pairs": count(
            len(pairs),
            len(rows),
            "distinct unordered pairs of models among published arena rows",
            remark='The paper says "over 80".',
        ),
        "exp2.chronic_pairs": _chronic(first, second),
    }


def _chronic(first: list[LoggedEvaluation], second: list[LoggedEvaluation]) -> Figure:
    definition = (
        f"pairs of models with at least {CHRONIC} evaluations wrong in both arena runs 1 and 2; for each the counts of "
        "those, of evaluations wrong in either run by itself, and of evaluations (n)"
    )
    other = by_id(second)
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    both = [(row, other[str(row.eval_id)]) for row in first if str(row.eval_id) in other]
    for one, again in both:
        counts[one.pair].update(
            n=1,
            wrong_in_both_runs=not one.match and not again.match,
            wrong_in_run1=not one.match,
            wrong_in_run2=not again.match,
        )
    if not both:
        return absent(definition)
    value = {
        " vs ".join(pair): {key: found[key] for key in ("wrong_in_both_runs", "wrong_in_run1", "wrong_in_run2", "n")}
        for pair, found in sorted(counts.items(), key=lambda entry: (-entry[1]["wrong_in_both_runs"], entry[0]))
        if found["wrong_in_both_runs"] >= CHRONIC
    }
    each_run = {
        pair: {"wrong_in_both_runs": min(found["wrong_in_run1"], found["wrong_in_run2"]), "n": found["n"]}
        for pair, found in value.items()
    }
    how = "the number wrong in each run by itself; not the same evaluations are wrong in both"
    return compare(value, len(both), definition, explanation=Explanation(how=how, value=each_run))


def _families(first: list[LoggedEvaluation]) -> Figure:
    def of(family: str, winner: str | None) -> bool:
        return (winner or "").startswith(FAMILIES[family])

    value: dict[str, Any] = {
        family: {
            "ai": sum(of(family, row.ai_winner) for row in first),
            "human": sum(of(family, row.human_winner) for row in first),
            "shown": sum(of(family, model) for row in first for model in row.pair),
        }
        for family in FAMILIES
    }
    text = (
        "arena run 1 rows with a verdict: how often the panel and the human chose a model of the family, by the "
        "beginning of its name (gpt or chatgpt, claude, gemini), and how many of the models shown were of it; counts"
    )
    return compare(value, len(first), text)


def _against_mtbench(study: Study) -> Figures:
    mtbench, arena = study.of("mtbench"), study.of("arena", 1)
    judged = {name: study.judged(name, run) for name, run in (("mtbench", 1), ("arena", 1))}
    matches = {name: sum(row.match for row in rows) for name, rows in judged.items()}
    text = "of the pooled two-proportion test of exp1.concordance (over all rows) against arena run 1"
    costs = {name: sum(row.cost_usd or 0.0 for row in study.of(name)) for name in ("mtbench", "arena")}
    sizes = {name: len(study.of(name)) for name in costs}
    value = {**costs, **{f"{name}_per_evaluation": costs[name] / sizes[name] for name in costs if sizes[name]}}
    found: Figures = {}
    if not mtbench or not arena:
        found = {"t9.z": absent(f"z {text}"), "t9.p": absent(f"two-sided p {text}")}
    else:
        test = two_proportion_z(matches["mtbench"], len(mtbench), matches["arena"], len(arena))
        interval = (
            f"The difference is {100 * test.estimate:.1f} points (95 % {100 * test.low:.1f} to {100 * test.high:.1f})."
        )
        if all(judged.values()):
            valid = two_proportion_z(matches["mtbench"], len(judged["mtbench"]), matches["arena"], len(judged["arena"]))
            interval += (
                f" Over rows with a verdict alone ({valid.n_first} and {valid.n_second}) z = {valid.statistic:.2f}, "
                f"p = {valid.p_value:.3f}."
            )
        found = {
            "t9.z": compare(test.statistic, test.n, f"z {text}", remark=interval),
            "t9.p": compare(test.p_value, test.n, f"two-sided p {text}"),
        }
    cost_text = "sum of cost_usd of published rows (arena: all three runs) and its mean an evaluation, in US dollars"
    return found | {"t9.cost": compare(value, sum(sizes.values()), cost_text)}
