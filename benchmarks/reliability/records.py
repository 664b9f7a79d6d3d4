"""One evaluation of one run: the panel's result for a labelled pair."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from metajudge.errors import InputError
from metajudge.stats.stability import Correctness

Status = Literal["ok", "tie", "no_verdict", "error"]
"""The panel named a winner; it tied; it answered without one (too few usable rankings); it could not be asked."""

TIE = "tie"
"""The label of a tie where verdicts are compared; no response may be called so."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The panel's verdict on one pair in one run.

    Attributes:
        run: from 1.
        cluster: what makes evaluations dependent: the same question with the same responses, whatever they are called.
        status: the result; only ``ok`` has a winner.
        reason: why there is no winner, else empty.
        votes: panel judge -> the response it ranked first; None for a tie of its own or a failure.
        shown_first: panel judge -> the response that stood first in its blinded order, by the stored label map.
        models: response -> the model that wrote it, where known.
        confidence: margin of the panel in [0, 1]; None without a verdict.
        cost_usd: of this evaluation, None where unknown.
    """

    item: str
    run: int
    cluster: str
    sides: tuple[str, str]
    human: str
    status: Status
    winner: str | None = None
    reason: str = ""
    votes: Mapping[str, str | None] = field(default_factory=dict)
    shown_first: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    confidence: float | None = None
    cost_usd: float | None = None

    def __post_init__(self) -> None:
        where = f"evaluation {self.item} of run {self.run}"
        if len(set(self.sides)) != 2 or TIE in self.sides:
            raise InputError(f"{where}: sides must be two response ids other than {TIE!r}")
        if self.human not in self.sides:
            raise InputError(f"{where}: the human's choice {self.human!r} is neither response")
        if (self.winner is not None) != (self.status == "ok") or self.winner not in (None, *self.sides):
            raise InputError(f"{where}: status {self.status} does not go with winner {self.winner!r}")
        for name, choice in (*self.votes.items(), *self.shown_first.items()):
            if choice is not None and choice not in self.sides:
                raise InputError(f"{where}: {name} chose {choice!r}, which is neither response")

    @property
    def outcome(self) -> Correctness:
        """Against the human's choice."""
        if self.status == "ok":
            return Correctness.RIGHT if self.winner == self.human else Correctness.WRONG
        return {"tie": Correctness.TIE, "no_verdict": Correctness.NO_VERDICT, "error": Correctness.ERROR}[self.status]

    @property
    def decided(self) -> bool:
        return self.status == "ok"

    @property
    def right(self) -> bool:
        return self.winner == self.human

    @property
    def label(self) -> str | None:
        """For comparing runs: side A or B, a tie, or None without a verdict."""
        if self.winner is not None:
            return self.side(self.winner)
        return TIE if self.status == "tie" else None

    def side(self, response: str) -> str:
        """A for the first response of the item, B for the second."""
        return "A" if response == self.sides[0] else "B"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def once(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Refuses two evaluations of one item in one run.

    Raises:
        InputError: there are two.
    """
    seen: dict[tuple[str, int], Evaluation] = {}
    for one in evaluations:
        if (one.item, one.run) in seen:
            raise InputError(f"item {one.item} is evaluated twice in run {one.run}: an evaluation counts once")
        seen[one.item, one.run] = one
    return list(seen.values())


def by_run(evaluations: Sequence[Evaluation]) -> dict[int, list[Evaluation]]:
    """Run -> its evaluations, in order."""
    runs: dict[int, list[Evaluation]] = {}
    for one in sorted(evaluations, key=lambda one: one.run):
        runs.setdefault(one.run, []).append(one)
    return runs


def by_item(evaluations: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """Item -> its evaluations, by run."""
    items: dict[str, list[Evaluation]] = {}
    for one in sorted(evaluations, key=lambda one: one.run):
        items.setdefault(one.item, []).append(one)
    return items
