"""Drafted changes in a store: made, tried, compared, and put in force by a person."""

from collections.abc import Callable

from metajudge.decision.load import case_rubric
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.cases import DecidedCase
from metajudge.feedback.comparison import Comparison
from metajudge.feedback.drafts import (
    TEMPLATE,
    Draft,
    DraftKind,
    corrections,
    criterion_of,
    describe,
    draft_id,
    halves,
    instruction_text,
    with_instruction,
)
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.patterns import Pattern, find_patterns
from metajudge.feedback.proposals import Activation
from metajudge.rubric import Rubric
from metajudge.store.protocol import Store

DRAFT, COMPARISON = "draft", "comparison"
"""What drafts and their comparisons are called in the store's audit log."""


class DraftBook:
    """Drafts of a policy over cases, in a store.

    Args:
        store: has the reviews and the audit log.
        clock: seconds since the epoch.
        seed: of the split in halves.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float], seed: int = 0) -> None:
        self._store = store
        self._clock = clock
        self._seed = seed
        self.loop = FeedbackLoop(store, clock=clock, seed=seed)

    async def patterns(self, name: str, criterion: str | None = None) -> list[Pattern]:
        """The patterns on criteria that a draft answers: a named criterion's, else all significant ones.

        Raises:
            InputError: there is none.
        """
        found = find_patterns(await self.loop.cases(name))
        over_all = [one for one in found if one.kind == "criterion" and one.category is None]
        if criterion is None:
            chosen = [one for one in over_all if one.significant]
        else:
            chosen = [one for one in over_all if one.where == criterion]
        if not chosen:
            what = "no criterion is" if criterion is None else f"{criterion!r} is not"
            raise InputError(
                f"policy {name!r}: {what} corrected often enough to draft a change: `metajudge feedback report "
                f"--policy {name}` lists the patterns"
            )
        return chosen

    async def draft(self, name: str, *, criterion: str | None = None) -> list[Draft]:
        """Drafts an instruction for each pattern, from a template; the same records give the same drafts.

        Raises:
            InputError: nothing to draft, or too few records in the half to draft on.
        """
        policy = await self._case_policy(name)
        found: list[Draft] = []
        for pattern in await self.patterns(name, criterion):
            drafting, _ = await self._halves(name, pattern.where)
            asked = corrections(drafting, pattern.where)
            text = instruction_text(criterion_of(case_rubric(policy), pattern.where), asked)
            found.append(await self._made(policy, pattern, text, TEMPLATE))
        for one in found:
            await self.keep(one)
        return found

    async def written(self, name: str, criterion: str, text: str, written_by: str) -> Draft:
        """A draft whose instruction a model or a person wrote; kept like the others."""
        policy = await self._case_policy(name)
        (pattern,) = await self.patterns(name, criterion)
        return await self.keep(await self._made(policy, pattern, text, written_by))

    async def material(self, name: str, criterion: str) -> tuple[Rubric, Pattern, tuple[str, ...]]:
        """What a writer is given: the rubric, the pattern, and people's reasons from the half to draft on."""
        policy = await self._case_policy(name)
        (pattern,) = await self.patterns(name, criterion)
        drafting, _ = await self._halves(name, criterion)
        found = corrections(drafting, criterion)
        return case_rubric(policy), pattern, tuple(dict.fromkeys(reason for one in found for reason in one.reasons))

    async def keep(self, draft: Draft) -> Draft:
        """Keeps a draft, once."""
        if all(one.draft_id != draft.draft_id for one in await self.drafts(draft.name)):
            await self._store.audit_log.append(DRAFT, draft.name, draft.model_dump(mode="json"), now=self._clock())
        return draft

    async def drafts(self, name: str | None = None) -> list[Draft]:
        """All drafts, oldest first."""
        return [Draft.model_validate(one.payload) for one in await self._store.audit_log.entries(DRAFT, name)]

    async def get(self, draft: str) -> Draft:
        """One draft, by its id.

        Raises:
            InputError: there is none, or what is kept under the id is another.
        """
        for found in await self.drafts():
            if found.draft_id == draft:
                if draft_id(found.base_digest, found.policy, found.drafted_on) != draft:
                    raise InputError(f"draft {draft} differs from what was drafted under this id: draft again")
                return found
        raise InputError(f"there is no draft {draft!r}: `metajudge feedback drafts` lists them")

    async def to_try(self, draft: str) -> Draft:
        """One draft that can be tried, by its id.

        Raises:
            InputError: as :meth:`get`, or a kind that earlier versions drafted.
        """
        found = await self.get(draft)
        if found.kind is not DraftKind.INSTRUCTION:
            raise InputError(
                f"draft {draft} is of an earlier version ({found.kind.value}) and is not tried any more: draft an "
                f"instruction with `metajudge feedback draft --policy {found.name}`"
            )
        return found

    async def held_out(self, draft: Draft) -> list[DecidedCase]:
        """The decided records that the draft has not seen, those decided since included."""
        cases = await self.loop.cases(draft.name)
        questions = {case.question for case in cases if _id(case) in set(draft.drafted_on)}
        return [case for case in cases if case.question not in questions]

    async def keep_comparison(self, draft: Draft, comparison: Comparison) -> Comparison:
        """Keeps a comparison; the newest counts."""
        await self._store.audit_log.append(
            COMPARISON, draft.draft_id, comparison.model_dump(mode="json"), now=self._clock()
        )
        return comparison

    async def comparison(self, draft: str) -> Comparison | None:
        """The newest comparison of a draft; None before the first."""
        entries = await self._store.audit_log.entries(COMPARISON, draft, limit=1)
        return Comparison.model_validate(entries[-1].payload) if entries else None

    async def activate(self, draft: str, *, by: str, reason: str = "") -> Activation:
        """Puts a draft's policy in force from now on; decisions keep the version they were made with.

        Raises:
            InputError: not compared yet, not better, made for another version than the one in force, or no name.
        """
        found = await self.get(draft)
        comparison = await self.comparison(draft)
        return await self.loop.put_in_force("draft", draft, found, comparison, by=by, reason=reason)

    async def _case_policy(self, name: str) -> Policy:
        policy = await self.loop.active(name)
        if policy.cases is None:
            raise InputError(f"policy {name!r} is for verdicts: `metajudge feedback propose` drafts its changes")
        return policy

    async def _halves(self, name: str, criterion: str) -> tuple[list[DecidedCase], list[DecidedCase]]:
        return halves([one for one in await self.loop.cases(name) if criterion in one.criteria], self._seed)

    async def _made(self, policy: Policy, pattern: Pattern, text: str, written_by: str) -> Draft:
        criterion = pattern.where
        new = with_instruction(policy, criterion, text)
        if new is None:
            raise InputError(f"the instruction for {criterion} would change nothing: there is nothing to draft")
        drafting, held = await self._halves(policy.name, criterion)
        drafted_on = tuple(map(_id, drafting))
        return Draft(
            draft_id=draft_id(policy.digest, new, drafted_on),
            name=policy.name,
            base_digest=policy.digest,
            kind=DraftKind.INSTRUCTION,
            change=describe(criterion, pattern.direction),
            policy=new,
            pattern=pattern,
            drafted_on=drafted_on,
            held_out=tuple(map(_id, held)),
            quotes=tuple(one.case_id for one in drafting if criterion in one.corrected),
            written_by=written_by,
            created_at=self._clock(),
        )


def _id(case: DecidedCase) -> str:
    """The review's id, or the case's where nobody was asked."""
    return case.case_id if case.review_id is None else case.review_id
