"""``metajudge rank``: one order from a file of rankings, by any voting rule, with its ties."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import orjson
import typer

from metajudge.cli.inputs import AS_THEY_ARE, Reading, keep_mapping, reads_judgments
from metajudge.cli.options import JsonOption, refuse_bad_lines
from metajudge.cli.rank_report import as_text
from metajudge.errors import UnprovenError
from metajudge.readers.ranking_files import read_ranking_file
from metajudge.runs.exit_codes import ExitCode
from metajudge.voting.options import Rule, TieOption, UnrankedOption
from metajudge.voting.rank import rank as count


@reads_judgments
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
    if reading.mapping is not None:
        keep_mapping([str(ballots)], {str(ballots): "mapped"}, reading.mapping)
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
