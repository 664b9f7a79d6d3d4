"""``--fail-under``: a run that ends with exit code 5 where its precision, or the share it kept, is too low.

A pipeline stops there. Both shares are of the run at hand, without an interval: whoever needs a promise sets a
guaranteed threshold (``metajudge calibrate threshold``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import typer

from metajudge.errors import ConfigurationError

Measure = Literal["precision", "accepted"]

FAIL_UNDER_HELP = (
    "Exit with 5 where less is reached: precision=0.9 (share of right ones among the labelled judgments kept) or "
    "accepted=0.5 (share kept of all). Repeatable."
)
FAIL_UNDER_METAVAR = "precision=X|accepted=X"


@dataclass(frozen=True, slots=True)
class Bar:
    """What a run has to reach: a share in [0, 1]."""

    measure: Measure
    least: float


@dataclass(frozen=True, slots=True)
class Reached:
    """What it did reach.

    Attributes:
        part, whole: the share reached; there is none where ``whole`` is 0, and the bar is missed then.
        where: what the share is of, for the sentence.
    """

    bar: Bar
    part: int
    whole: int
    where: str = ""

    @property
    def share(self) -> float | None:
        return self.part / self.whole if self.whole else None

    @property
    def passed(self) -> bool:
        return self.share is not None and round(self.share, 9) >= round(self.bar.least, 9)

    def sentence(self) -> str:
        where = f"{self.where}: " if self.where else ""
        if self.share is None:
            none = "no labelled judgment was kept" if self.bar.measure == "precision" else "there are no judgments"
            return f"{where}{none}, so {self.bar.measure} >= {self.bar.least:g} is not reached"
        counts = f"{self.part} of {self.whole}" + (" kept are right" if self.bar.measure == "precision" else " kept")
        verb = "reaches" if self.passed else "is below"
        return f"{where}{self.bar.measure} {self.share:.4g} ({counts}) {verb} {self.bar.least:g}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        return {
            "measure": self.bar.measure,
            "least": self.bar.least,
            "value": self.share,
            "n": self.whole,
            "where": self.where or None,
            "passed": self.passed,
        }


def parse_fail_under(given: Sequence[str] | None) -> tuple[Bar, ...]:
    """Reads ``precision=0.9`` and ``accepted=0.5``.

    Raises:
        ConfigurationError: another measure, no number in [0, 1], or one measure twice.
    """
    bars: list[Bar] = []
    for text in given or ():
        name, sign, number = (part.strip() for part in text.partition("="))
        example = "write --fail-under precision=0.9 or --fail-under accepted=0.5"
        if not sign or name not in get_args(Measure):
            raise ConfigurationError(f"--fail-under {text}: {example}")
        try:
            least = float(number)
        except ValueError:
            raise ConfigurationError(f"--fail-under {text}: {number!r} is no number; {example}") from None
        if not 0 <= least <= 1:
            raise ConfigurationError(f"--fail-under {text}: a share lies between 0 and 1 (for 90 % write 0.9)")
        bars.append(Bar(cast("Measure", name), least))
    if len({bar.measure for bar in bars}) < len(bars):
        raise ConfigurationError("--fail-under names one measure twice: give each at most once")
    return tuple(bars)


def check_labels(bars: Iterable[Bar], judgments: Iterable[Any]) -> None:
    """Refuses a precision bar on judgments without labels, before anything is asked.

    Raises:
        ConfigurationError: no judgment has a label to compare its verdict with.
    """
    if any(bar.measure == "precision" for bar in bars) and all(judgment.correct is None for judgment in judgments):
        raise ConfigurationError(
            "--fail-under precision needs labels, and no judgment of the input has one to compare its verdict with: "
            "put the true winner into item.label, or use --fail-under accepted=SHARE"
        )


def of_vetting(bars: Iterable[Bar], summary: Any, labels: Any) -> list[Reached]:
    """What a vetting run reached; ``accepted`` counts unscored and failed judgments as not kept."""
    return [
        Reached(bar, labels.kept.successes, labels.kept.n)
        if bar.measure == "precision"
        else Reached(bar, summary.accepted, summary.judgments)
        for bar in bars
    ]


def of_findings(bars: Iterable[Bar], findings: Any) -> list[Reached]:
    """What each measured selection of a benchmark reached, over all categories.

    Counted are the configurations asked (without agents: free evidence above the threshold) and guaranteed
    thresholds, for every judge; rows set by coverage or for comparison are not.
    """
    reached = []
    for judge in findings.judges:
        rows = [row for row in judge.rows if row.kind == "configuration" or row.threshold.origin.startswith("guara")]
        rows = rows or [row for row in judge.rows if row.kind == "evidence" and row.threshold.value is not None]
        for row in (row for row in rows if not row.threshold.origin.startswith("set by coverage")):
            cell = row.cells["Overall"]
            for bar in bars:
                where = f"{judge.judge}, {row.name}"
                precision = bar.measure == "precision"
                part, whole = (cell.selected_right, cell.selected) if precision else (cell.selected, cell.n)
                reached.append(Reached(bar, part, whole, where))
    return reached


def tell_missed(reached: Sequence[Reached]) -> bool:
    """Says on standard error which bars were missed; returns whether any was."""
    missed = [one for one in reached if not one.passed]
    for one in missed:
        typer.echo(f"metajudge: --fail-under: {one.sentence()}", err=True)
    return bool(missed)
