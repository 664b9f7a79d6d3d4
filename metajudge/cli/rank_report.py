"""What ``metajudge rank`` prints."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from metajudge.readers.ballots import BallotFile
from metajudge.report.document import Cell, Column, Table
from metajudge.report.text import table_to_text
from metajudge.voting import (
    BradleyTerry,
    Consensus,
    Kemeny,
    PlackettLuce,
    Profile,
    RankedPairs,
    WeightedBorda,
    pair_counts,
)

SHOWN = 5
"""Equally good orders printed; of long ones only the first."""

LONG = 12

_SCORES = {
    "borda": "points",
    "copeland": "contests won",
    "schulze": "candidates below",
    "ranked_pairs": "candidates below",
    "plurality": "first places",
    "bradley_terry": "log-strength",
    "plackett_luce": "log-strength",
    "agreement_weighted_borda": "points",
}


def as_data(result: Consensus, profile: Profile, file: BallotFile, options: dict[str, Any]) -> dict[str, Any]:
    """The result for machines."""
    data: dict[str, Any] = {
        "rule": result.rule,
        "options": options,
        "file": file.name,
        "format": file.format,
        "ballots": len(file.ballots),
        "weight": float(profile.total_weight),
        "candidates": list(profile.candidates),
        "left_out": [{"line": reject.line, "reason": reject.reason} for reject in file.rejects],
        "ranking": [list(group) for group in result.ranking],
        "ties": [list(group) for group in result.ties],
        "scores": dict(result.scores),
        "warnings": list(_warnings(result, profile, file, options)),
    }
    match result:
        case Kemeny():
            data |= {
                "cost": result.cost,
                "proven": result.proven,
                "n_optima": result.n_optima,
                "n_optima_at_least": result.n_optima_at_least,
                "optima": [list(order) for order in result.optima],
                "mean_rank": dict(result.mean_rank),
                "span": {name: [span.best, span.worst] for name, span in result.span.items()},
                "over_all_optima": result.over_all_optima,
            }
        case BradleyTerry() | PlackettLuce():
            data |= {"standard_errors": dict(result.standard_errors), "log_likelihood": result.log_likelihood}
            if isinstance(result, BradleyTerry):
                data["draw_parameter"] = result.draw_parameter
        case RankedPairs():
            data |= {"outcomes": result.outcomes, "exact": result.exact}
        case WeightedBorda():
            data |= {
                "voter_weights": list(result.voter_weights),
                "cliques": [list(clique) for clique in result.cliques],
                "capped": list(result.capped),
            }
    return data


def as_text(result: Consensus, profile: Profile, file: BallotFile, options: dict[str, Any]) -> str:
    """The result for people: one table, then what to know about it."""
    weight = float(profile.total_weight)
    ballots = f"{len(file.ballots)} ballot{'s' * (len(file.ballots) != 1)}" + (
        "" if weight == len(file.ballots) else f" of total weight {weight:g}"
    )
    caption = f"{result.rule}: {len(profile.candidates)} candidates, {ballots}"
    lines = [table_to_text(Table(caption=caption, columns=_columns(result), rows=tuple(_rows(result))))]
    if isinstance(result, Kemeny):
        lines += _optima(result)
    lines += _warnings(result, profile, file, options)
    return "\n".join(lines)


def _columns(result: Consensus) -> tuple[Column, ...]:
    columns = [Column(title="place", kind="text"), Column(title="candidate")]
    match result:
        case Kemeny():
            columns += [Column(title="mean rank", kind="number"), Column(title="best to worst")]
        case BradleyTerry() | PlackettLuce():
            columns += [Column(title="log-strength", kind="number"), Column(title="std. error", kind="number")]
        case _ if result.rule == "median_rank":
            columns += [Column(title="median rank", kind="number")]
        case _:
            columns += [Column(title=_SCORES[result.rule], kind="number")]
    return tuple(columns)


def _rows(result: Consensus) -> Iterator[tuple[Cell, ...]]:
    place = 1
    for group in result.ranking:
        shown = str(place) if len(group) == 1 else f"{place}-{place + len(group) - 1} tied"
        for name in group:
            yield (shown, str(name), *_figures(result, name))
        place += len(group)


def _figures(result: Consensus, name: str) -> tuple[Cell, ...]:
    match result:
        case Kemeny():
            span = result.span[name]
            return (result.mean_rank[name], f"{span.best} to {span.worst}")
        case BradleyTerry() | PlackettLuce():
            strength = result.scores[name]
            return (0.0 if abs(strength) < 0.0005 else strength, result.standard_errors[name])  # no -0.000
        case _ if result.rule == "median_rank":
            return (len(result.scores) - result.scores[name],)
    return (result.scores[name],)


def _optima(result: Kemeny) -> list[str]:
    """Cost, number of optima, and the first of them."""
    count = f"{result.n_optima:,}" if result.n_optima is not None else f"at least {result.n_optima_at_least:,}"
    what = "order costs" if count == "1" else "orders cost"
    lines = [f"Cost {result.cost:g} (voter weight over pairs the other way); {count} {what} as little: proven."]
    if result.is_unique:
        return lines
    shown = result.optima[: SHOWN if len(result.scores) <= LONG else 1]
    lines += ["  " + " > ".join(map(str, order)) for order in shown]
    if result.n_optima is None or result.n_optima > len(shown):
        lines.append("  ...")
    if not result.over_all_optima:
        lines.append(
            f"There are too many to count: mean rank and span are over {len(result.optima)} of them; places keep apart "
            "only what is proven to be in the same order in all."
        )
    return lines


def _warnings(result: Consensus, profile: Profile, file: BallotFile, options: dict[str, Any]) -> Iterator[str]:
    if isinstance(result, Kemeny) and not result.is_unique:
        yield from _ambiguous(profile, options)
    if isinstance(result, RankedPairs) and not result.exact:
        yield (
            "Too many majorities are equally strong to follow every order of locking them: those that contradict each "
            "other were left out, so the first group may be too large or another."
        )
    if isinstance(result, WeightedBorda) and result.warning:
        yield f"Warning: {result.warning}."
    if isinstance(result, BradleyTerry | PlackettLuce):
        if options["prior"]:
            yield f"With a prior of {options['prior']:g} pseudo-wins each way: strengths depend on it."
        elif isinstance(result, BradleyTerry) and (profile.ranked.sum(axis=1) > 2).any():
            yield "Pairs of one ranking are not independent: the standard errors are too small for whole rankings."
    questions = {ballot.question for ballot in file.ballots if ballot.question is not None}
    if len(questions) > 1:
        yield f"The ballots are on {len(questions)} questions and were counted together."
    ranked = profile.ranked.sum(axis=1)
    if options.get("unranked") == "below" and len(profile.candidates) > 2 and (ranked == 2).all():
        yield (
            f"Every ballot names two of {len(profile.candidates)} candidates, and the others stand below them: if "
            "these are votes on pairs, take --unranked ignore."
        )
    if not profile.exact:
        yield "The weights were rounded to 1e-12 of their sum; costs that differ by less count as equal."


def _ambiguous(profile: Profile, options: dict[str, Any]) -> Iterator[str]:
    counts = pair_counts(profile, options["unranked"])
    level = int((np.triu(counts.margins == 0, 1)).sum())
    pairs = len(profile.candidates) * (len(profile.candidates) - 1) // 2
    yield f"The order is ambiguous: report all, or the mean ranks, never one. {level} of {pairs} pairs are level."
    voters = len(profile.places)
    even = bool((profile.weights == profile.weights[0]).all()) and voters % 2 == 0
    if even and level:
        yield (
            f"An even number of equal voters ({voters}) leaves pairs level that an odd panel decides: add a voter, or "
            "weigh them."
        )
