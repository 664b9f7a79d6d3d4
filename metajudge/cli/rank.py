"""``metajudge rank``: one order from a file of rankings, by any voting rule, with its ties."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metajudge.cli.options import JsonOption

if TYPE_CHECKING:
    from metajudge.readers.ballots import BallotFile
    from metajudge.voting import Profile


class Rule(StrEnum):
    """Voting rules by their names in ``metajudge.voting``."""

    KEMENY = "kemeny"
    BORDA = "borda"
    COPELAND = "copeland"
    SCHULZE = "schulze"
    RANKED_PAIRS = "ranked_pairs"
    MEDIAN_RANK = "median_rank"
    PLURALITY = "plurality"
    BRADLEY_TERRY = "bradley_terry"
    PLACKETT_LUCE = "plackett_luce"
    AGREEMENT_WEIGHTED_BORDA = "agreement_weighted_borda"


class TieOption(StrEnum):
    """What a ballot's tie counts; which rule takes which is in ``TIES``."""

    HALF = "half"
    IGNORE = "ignore"
    DAVIDSON = "davidson"
    BRESLOW = "breslow"
    REFUSE = "refuse"


class UnrankedOption(StrEnum):
    """What a ballot says of candidates it does not name."""

    BELOW = "below"
    IGNORE = "ignore"


TIES = {
    Rule.KEMENY: (TieOption.HALF, TieOption.IGNORE),
    Rule.BRADLEY_TERRY: (TieOption.HALF, TieOption.IGNORE, TieOption.DAVIDSON),
    Rule.PLACKETT_LUCE: (TieOption.BRESLOW, TieOption.REFUSE),
}
"""Rules with an option for ties, its default first."""

MODELS = (Rule.BRADLEY_TERRY, Rule.PLACKETT_LUCE)
"""Rules that estimate strengths: unnamed candidates were not compared by default, and a prior may be added."""


LISTED = 10
"""Equally good orders listed where the user does not say."""


SECONDS = 60.0
"""For a proof where the user does not say: dozens of candidates in hundreds of thousands of near-random ballots can
take hours."""


def rank(
    ballots: Annotated[
        Path,
        typer.Argument(
            help="Rankings: JSONL, CSV/TSV, or PrefLib .soc/.soi/.toc/.toi; plain or gzip.", metavar="BALLOTS"
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
) -> None:
    """Rank the candidates of a file of rankings. Ties are results: none is settled by name or position.

    Exit code 1 where lines had to be left out, or the time limit came before the proof.
    """
    from metajudge.errors import UnprovenError
    from metajudge.readers.ballots import read_ballots

    options = _options(rule, ties, unranked, max_optima, time_limit, prior)
    file = read_ballots(ballots)
    for reject in file.rejects:
        typer.echo(f"left out: {reject}", err=True)
    try:
        result, profile = _count(file, rule, options)
    except UnprovenError as error:
        if as_json:
            _print_json({"rule": rule, "proven": False, "cost": error.cost, "bound": error.bound, "best": error.best})
        typer.echo(f"metajudge: {error}", err=True)
        raise typer.Exit(1) from None
    if as_json:
        from metajudge.cli.rank_report import as_data

        _print_json(as_data(result, profile, file, options))
    else:
        from metajudge.cli.rank_report import as_text

        typer.echo(as_text(result, profile, file, options))
    raise typer.Exit(1 if file.rejects else 0)


def _options(
    rule: Rule,
    ties: TieOption | None,
    unranked: UnrankedOption | None,
    max_optima: int | None,
    time_limit: float | None,
    prior: float | None,
) -> dict[str, Any]:
    """The rule's own options; one it does not have is refused, not dropped."""
    from metajudge.errors import ConfigurationError

    options: dict[str, Any] = {}
    if rule in TIES:
        if ties is not None and ties not in TIES[rule]:
            raise ConfigurationError(f"{rule} takes --ties {' or '.join(TIES[rule])}, not {ties}")
        options["ties"] = str(ties or TIES[rule][0])
    elif ties is not None:
        raise ConfigurationError(f"{rule} has no --ties: ties on ballots have one meaning there; leave the option out")
    if rule is not Rule.PLURALITY:
        default = UnrankedOption.IGNORE if rule in MODELS else UnrankedOption.BELOW
        options["unranked"] = str(unranked or default)
    elif unranked is not None:
        raise ConfigurationError("plurality counts first places alone and has no --unranked: leave the option out")
    if rule is Rule.KEMENY:
        options |= {"max_optima": max_optima or LISTED, "time_limit": SECONDS if time_limit is None else time_limit}
    elif time_limit is not None:
        raise ConfigurationError(f"{rule} has no --time-limit: kemeny alone searches for a proof")
    elif max_optima is not None:
        raise ConfigurationError(f"{rule} has no --max-optima: kemeny alone lists equally good orders")
    if rule in MODELS:
        options["prior"] = prior or 0.0
    elif prior is not None:
        raise ConfigurationError(f"{rule} has no --prior: bradley_terry and plackett_luce alone estimate strengths")
    return options


def _count(file: "BallotFile", rule: Rule, options: dict[str, Any]) -> "tuple[Any, Profile]":
    from metajudge import voting

    rankings = [ballot.ranking for ballot in file.ballots]
    weights = [ballot.weight for ballot in file.ballots]
    profile = voting.read_profile(rankings, file.candidates, weights)
    return getattr(voting, rule)(profile, **options), profile


def _print_json(data: dict[str, Any]) -> None:
    import orjson

    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
