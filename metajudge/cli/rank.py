"""``metajudge rank``: one order from a file of rankings, by any voting rule, with its ties."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import orjson
import typer

from metajudge.cli.inputs import AS_THEY_ARE, Reading, reads_items
from metajudge.cli.options import JsonOption, refuse_bad_lines
from metajudge.errors import UnprovenError
from metajudge.reading.rankings import read_ranking_file
from metajudge.report.document import Cell
from metajudge.report.tables import Head, table_to_text, table_with
from metajudge.runs.exit_codes import ExitCode
from metajudge.voting import BradleyTerry, Consensus, Kemeny, PlackettLuce
from metajudge.voting.options import Rule, TieOption, UnrankedOption
from metajudge.voting.rank import Ranked
from metajudge.voting.rank import rank as count

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
    lines = [table_to_text(table_with(caption, _places(result), *_columns(result)))]
    if isinstance(result, Kemeny):
        lines += _optima(result)
    return "\n".join((*lines, *ranked.warnings))


def _places(result: Consensus) -> Iterator[tuple[str, str]]:
    """Place and name of each candidate, best first."""
    place = 1
    for group in result.ranking:
        shown = str(place) if len(group) == 1 else f"{place}-{place + len(group) - 1} tied"
        yield from ((shown, name) for name in group)
        place += len(group)


def _columns(result: Consensus) -> list[tuple[Head, Callable[[tuple[str, str]], Cell]]]:
    scores = result.scores
    columns: list[tuple[Head, Callable[[tuple[str, str]], Cell]]] = [
        ("place", lambda one: one[0]),
        ("candidate", lambda one: str(one[1])),
    ]
    match result:
        case Kemeny():
            means, span = result.mean_rank, result.span
            columns.append((("mean rank", "number"), lambda one: means[one[1]]))
            columns.append(("best to worst", lambda one: f"{span[one[1]].best} to {span[one[1]].worst}"))
        case BradleyTerry() | PlackettLuce():
            errors = result.standard_errors
            no_zero = {name: 0.0 if abs(score) < 0.0005 else score for name, score in scores.items()}  # no -0.000
            columns.append((("log-strength", "number"), lambda one: no_zero[one[1]]))
            columns.append((("std. error", "number"), lambda one: errors[one[1]]))
        case _ if result.rule == "median_rank":
            columns.append((("median rank", "number"), lambda one: len(scores) - scores[one[1]]))
        case _:
            columns.append(((_SCORES[result.rule], "number"), lambda one: scores[one[1]]))
    return columns


def _optima(result: Kemeny) -> list[str]:
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


@reads_items
def rank(
    ballots: Annotated[
        Path,
        typer.Argument(
            help="Rankings: JSONL, CSV/TSV, or PrefLib .soc/.soi/.toc/.toi; plain or gzip. Or judgments that name the "
            "models of their responses.",
            metavar="BALLOTS",
        ),
    ],
    rule: Annotated[Rule, typer.Option(help="The voting rule.")] = Rule.KEMENY,
    ties: Annotated[
        TieOption | None,
        typer.Option(
            help="A ballot's tie: half a preference each way, or ignore (kemeny, bradley_terry); davidson "
            "(bradley_terry); breslow or refuse (plackett_luce). Default: the first named for the rule."
        ),
    ] = None,
    unranked: Annotated[
        UnrankedOption | None,
        typer.Option(
            help="Candidates a ballot does not name: below those it names (default), or ignore, as not compared "
            "(default of bradley_terry and plackett_luce)."
        ),
    ] = None,
    max_optima: Annotated[
        int | None, typer.Option(help="List at most this many equally good orders (kemeny); default 10.", min=1)
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for a proof (kemeny); default 60.")] = None,
    prior: Annotated[
        float | None,
        typer.Option(help="Pseudo-wins each way between every pair (bradley_terry, plackett_luce); default 0."),
    ] = None,
    as_json: JsonOption = False,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Rank the candidates of a file of rankings, or the models of a file of judgments.

    Ties are kept: none is broken by name or position.

    Exit code 1: the time limit was reached before the optimum was proven.
    """
    file = read_ranking_file(ballots, reading.mapping)
    reading.keep([str(ballots)], {str(ballots): "mapped"})
    refuse_bad_lines(file.rejects, reading.strict)
    for reject in file.rejects:
        typer.echo(f"skipped: {reject}", err=True)
    try:
        result = count(
            [ballot.ranking for ballot in file.ballots],
            rule=rule,
            candidates=file.candidates,
            weights=[ballot.weight for ballot in file.ballots],
            questions=len({ballot.question for ballot in file.ballots} - {None}),
            ties=ties,
            unranked=unranked,
            max_optima=max_optima,
            time_limit=time_limit,
            prior=prior,
            flags=True,
        )
    except UnprovenError as error:
        if as_json:
            _print_json({"rule": rule, "proven": False, "cost": error.cost, "bound": error.bound, "best": error.best})
        typer.echo(f"metajudge: {error}", err=True)
        raise typer.Exit(ExitCode.INCOMPLETE) from None
    if as_json:
        left_out = [{"line": reject.line, "reason": reject.reason} for reject in file.rejects]
        _print_json({**result.to_json(), "file": file.name, "format": file.format, "left_out": left_out})
    else:
        typer.echo(as_text(result))


def _print_json(data: Mapping[str, object]) -> None:
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
