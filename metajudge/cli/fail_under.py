"""``--fail-under``: exit code 5 if a run's precision, or the share it kept, is too low."""

from collections.abc import Sequence
from typing import Annotated, cast, get_args

import typer

from metajudge.cli.options import complete_bar
from metajudge.errors import ConfigurationError
from metajudge.vetting.bars import Bar, Measure, Reached

FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Exit with 5 below this value: precision=0.9 (correct among the labelled judgments kept) or kept=0.5 "
        "(kept among all judgments). Repeatable.",
        metavar="precision=X|kept=X",
        autocompletion=complete_bar,
    ),
]


def parse_fail_under(given: Sequence[str] | None) -> tuple[Bar, ...]:
    """Reads ``precision=0.9`` and ``kept=0.5``.

    Raises:
        ConfigurationError: another measure, no number in [0, 1], or one measure twice.
    """
    bars: list[Bar] = []
    for text in given or ():
        name, sign, number = (part.strip() for part in text.partition("="))
        example = "write --fail-under precision=0.9 or --fail-under kept=0.5"
        if not sign or name not in get_args(Measure):
            raise ConfigurationError(f"--fail-under {text}: {example}")
        try:
            least = float(number)
        except ValueError:
            raise ConfigurationError(f"--fail-under {text}: {number!r} is not a number; {example}") from None
        if not 0 <= least <= 1:
            raise ConfigurationError(f"--fail-under {text}: a share lies between 0 and 1 (for 90 % write 0.9)")
        bars.append(Bar(cast("Measure", name), least))
    if len({bar.measure for bar in bars}) < len(bars):
        raise ConfigurationError("--fail-under names one measure twice: give each at most once")
    return tuple(bars)


def tell_missed(reached: Sequence[Reached]) -> bool:
    """Prints the missed thresholds, and precisions whose interval spans the bar; returns whether any was missed."""
    missed = [one for one in reached if not one.passed]
    for one in reached:
        if one.passed and one.unsure:
            typer.echo(f"metajudge: --fail-under: {one.sentence()}: met, but the interval spans the bar", err=True)
    for one in missed:
        typer.echo(f"metajudge: --fail-under: {one.sentence()}", err=True)
    return bool(missed)
