"""Drafted changes in a store: made, tried, compared, and put in force by a person."""

from dataclasses import dataclass

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import ask
from metajudge.agents.parse import load_object, name_problems
from metajudge.agents.schema import object_schema
from metajudge.decision.load import case_rubric
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.backtest import validated
from metajudge.feedback.cases import DecidedCase, Direction
from metajudge.feedback.changes import (
    TEMPLATE,
    Activation,
    Comparison,
    Correction,
    Draft,
    DraftKind,
    corrections,
    draft_id,
    halves,
    instruction_text,
)
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.metrics import Pattern, find_patterns
from metajudge.prompts.writers import render_revising, render_revising_system
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.rubric.model import Criterion

DRAFT, COMPARISON = "draft", "comparison"
"""What drafts and their comparisons are called in the store's audit log."""

PARAMETERS = Parameters(temperature=0.3, max_tokens=2000)
"""Parameters of the call of a model that writes a draft."""

INSTRUCTION = "instruction"
"""The property of its reply."""

LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Material:
    """What a draft is made of: a pattern on a criterion, and the records to draft on and those held out."""

    policy: Policy
    pattern: Pattern
    drafting: list[DecidedCase]
    held_out: list[DecidedCase]

    @property
    def criterion(self) -> Criterion:
        """The pattern's, in the rubric of the policy.

        Raises:
            InputError: the rubric has none of that name.
        """
        rubric, name = case_rubric(self.policy), self.pattern.where
        found = next((one for one in rubric.criteria if one.name == name), None)
        if found is None:
            raise InputError(f"rubric {rubric.name!r} has no criterion {name!r}")
        return found

    @property
    def corrections(self) -> list[Correction]:
        """People's corrections of the criterion in the records to draft on."""
        return corrections(self.drafting, self.pattern.where)


class DraftBook(FeedbackLoop):
    """Drafts of a policy over cases, in a store; the seed is that of the split in halves, too."""

    async def material(self, name: str, criterion: str | None = None) -> list[Material]:
        """What can be drafted: on a named criterion, else on each with a significant pattern.

        Raises:
            InputError: the policy is not over cases, or there is no such pattern.
        """
        policy = await self.active(name)
        if policy.cases is None:
            raise InputError(f"policy {name!r} is for verdicts: `metajudge feedback propose` drafts its changes")
        cases = await self.cases(name)
        patterns = [one for one in find_patterns(cases) if one.kind == "criterion" and one.category is None]
        chosen = [one for one in patterns if (one.significant if criterion is None else one.where == criterion)]
        if not chosen:
            what = "no criterion is" if criterion is None else f"{criterion!r} is not"
            raise InputError(
                f"policy {name!r}: {what} corrected often enough to draft a change: `metajudge feedback report "
                f"--policy {name}` lists the patterns"
            )
        scored = [[case for case in cases if one.where in case.criteria] for one in chosen]
        return [Material(policy, one, *halves(those, self._seed)) for one, those in zip(chosen, scored, strict=True)]

    async def draft(self, name: str, *, criterion: str | None = None) -> list[Draft]:
        """Drafts an instruction for each pattern, from a template; the same records give the same drafts.

        Raises:
            InputError: nothing to draft, or too few records in the half to draft on.
        """
        material = await self.material(name, criterion)
        found = [self.made(one, instruction_text(one.criterion, one.corrections), TEMPLATE) for one in material]
        return [await self.keep(one) for one in found]

    def made(self, material: Material, text: str, written_by: str) -> Draft:
        """A draft with an instruction to judges about a criterion, in place of an earlier one about it.

        Raises:
            InputError: it would change nothing.
        """
        policy, criterion = material.policy, material.pattern.where
        data = policy.model_dump(mode="json")
        data["cases"].setdefault("instructions", {})[criterion] = text
        new = validated(data, policy)
        if new is None:
            raise InputError(f"the instruction for {criterion} would change nothing: there is nothing to draft")
        drafted_on = tuple(map(_id, material.drafting))
        way = "stricter" if material.pattern.direction is Direction.TOO_LENIENT else "more lenient"
        return Draft(
            draft_id=draft_id(policy.digest, new, drafted_on),
            name=policy.name,
            base_digest=policy.digest,
            kind=DraftKind.INSTRUCTION,
            change=f"{way} instruction to judges about {criterion}",
            policy=new,
            pattern=material.pattern,
            drafted_on=drafted_on,
            held_out=tuple(map(_id, material.held_out)),
            quotes=tuple(one.case_id for one in material.drafting if criterion in one.corrected),
            written_by=written_by,
            created_at=self._clock(),
        )

    async def keep(self, draft: Draft) -> Draft:
        """Keeps a draft, once."""
        if all(one.draft_id != draft.draft_id for one in await self.drafts(draft.name)):
            await self._append(DRAFT, draft.name, draft.model_dump(mode="json"))
        return draft

    async def drafts(self, name: str | None = None) -> list[Draft]:
        """All drafts, oldest first."""
        return [Draft.model_validate(one.payload) for one in await self.store.audit_log.entries(DRAFT, name)]

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
        cases = await self.cases(draft.name)
        questions = {case.question for case in cases if _id(case) in set(draft.drafted_on)}
        return [case for case in cases if case.question not in questions]

    async def keep_comparison(self, draft: Draft, comparison: Comparison) -> Comparison:
        """Keeps a comparison; the newest counts."""
        await self._append(COMPARISON, draft.draft_id, comparison.model_dump(mode="json"))
        return comparison

    async def comparison(self, draft: str) -> Comparison | None:
        """The newest comparison of a draft; None before the first."""
        entries = await self.store.audit_log.entries(COMPARISON, draft, limit=1)
        return Comparison.model_validate(entries[-1].payload) if entries else None

    async def activate(self, change_id: str, *, by: str, reason: str = "") -> Activation:
        """Puts a draft's or a proposal's policy in force from now on; decisions keep the version they were made with.

        Raises:
            InputError: not compared yet, not better, made for another version than the one in force, or no name.
        """
        if all(one.draft_id != change_id for one in await self.drafts()):
            return await super().activate(change_id, by=by, reason=reason)
        return await self.put_in_force(
            await self.get(change_id), await self.comparison(change_id), by=by, reason=reason
        )


