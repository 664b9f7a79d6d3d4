"""What a policy would decide on what a store keeps."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from metajudge.cases.records import KIND
from metajudge.cases.result import mean_scores, overall_of_numbers, verified_share
from metajudge.decision import Absent, Decision, Policy, decide_adjusted, decide_verdict
from metajudge.errors import InputError
from metajudge.prompts.versions import FIRST
from metajudge.rubric import BUILTIN_RUBRICS, load_rubric
from metajudge.store import Store, overview

PAGE = 1000
NONE = "undecided"
"""Shown in place of a decision where none was made before."""


@dataclass(slots=True)
class Simulation:
    """Decisions before and after.

    Attributes:
        total: records decided on.
        transitions: (before, after) -> count; before is ``undecided`` where no decision was recorded.
        examples: (before, after) -> a few ids with the numbers.
        skipped: reason -> records this policy does not decide on.
        missing: of those decided, how many lacked a number.
        is_partial: whether older records were left out.
    """

    subject: str
    total: int = 0
    changed: int = 0
    missing: int = 0
    transitions: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    is_partial: bool = False

    def by_action(self) -> tuple[Counter[str], Counter[str]]:
        """Decision -> records, before and after."""
        found = Counter[str](), Counter[str]()
        for pair, count in self.transitions.items():
            for counts, action in zip(found, pair, strict=True):
                counts[action] += count
        return found

    def add(self, name: str, before: str, after: Decision, most: int) -> None:
        """Counts one record."""
        pair = (before, after.action.value)
        self.total += 1
        self.changed += before != after.action.value
        self.missing += bool(after.inputs.absent)
        self.transitions[pair] += 1
        shown = self.examples.setdefault(pair, [])
        if len(shown) < most:
            inputs = after.inputs
            shown.append(
                {"id": name, "value": inputs.value, "confidence": inputs.confidence, "why": after.justification}
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data, transitions sorted."""
        return {
            "subject": self.subject,
            "total": self.total,
            "changed": self.changed,
            "missing_a_number": self.missing,
            "transitions": [
                {"before": before, "after": after, "count": count, "examples": self.examples[before, after]}
                for (before, after), count in sorted(self.transitions.items())
            ],
            "skipped": dict(sorted(self.skipped.items())),
        }


async def simulate(
    store: Store,
    policy: Policy,
    other: Policy | None = None,
    *,
    examples: int = 3,
    newest: int | None = None,
    unnamed: Collection[str] = (),
) -> Simulation:
    """Decides on what a store keeps: judged cases for a policy with a plan for cases, else judgments.

    Args:
        other: the policy whose decisions are those before; None for the decisions that were recorded.
        examples: most ids that are given of each change.
        newest: only so many of the newest assessments are looked at; None for all. Cases are always all.
        unnamed: ids of judgments and cases that are counted and never an example.
    """
    if policy.cases is not None:
        found, records = Simulation("cases"), _cases(store)
    else:
        found, after = Simulation("verdicts"), 0
        if newest is not None:
            after = await store.ask(lambda connection: overview.number_before(connection, newest))
            found.is_partial = after > 0
        records = _verdicts(store, after)
    async for subject, name, decided_by, recorded in records:
        try:
            decision = decided_by(policy)
            before = recorded if other is None else decided_by(other).action.value
        except InputError as error:
            found.skipped[str(error)] += 1
            continue
        found.add(name, before, decision, 0 if subject in unnamed else examples)
    return found


_Record = tuple[str, str, Callable[[Policy], Decision], str]
"""The subject's id, the id shown in an example, what a policy decides on it, and what was decided."""


async def _verdicts(store: Store, after: int) -> AsyncIterator[_Record]:
    """The newest assessment of every judgment by every panel."""
    while page := await store.newest_assessments(after, PAGE):
        after = page[-1][0]
        for _, one in page:
            recorded = NONE if one.decision is None else one.decision.action.value
            weights: Mapping[str, float] = {}
            if one.rubric in BUILTIN_RUBRICS:  # the weights count where it is still the one the judgment was vetted by
                rubric = load_rubric(one.rubric, prompt_set=one.prompt_version or FIRST)
                weights = rubric.score_weights if rubric.digest == one.rubric_digest else {}
            decided = partial(decide_verdict, assessment=one, weights=weights)
            yield one.judgment_id, f"{one.judgment_id} ({one.judge})", decided, recorded


async def _cases(store: Store) -> AsyncIterator[_Record]:
    """The newest record of every judged case; weights and rules are the policy's own."""
    newest = {entry.subject: entry.payload for entry in await store.audit_log.entries(KIND)}
    for name, record in newest.items():
        yield name, name, partial(decide_record, record=record), record["decision"]["action"]


def decide_record(policy: Policy, record: Mapping[str, Any]) -> Decision:
    """What a policy would decide on a judged case's recorded numbers.

    Raises:
        InputError: the policy cannot judge such a case: other criteria, no profile for its type, ended at a gate.
    """
    plan = policy.cases
    if plan is None:
        raise InputError(f"policy {policy.name!r} is for verdicts")
    if record["decision"]["gate"] is not None:
        raise InputError("the gate ended the case: there are no scores to decide on")
    profile = plan.profile_for(record["type"])
    if profile is None:
        raise InputError(f"no weight profile for type {record['type']!r}")
    stages = record["stages"]
    for stage in plan.stages:
        if stage.name not in stages:
            raise InputError(f"no stage {stage.name!r}")
        scored = stages[stage.name]["criteria"]
        lacking = [name for name in stage.criteria if name not in scored]
        if lacking and stages[stage.name]["failure"] is None:
            raise InputError(f"stage {stage.name!r} was not scored on {', '.join(lacking)}")
    score, confidence = overall_of_numbers(plan, profile, stages)
    scores = ({name: one["score"] for name, one in stages[stage.name]["criteria"].items()} for stage in plan.stages)
    share: float | Absent | None = None
    if policy.uses_quotes:
        if "quotes" not in record:
            raise InputError("it was judged by a version that did not count verified quotes")
        share = verified_share(record["quotes"]["given"], record["quotes"]["found"])
    return decide_adjusted(policy, score, confidence, mean_scores(scores), profile.weights, share)
