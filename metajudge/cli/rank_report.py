"""The output of ``metajudge rank``."""

from collections.abc import Iterator

from metajudge.report.document import Cell, Column, Table
from metajudge.report.text import table_to_text
from metajudge.voting import BradleyTerry, Consensus, Kemeny, PlackettLuce
from metajudge.voting.rank import Ranked

SHOWN = 5
"""Maximum number of equally good orders printed; fewer if they are long."""

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


def as_text(ranked: Ranked) -> str:
    """The result as text: one table, then its caveats."""
    result, weight = ranked.consensus, float(ranked.profile.total_weight)
    ballots = f"{ranked.ballots} ballot{'s' * (ranked.ballots != 1)}" + (
        "" if weight == ranked.ballots else f" of total weight {weight:g}"
    )
    caption = f"{result.rule}: {len(ranked.profile.candidates)} candidates, {ballots}"
    lines = [table_to_text(Table(caption=caption, columns=_columns(result), rows=tuple(_rows(result))))]
    if isinstance(result, Kemeny):
        lines += _optima(result)
    return "\n".join((*lines, *ranked.warnings))


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
            f"There are too many to count: mean rank and span are over {len(result.optima)} of them; places separate "
            "only candidates proven to be in the same order in all."
        )
    return lines
