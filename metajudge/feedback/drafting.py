"""Drafted changes in a store: made, tried, compared, and put in force by a person."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from metajudge.decision.load import case_rubric
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.cases import DecidedCase, Direction
from metajudge.feedback.comparison import Comparison, compare
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
    level_texts,
    with_confidence,
    with_instruction,
    with_levels,
    with_offset,
)
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.patterns import Pattern, PatternRecord, find_patterns
from metajudge.feedback.proposals import Activation
from metajudge.feedback.replay import replayed
from metajudge.rubric import Rubric
from metajudge.store.protocol import Store

DRAFT, COMPARISON = "draft", "comparison"
"""What drafts and their comparisons are called in the store's audit log."""

FOR_SCORES = (DraftKind.OFFSET, DraftKind.LEVELS, DraftKind.INSTRUCTION)


class DraftBook:
    """Drafts of a policy over cases, in a store.

    Args:
        store: has the reviews and the audit log.
        clock: seconds since the epoch.
        seed: of the split in halves, and of resampling.
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
        found = find_patterns(await self.loop.active(name), await self.loop.cases(name))
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

    async def draft(
        self, name: str, *, criterion: str | None = None, kinds: Sequence[DraftKind] = FOR_SCORES
    ) -> list[Draft]:
        """Drafts a change of each kind for each pattern, from templates; the same records give the same drafts.

        Raises:
            InputError: nothing to draft, or too few records in the half to draft on.
        """
        policy = await self._case_policy(name)
        found: list[Draft] = []
        if DraftKind.CONFIDENCE in kinds:
            found.append(await self._draft_confidence(policy))
        wanted = [kind for kind in kinds if kind is not DraftKind.CONFIDENCE]
        for pattern in await self.patterns(name, criterion) if wanted else ():
            found += [await self._draft_for(policy, pattern, kind) for kind in wanted]
        for one in found:
            await self.keep(one)
        return found

    async def written(
        self, name: str, criterion: str, kind: DraftKind, text: str | Mapping[float, str], written_by: str
    ) -> Draft:
        """A draft whose text, or level texts, a model or a person wrote; kept like the others."""
        policy = await self._case_policy(name)
        (pattern,) = await self.patterns(name, criterion)
        if isinstance(text, str):
            new = with_instruction(policy, criterion, text)
        else:
            new = with_levels(policy, criterion, text)
        return await self.keep(await self._made(policy, new, kind, pattern, written_by))

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

    async def held_out(self, draft: Draft) -> list[DecidedCase]:
        """The decided records that the draft has not seen, those decided since included."""
        cases = await self._records(draft.name, labelled=draft.kind is DraftKind.CONFIDENCE)
        questions = {case.question for case in cases if _id(case) in set(draft.drafted_on)}
        return [case for case in cases if case.question not in questions]

    async def replay(self, draft: Draft) -> Comparison:
        """Compares a draft that asks no model, on the recorded numbers of the held-out records; kept."""
        if draft.kind.asks_models:
            raise InputError(
                f"draft {draft.draft_id} changes what judges are told, so models must judge anew: `metajudge feedback "
                f"rejudge {draft.draft_id} --judge PROVIDER:MODEL`"
            )
        base = await self.loop.active(draft.name)
        cases = await self.held_out(draft)
        before = replayed(base, cases)
        after = [replace(case) for case in replayed(draft.policy, cases)]
        return await self.keep_comparison(
            draft, compare(draft, base, list(zip(before, after, strict=True)), seed=self._seed)
        )

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

    async def _records(self, name: str, *, labelled: bool) -> list[DecidedCase]:
        """What people decided and, where asked for, the labelled cases of which they did not."""
        cases = await self.loop.cases(name)
        known = {case.question for case in cases if case.right is not None}
        more = [case for case in await self.loop.labelled(name) if case.question not in known] if labelled else []
        return [*(case for case in cases if not more or case.right is not None), *more]

    async def _halves(self, name: str, criterion: str | None) -> tuple[list[DecidedCase], list[DecidedCase]]:
        cases = await self.loop.cases(name)
        return halves([one for one in cases if criterion is None or criterion in one.criteria], self._seed)

    async def _draft_for(self, policy: Policy, pattern: Pattern, kind: DraftKind) -> Draft:
        drafting, _ = await self._halves(policy.name, pattern.where)
        found = corrections(drafting, pattern.where)
        if kind is DraftKind.OFFSET:
            return await self._made(policy, with_offset(policy, pattern.where, found), kind, pattern)
        criterion = criterion_of(case_rubric(policy), pattern.where)
        if kind is DraftKind.LEVELS:
            new = with_levels(policy, pattern.where, level_texts(criterion, found))
        else:
            new = with_instruction(policy, pattern.where, instruction_text(criterion, found))
        return await self._made(policy, new, kind, pattern)

    async def _draft_confidence(self, policy: Policy) -> Draft:
        drafting, held = halves(await self._records(policy.name, labelled=True), self._seed)
        new = with_confidence(policy, drafting)
        return self._draft(policy, new, DraftKind.CONFIDENCE, None, (drafting, held), TEMPLATE)

    async def _made(
        self, policy: Policy, new: Policy | None, kind: DraftKind, pattern: Pattern, written_by: str = TEMPLATE
    ) -> Draft:
        if new is None:
            raise InputError(f"the {kind.value} for {pattern.where} would change nothing: there is nothing to draft")
        return self._draft(policy, new, kind, pattern, await self._halves(policy.name, pattern.where), written_by)

    def _draft(
        self,
        policy: Policy,
        new: Policy,
        kind: DraftKind,
        pattern: Pattern | None,
        split: tuple[list[DecidedCase], list[DecidedCase]],
        written_by: str,
    ) -> Draft:
        drafted, held = (tuple(map(_id, half)) for half in split)
        about = None if pattern is None or not kind.asks_models else pattern.where
        quoted = () if about is None else tuple(one.case_id for one in split[0] if about in one.corrected)
        direction: Direction | None = None if pattern is None else pattern.direction
        return Draft(
            draft_id=draft_id(policy.digest, new, drafted),
            name=policy.name,
            base_digest=policy.digest,
            kind=kind,
            change=describe(kind, None if pattern is None else pattern.where, new, direction),
            policy=new,
            pattern=None if pattern is None else PatternRecord.of(pattern),
            drafted_on=drafted,
            held_out=held,
            quotes=quoted,
            written_by=written_by,
            created_at=self._clock(),
        )


def _id(case: DecidedCase) -> str:
    """The review's id, or the case's where nobody was asked."""
    return case.case_id if case.review_id is None else case.review_id
