"""Bars that a run has to reach: a precision, or a share of judgments kept.

Both shares are of the current run, and compared as they are: the interval beside a precision says what it is worth.
For a guarantee, set a guaranteed threshold (``metajudge calibrate threshold``).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from metajudge.errors import ConfigurationError

if TYPE_CHECKING:
    from metajudge.evidence.counting import Counts
    from metajudge.stats.interval_estimate import Estimate
    from metajudge.vetting.summary import VetSummary

Measure = Literal["precision", "kept"]


@dataclass(frozen=True, slots=True)
class Bar:
    """What a run has to reach: a share in [0, 1]."""

    measure: Measure
    least: float


@dataclass(frozen=True, slots=True)
class Reached:
    """What it did reach.

    Attributes:
        part, whole: the share reached; undefined where ``whole`` is 0, and then the bar is missed.
        where: what the share is of, for the sentence.
        estimate: of the precision, with the 95 % interval by question; None for another measure.
    """

    bar: Bar
    part: int
    whole: int
    where: str = ""
    estimate: "Estimate | None" = None

    @property
    def share(self) -> float | None:
        return self.part / self.whole if self.whole else None

    @property
    def passed(self) -> bool:
        return self.share is not None and round(self.share, 9) >= round(self.bar.least, 9)

    @property
    def unsure(self) -> bool:
        """Whether the interval contains the bar: another run could end on its other side."""
        return self.estimate is not None and self.estimate.low < self.bar.least <= self.estimate.high

    def sentence(self) -> str:
        where = f"{self.where}: " if self.where else ""
        if self.share is None:
            none = "no labelled judgment was kept" if self.bar.measure == "precision" else "there are no judgments"
            return f"{where}{none}, so {self.bar.measure} >= {self.bar.least:g} is not reached"
        counts = f"{self.part} of {self.whole}" + (" kept are right" if self.bar.measure == "precision" else " kept")
        verb = "reaches" if self.passed else "is below"
        if self.estimate is not None:
            low, high = (100 * end for end in self.estimate.interval)
            counts += f"; 95 % interval by question {low:.1f} to {high:.1f} %"
        return f"{where}{self.bar.measure} {self.share:.4g} ({counts}) {verb} {self.bar.least:g}"

    def to_json(self) -> dict[str, str | float | int | list[float] | None]:
        """Plain data, for ``--json``."""
        return {
            "measure": self.bar.measure,
            "least": self.bar.least,
            "value": self.share,
            "n": self.whole,
            "interval": None if self.estimate is None else list(self.estimate.interval),
            "where": self.where or None,
            "passed": self.passed,
        }


def check_labelled(bars: Iterable[Bar], labelled: bool) -> None:
    """:func:`check_labels` where it is known whether any verdict can be compared with a label.

    Raises:
        ConfigurationError: none can, and a bar needs it.
    """
    if not labelled and any(bar.measure == "precision" for bar in bars):
        raise ConfigurationError(
            "--fail-under precision needs labels, and no judgment of the input has one: "
            "put the true winner into item.label, join --labels FILE, or use --fail-under kept=SHARE"
        )


def reached_by(bars: Iterable[Bar], summary: "VetSummary", labels: "Counts") -> list[Reached]:
    """What a vetting run reached; ``kept`` counts unscored and failed judgments as not kept."""
    kept = labels.rows()["kept"]
    return [
        Reached(bar, kept.right, kept.compared, estimate=kept.share)
        if bar.measure == "precision"
        else Reached(bar, summary.kept, summary.judgments)
        for bar in bars
    ]