def _id(case: DecidedCase) -> str:
    """The review's id, or the case's where it was not reviewed."""
    return case.case_id if case.review_id is None else case.review_id


async def write_draft(book: DraftBook, model: Model, name: str, criterion: str) -> Draft:
    """A draft whose text a model wrote from the half of the records to draft on; a person reads it like any other.

    Raises:
        InputError: no pattern on the criterion, no reason to write from, or no usable reply.
        BudgetExceeded: the run's budget is spent.
    """
    (material,) = await book.material(name, criterion)
    reasons = tuple(dict.fromkeys(reason for one in material.corrections for reason in one.reasons))
    if not reasons:
        raise InputError(f"no correction of {criterion!r} has a reason, so a model has nothing to write from")
    found = render_revising(material.criterion, material.pattern.text, reasons)
    schema = OutputSchema("revision", object_schema({INSTRUCTION: {"type": "string"}}))
    request = ModelRequest(render_revising_system(), (Message("user", found),), schema, PARAMETERS)
    answer = await ask(model, request, _parsed, asked=model.name, retry=True)
    if answer.value is None:
        assert answer.failure is not None, "an answer has a value or a failure"
        raise InputError(f"no usable text from {model.name} ({answer.failure.kind.value}): {answer.failure.message}")
    return await book.keep(book.made(material, answer.value, model.name))


def _parsed(text: str) -> str:
    answer = load_object(text)
    problems = name_problems(answer, [INSTRUCTION])
    given = answer.get(INSTRUCTION)
    if INSTRUCTION in answer and (not isinstance(given, str) or not given.strip() or len(given) > LONGEST_TEXT):
        problems.append(f"{INSTRUCTION} must be a text of 1 to {LONGEST_TEXT} characters")
    if problems:
        raise ReplyProblemsError(problems)
    return " ".join(answer[INSTRUCTION].split())
