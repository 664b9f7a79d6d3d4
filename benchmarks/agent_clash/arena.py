"""Experiment 2: concordance on Chatbot Arena, tables 6, 7 and 9, the sample, and model families."""

from collections import Counter, defaultdict

from metajudge.stats.intervals import two_proportion_z

from ..figure import SEED, FigureTable, absent, count, ends_of, kappa, made, of_rows, resampled_share, share, share_of
from .figures import PUBLISHED, printed
from .records import LoggedEvaluation, Study, by_id, dollars

FEWEST = 3
"""Human winners with fewer evaluations have no line in table 7."""

CHRONIC = 2
"""A pair is chronic where at least so many of its evaluations are wrong in both runs."""

FAMILIES = {"gpt": ("gpt", "chatgpt"), "claude": ("claude",), "gemini": ("gemini",)}

NO_ELO = "The Elo ratings behind the paper's figure (Chatbot Arena, circa August 2024) are not published with it."


def add(table: FigureTable, study: Study) -> None:
    """All figures of experiment 2."""
    first, second = study.judged("arena", 1), study.judged("arena", 2)
    for run in (1, 2):
        _run(table, study, run)
    both = [*first, *second]
    ids = [str(row.eval_id) for row in both]
    combined, size = resampled_share([row.match for row in both], ids), len(set(ids))
    table.add("t6.combined_clustered", combined, seed=SEED, size=size, n=len(both))
    _by_winner(table, first)
    rows = study.of("arena")
    winners = {row.human_winner for row in first}
    table.add("exp2.models", count(len({one for row in rows for one in row.pair}), len(rows)), theirs=len(winners))
    table.add("exp2.pairs", count(len({row.pair for row in rows}), len(rows)))
    _chronic(table, first, second)
    table.add("families", of_rows({name: _family(start, first) for name, start in FAMILIES.items()}, len(first)))
    table.add("elo.direction", absent(NO_ELO))
    _against_mtbench(table, study)


def _run(table: FigureTable, study: Study, run: int) -> None:
    rows, judged = study.of("arena", run), study.judged("arena", run)
    matches, n = sum(row.match for row in judged), len(judged)
    table.add("t6.run{run}.matches", count(matches, n), run=run)
    table.add("t6.run{run}.wilson", ends_of(share(matches, n)(""), n), run=run)
    sides = [(row.side(row.human_winner), row.side(row.ai_winner)) for row in judged]
    table.add("t6.run{run}.kappa", kappa(sides), theirs=2 * matches / max(1, n) - 1, run=run)
    table.add("t6.run{run}.cost", of_rows(dollars(rows), len(rows)), run=run)


def _by_winner(table: FigureTable, first: list[LoggedEvaluation]) -> None:
    winners = Counter(row.human_winner for row in first if row.human_winner)
    models = {model for model, n in winners.items() if n >= FEWEST} | printed("t7.")
    for model in sorted(models, key=lambda model: (-winners[model], model)):
        mine = [row.match for row in first if row.human_winner == model]
        if len(mine) < FEWEST:
            why = f"Only {len(mine)} rows have this human winner; a line needs {FEWEST}."
            table.add("t7.{model}", absent(why), model=model, valid="", said="")
            continue
        left_out = f"The paper's table leaves this model out, though it has n >= {FEWEST}."
        words = {"model": model, "valid": " with a verdict", "said": ": the panel names it too"}
        table.add("t7.{model}", share_of(mine), "" if f"t7.{model}" in PUBLISHED else left_out, **words)


def _chronic(table: FigureTable, first: list[LoggedEvaluation], second: list[LoggedEvaluation]) -> None:
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
    value = {
        " vs ".join(pair): {key: found[key] for key in ("wrong_in_both_runs", "wrong_in_run1", "wrong_in_run2", "n")}
        for pair, found in sorted(counts.items(), key=lambda entry: (-entry[1]["wrong_in_both_runs"], entry[0]))
        if found["wrong_in_both_runs"] >= CHRONIC
    }
    each_run = {
        pair: {"wrong_in_both_runs": min(found["wrong_in_run1"], found["wrong_in_run2"]), "n": found["n"]}
        for pair, found in value.items()
    }
    table.add("exp2.chronic_pairs", of_rows(value, len(both)), theirs=each_run, chronic=CHRONIC)


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
    if not mtbench or not arena:
        table.add("t9.z", absent())
        table.add("t9.p", absent())
    else:
        test = two_proportion_z(hits, len(mtbench), others, len(arena))
        interval = (
            f"The difference is {100 * test.estimate:.1f} points (95 % {100 * test.low:.1f} to {100 * test.high:.1f})."
        )
        if all(judged):
            valid = two_proportion_z(hits, n, others, size)
            interval += (
                f" Over rows with a verdict alone ({valid.n_first} and {valid.n_second}) z = {valid.statistic:.2f}, "
                f"p = {valid.p_value:.3f}."
            )
        table.add("t9.z", made(test.statistic, test.n), interval)
        table.add("t9.p", made(test.p_value, test.n))
    every = {name: study.of(name) for name in ("mtbench", "arena")}
    value = {name: dollars(rows) for name, rows in every.items()}
    value |= {f"{name}_per_evaluation": value[name] / len(rows) for name, rows in every.items() if rows}
    table.add("t9.cost", of_rows(value, sum(map(len, every.values()))))
