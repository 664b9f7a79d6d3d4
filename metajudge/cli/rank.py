"""``metajudge rank``: one order from a file of rankings, by any voting rule, with its ties."""

from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.inputs import AS_THEY_ARE, Reading, keep_mapping, reads_judgments
from metajudge.cli.options import JsonOption, refuse_bad_lines
from metajudge.voting.options import Rule, TieOption, UnrankedOption


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

    Ties are results: none is settled by name or position.

    Exit code 1: the time limit came before the proof.
    """
    from metajudge.errors import UnprovenError
    from metajudge.readers.ranking_files import read_ranking_file
    from metajudge.runs.exit_codes import ExitCode
    from metajudge.voting.options import as_data, count_ballots, rule_options

    options = rule_options(rule, ties, unranked, max_optima, time_limit, prior, flags=True)
    file = read_ranking_file(ballots, reading.mapping)
    if reading.mapping is not None:
        keep_mapping([str(ballots)], {str(ballots): "mapped"}, reading.mapping)
    refuse_bad_lines(file.rejects, reading.strict)
    for reject in file.rejects:
        typer.echo(f"left out: {reject}", err=True)
    try:
        rankings = [ballot.ranking for ballot in file.ballots]
        weights = [ballot.weight for ballot in file.ballots]
        result, profile = count_ballots(rankings, file.candidates, weights, rule, options)
    except UnprovenError as error:
        if as_json:
            _print_json({"rule": rule, "proven": False, "cost": error.cost, "bound": error.bound, "best": error.best})
        typer.echo(f"metajudge: {error}", err=True)
        raise typer.Exit(ExitCode.INCOMPLETE) from None
    if as_json:
        _print_json(as_data(result, profile, file, options))
    else:
        from metajudge.cli.rank_report import as_text

        typer.echo(as_text(result, profile, file, options))


def _print_json(data: dict[str, Any]) -> None:
    import orjson

    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
