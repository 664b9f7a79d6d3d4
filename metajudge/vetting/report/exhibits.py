"""Judgments with their texts: as they are, or as people see them who have to judge them blind."""

from collections.abc import Iterator, Sequence
from typing import Final

from metajudge.report.document import Exhibit, Passage
from metajudge.reviewables.wording import signal_lines
from metajudge.types import Assessment, Judgment
from metajudge.vetting.blind_texts import blind_texts
from metajudge.vetting.report.doubtful import Shown
from metajudge.vetting.report.picture import Picture

LONGEST: Final = 4_000
"""Characters shown of a text; what is left out is counted."""
_WEIGHED: Final = ("order", "peers", "repeats", "variants", "rationale")
_FATES: Final = {"keep": "kept", "ask": "ask a person", "discard": "discarded"}


def exhibits(shown: Sequence[Shown], picture: Picture) -> Iterator[Exhibit]:
    """One exhibit for each judgment whose texts are there; the first is open."""
    for number, one in enumerate(shown):
        if one.judgment is None:
            continue
        made = _blind(number, one.judgment) if one.blind else _full(one, one.judgment, picture)
        yield made.model_copy(update={"open": number == 0})


def _full(one: Shown, judgment: Judgment, picture: Picture) -> Exhibit:
    assessment = one.assessment
    verdict = "no verdict" if judgment.verdict is None else f"says {judgment.verdict}"
    value = picture.value(assessment)
    noun = {"probability": "probability", "agreement": "share of agreeing peers"}.get(picture.by or "", "score")
    number = f"no {noun}" if value is None else f"{noun} {value:.3g}"
    status = f"{judgment.judge} {verdict} · {number} · {_FATES[assessment.do.action]}"
    if one.right is not None:
        status += f" · by the label {'right' if one.right else 'wrong'}"
    names = judgment.item.responses
    below = [Passage(title=f"What {judgment.judge} wrote", text=_cut(judgment.rationale))] if judgment.rationale else []
    return Exhibit(
        title=judgment.id,
        status=status,
        lines=tuple(_lines(assessment)),
        above=(Passage(title="Question", text=_cut(judgment.item.question)),),
        beside=tuple(Passage(title=_name(name, judgment), text=_cut(text)) for name, text in names.items()),
        below=(*below, *_reference(judgment)),
    )


def _blind(number: int, judgment: Judgment) -> Exhibit:
    texts = blind_texts(judgment)
    return Exhibit(
        title=f"Judgment {number + 1}",
        status="to be judged blind",
        lines=("The policy has people judge this one before its result is shown: metajudge review next --blind",),
        above=(Passage(title="Question", text=_cut(judgment.item.question)),),
        beside=tuple(
            Passage(title=f"Response {place}", text=_cut(text)) for place, text in enumerate(texts.values(), start=1)
        ),
        below=_reference(judgment),
    )


def _lines(assessment: Assessment) -> Iterator[str]:
    reason = assessment.do.reason
    yield f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
    for name, signal in (assessment.signals or {}).items():
        if name in _WEIGHED and signal.value is not None:
            line = signal_lines({name: signal})[0]
            yield f"{line.words}{f' ({line.detail})' if line.detail else ''}"
    for agent in assessment.members:
        if agent.score is not None:
            yield f"{agent.agent} gives {agent.score:.3g}."
        elif agent.failure is not None:
            yield f"{agent.agent} failed: {agent.failure.message}"


def _name(name: str, judgment: Judgment) -> str:
    winner = None if judgment.verdict is None else judgment.verdict.winner
    return f"Response {name}{', which the judge prefers' if winner == name else ''}"


def _reference(judgment: Judgment) -> tuple[Passage, ...]:
    reference = judgment.item.reference
    return (Passage(title="Reference", text=_cut(reference)),) if reference else ()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text) - LONGEST:,} more characters)"
