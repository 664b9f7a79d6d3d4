"""Reviewed records judged again with a drafted change: what it would take, and the comparison with people."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from metajudge.cases.case import Case
from metajudge.cases.judge import CaseJudge
from metajudge.cases.panel import CasePanel
from metajudge.cases.result import RESULT, CaseResult, mean_scores, quotes_in
from metajudge.cases.run import case_panel, estimate_cases
from metajudge.concurrency import all_of
from metajudge.decision import Policy, case_rubric
from metajudge.errors import InputError
from metajudge.feedback.cases import DecidedCase, replayed
from metajudge.feedback.changes import Comparison, Draft, compare
from metajudge.feedback.drafting import DraftBook
from metajudge.judging.records import parameters_set
from metajudge.panels.config import PanelConfig
from metajudge.runs.estimate import Estimate
from metajudge.session import Respondent, Respondents, Session, note_unused
from metajudge.types.spent import Calls, total

NO_TEXTS = "its texts are not in the store"
NOT_JUDGED = "it was not scored: the gate ended it, or a stage failed"
UNSCORED = "a stage could not be scored now"


@dataclass(frozen=True, slots=True)
class Record:
    """A held-out record: people's decision, the case as it was judged, and the result of then, where it is kept."""

    decided: DecidedCase
    case: Case
    result: CaseResult | None


async def held_out_records(book: DraftBook, draft: Draft, *, now: float) -> tuple[list[Record], Counter[str]]:
    """The draft's held-out records with their texts, and why others are left out."""
    records, left_out = list[Record](), Counter[str]()
    for decided in await book.held_out(draft):
        if not decided.criteria or decided.score is None:
            left_out[NOT_JUDGED] += 1
            continue
        state = await book.store.reviews.get(str(decided.review_id), now=now)
        content = None if state is None else state.review.content
        record = None if not content else _record(decided, content)
        if record is None:
            left_out[NO_TEXTS] += 1
        else:
            records.append(record)
    return records, left_out


def estimate_rejudging(config: PanelConfig, base: Policy, draft: Draft, records: Sequence[Record]) -> Estimate:
    """What judging the records with the draft takes, and with the present version those whose result is not of it.

    Raises:
        ConfigurationError: judges that make no sense together.
    """
    estimate = estimate_cases(config, draft.policy, case_rubric(draft.policy), [one.case for one in records])
    judges = Session.for_estimate(config).models()
    again = [one.case for one in records if not _gave(judges, one.result, base)]
    return estimate + estimate_cases(config, base, case_rubric(base), again)


async def rejudge(
    session: Session, book: DraftBook, draft: Draft, *, judges: Respondents | None = None, seed: int = 0, now: float
) -> Comparison:
    """Judges the draft's held-out records anew and compares both results with people's decisions; kept in the store.

    The results before are those of the record where the same judges gave them under the version in force; else these
    judges are asked under it, too, so that nothing but the draft differs. Replies are kept: a run that was interrupted
    continues. Nothing is decided and no review is opened.

    Raises:
        InputError: too few records to compare.
        BudgetExceeded: the budget is spent.
    """
    if session.store is None:
        raise InputError("rejudging needs the store that has the reviews")
    base = await book.active(draft.name)
    records, left_out = await held_out_records(book, draft, now=now)
    note_unused(session, "feedback rejudge")
    new = await case_panel(session, draft.policy, case_rubric(draft.policy), judges)
    old = await case_panel(session, base, case_rubric(base), judges)
    tried = await all_of(_tried(one, old, new, _gave(new.judges, one.result, base)) for one in records)
    pairs = [pair for pair, _ in tried if pair is not None]
    left_out[UNSCORED] += len(tried) - len(pairs)
    found = compare(draft, base, pairs, left_out=dict(sorted(left_out.items())), seed=seed)
    took = total(Calls, [result.metadata for _, results in tried for result in results])
    asked = {one.name: one.model.name for one in new.judges}
    return await book.keep_comparison(draft, found.model_copy(update={"judges": asked, **dict(took)}))


async def _tried(
    record: Record, old: CasePanel, new: CasePanel, same: bool
) -> tuple[tuple[DecidedCase, DecidedCase] | None, tuple[CaseResult, ...]]:
    """A record before and after, None where a stage has no score; and what was judged for it."""
    now = datetime.now(UTC)
    after = await new.judge(record.case, now=now)
    before = None if same else await old.judge(record.case, now=now)
    results = (after,) if before is None else (before, after)
    if any(one.failed or one.overall_quality_score is None for one in results):
        return None, results
    (first,) = replayed(old.policy, [record.decided]) if before is None else [_as_decided(record.decided, before)]
    return (first, _as_decided(record.decided, after)), results


def _as_decided(decided: DecidedCase, result: CaseResult) -> DecidedCase:
    """The record with another result's numbers and action; people's scores stay those of the recorded result."""
    said = {name: score for name in decided.criteria if (score := decided.people_score(name)) is not None}
    return replace(
        decided,
        corrected=said,
        action=result.action,
        score=result.overall_quality_score,
        confidence=result.overall_confidence,
        quotes=quotes_in(result.stages).share,
        criteria=mean_scores({n: one.score for n, one in stage.criteria.items()} for stage in result.stages),
    )


def _gave(judges: Sequence[Respondent | CaseJudge], result: CaseResult | None, base: Policy) -> bool:
    """Whether a recorded result is what these judges, with these parameters, say under the version in force."""
    return (
        result is not None
        and not result.failed
        and result.metadata.policy_digest == base.digest
        and result.metadata.judge_models == {one.name: one.model.name for one in judges}
        and result.metadata.parameters == {one.name: parameters_set(one.parameters) for one in judges}
    )


def _record(decided: DecidedCase, content: dict[str, Any]) -> Record | None:
    try:
        kept = content.get(RESULT)
        result = None if kept is None else CaseResult.model_validate(kept)
        stages = [
            {"name": name, **(texts if isinstance(texts, dict) else {"output": texts})}
            for name, texts in content.items()
            if name != RESULT
        ]
        given = decided.category if result is None else result.type
        case = Case.model_validate({"id": decided.case_id, "type": given, "stages": stages})
    except ValidationError:
        return None
    return Record(decided, case, result)
