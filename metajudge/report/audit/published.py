"""An audit as a document: the JSON that ``metajudge audit --json`` prints and ``POST /v1/audit`` returns.

It holds what :class:`metajudge.audit.card.AuditReport` holds. Of a judge, ``accuracy`` and ``kappa`` are plain numbers;
every figure with its interval, its count and its definition is in ``figures``. Texts are shortened, and what looks like
a secret in them is hidden.
"""

from typing import Any, Literal

from pydantic import Field

from metajudge.audit.card import (
    AuditReport,
    Ceiling,
    Check,
    ClassFigures,
    Confusion,
    Contested,
    CorrectedRate,
    Disagreement,
    Figure,
    Group,
    Holdings,
    JudgeCard,
    Jury,
    Kappa,
    NextStep,
    Support,
)
from metajudge.audit.gather import EXCERPT
from metajudge.evidence.dependence import JudgesTogether
from metajudge.files.secrets import without_secrets
from metajudge.installation import __version__
from metajudge.types.frozen import Finite
from metajudge.types.verdict import VerdictKind

FIGURES = (
    *("accuracy", "kappa", "ceiling_gap", "peer_agreement", "flips", "first_place", "repeats", "prompt_agreement"),
    *("mean", "label_mean"),
)
"""The fields of a judge's card that are figures, in the order of a report."""


class AuditedJudge(Finite):
    """One judge's verdicts of one kind.

    Attributes:
        judge: its name.
        kind: of its verdicts.
        n: judgments, those without a verdict included.
        n_no_verdict: judgments without a verdict.
        n_labelled: verdicts that can be compared with a label.
        questions: different questions.
        accuracy: share of right verdicts by the declared rule, among labelled ones; null without labels.
        kappa: agreement with the labels beyond chance; null where it cannot be computed.
        human_ceiling: how well people agree with one another on this kind; null without several labels an item.
        figures: name -> figure with interval, count and definition, of those that the data give.
        checks: every check that the data support.
        classes: by class of the label.
        confusion: verdicts by labels.
        scale_use: value of the scale -> verdicts that use it.
        over_time: accuracy, or agreement with peers, by stretch of time.
        versions: by version of the judge.
        categories: by category of the items.
        contested: items on which people disagree.
        rates: rates corrected for the errors of this judge, beside the naive ones.
        worst: the worst disagreements with labels, worst first.
    """

    judge: str
    kind: VerdictKind
    n: int
    n_no_verdict: int
    n_labelled: int
    questions: int
    accuracy: float | None
    kappa: float | None
    human_ceiling: float | None
    figures: dict[str, Kappa | Figure]
    checks: tuple[Check, ...]
    classes: tuple[ClassFigures, ...]
    confusion: Confusion | None
    scale_use: dict[str, int]
    over_time: tuple[Group, ...]
    versions: tuple[Group, ...]
    categories: tuple[Group, ...]
    contested: Contested | None
    rates: tuple[CorrectedRate, ...]
    worst: tuple[Disagreement, ...]

    @property
    def findings(self) -> tuple[Check, ...]:
        """The checks that found something."""
        return tuple(one for one in self.checks if one.status == "finding")


class NextCommand(NextStep):
    """A next step, with the command that takes it; empty where no command does."""

    command: str = ""


class AuditDocument(Finite):
    """An audit.

    Attributes:
        format: always ``metajudge-audit``.
        version: of this format.
        made_by: version of metajudge.
        inputs: the files, as they were named; empty for judgments that came without a file.
        holdings: what the file holds.
        supports: what it allows to find out today, and what one more column would add.
        level: of the findings of one card, all together.
        judges: one entry for each judge and kind of verdict.
        ceilings: human ceilings by kind.
        juries: by kind, where several judges judged the same items.
        independence: by kind of answers, whether the judges are independent of one another, without labels.
        next: next steps with their commands, in order of use.
        notices: what was left out or must be known.
    """

    format: Literal["metajudge-audit"] = "metajudge-audit"
    version: Literal[1] = 1
    made_by: str = Field(default=__version__)
    inputs: tuple[str, ...] = ()
    holdings: Holdings
    supports: tuple[Support, ...]
    level: float
    judges: tuple[AuditedJudge, ...]
    ceilings: tuple[Ceiling, ...]
    juries: tuple[Jury, ...]
    independence: tuple[JudgesTogether, ...] = ()
    next: tuple[NextCommand, ...]
    notices: tuple[str, ...]

    @property
    def findings(self) -> tuple[tuple[AuditedJudge, Check], ...]:
        """Every finding, with its judge."""
        return tuple((judge, check) for judge in self.judges for check in judge.findings)


def published(
    found: AuditReport,
    *,
    inputs: tuple[str, ...] = (),
    next_commands: tuple[NextCommand, ...] | None = None,
    notices: tuple[str, ...] = (),
) -> AuditDocument:
    """The document of an audit.

    Args:
        found: what the audit found.
        inputs: the files' names, for the reader.
        next_commands: the next steps with commands; without, the steps have none.
        notices: what reading the files gave to know, before the audit's own notices.
    """
    steps = next_commands
    if steps is None:
        steps = tuple(NextCommand(**one.model_dump()) for one in found.next_steps)
    ceilings = {one.kind: one.agreement.estimate for one in found.ceilings}
    return AuditDocument(
        inputs=inputs,
        holdings=found.holdings,
        supports=found.supports,
        level=found.level,
        judges=tuple(_judge(card, ceilings.get(card.kind)) for card in found.judges),
        ceilings=found.ceilings,
        juries=found.juries,
        independence=found.independence,
        next=steps,
        notices=tuple(dict.fromkeys((*notices, *found.notices))),
    )


def _judge(card: JudgeCard, ceiling: float | None) -> AuditedJudge:
    figures = {name: figure for name in FIGURES if (figure := getattr(card, name)) is not None}
    same = {name: getattr(card, name) for name in AuditedJudge.model_fields if name not in _OWN}
    return AuditedJudge(
        **same,
        accuracy=_estimate(card.accuracy),
        kappa=_estimate(card.kappa),
        human_ceiling=ceiling,
        figures=figures,
        worst=tuple(_shown(one) for one in card.worst),
    )


_OWN = {"accuracy", "kappa", "human_ceiling", "figures", "worst"}


def _estimate(figure: Figure | None) -> float | None:
    return None if figure is None else figure.estimate


def _shown(one: Disagreement) -> Disagreement:
    texts: dict[str, Any] = {
        name: _cut(without_secrets(getattr(one, name))) for name in ("question", "response", "rationale")
    }
    return one.model_copy(update=texts)


def _cut(text: str) -> str:
    """The text, with dots where it or the audit ended it early."""
    if len(text) < EXCERPT:
        return text
    return text[: EXCERPT - 3].rstrip() + "..."
