"""The loop over a store: cases in, proposals out; a person activates, and everything is on record."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from metajudge.cases.records import KIND as CASE
from metajudge.decision.load import load_policy
from metajudge.decision.policy import Adjustment, Policy
from metajudge.decision.profile import CasePlan
from metajudge.errors import InputError, PolicyError
from metajudge.feedback.backtest import CONFIDENCE, FITS, Backtest, ChangeKind, backtest
from metajudge.feedback.cases import (
    DecidedCase,
    Direction,
    decided_case,
    recorded_case,
    same_categories,
    shifts_of,
    with_labels,
)
from metajudge.feedback.changes import Activation, Comparison, Draft, Proposal
from metajudge.feedback.metrics import (
    Advice,
    Metric,
    Pattern,
    advise,
    disagreements,
    find_patterns,
    metrics,
    metrics_by,
)
from metajudge.files.yaml_documents import looks_like_path
from metajudge.reviews.review import ReviewState, ReviewStatus
from metajudge.store import AuditEntry, Store
from metajudge.types import digest
from metajudge.types.frozen import Frozen


def describe_change(before: Policy, after: Policy) -> str:
    """What is different, in one line."""
    changes = []
    for old, new in zip(before.bands, after.bands, strict=False):
        if old.value != new.value:
            changes.append(f"{new.action.value}: {before.basis} {old.value} becomes {new.value}")
    was, now = before.adjustment or Adjustment(), after.adjustment or Adjustment()
    if now.recalibration != was.recalibration and now.recalibration is not None:
        fitted = now.recalibration
        changes.append(f"probabilities recalibrated: logit p' = {fitted.intercept:+.3g} + {fitted.slope:.3g} logit p")
    moved = {name: value for name, value in now.offsets.items() if was.offsets.get(name) != value}
    if moved:
        changes.append("offsets " + ", ".join(f"{name} {value:+.3g}" for name, value in moved.items()))
    if now.weights != was.weights and now.weights:
        changes.append("weights " + ", ".join(f"{name} {value:.3g}" for name, value in now.weights.items()))
    return "; ".join(changes) or "no change"


EVERY = 10
"""Default number of disagreements between two searches for patterns."""

PROPOSAL, BACKTEST, ACTIVATION, SNAPSHOT, POLICY = "proposal", "backtest", "activation", "snapshot", "policy"


class Report(Frozen):
    """The state of a policy against people's decisions.

    Attributes:
        overall: all metrics; ``by_version``, ``by_category`` and ``by_judge`` the same in groups.
        disagreements: how often in each direction.
        patterns: the surest first.
        labelled: judged cases with a label, decided by people or not; ground-truth reliability is measured on them.
        advice: revisions of rubric or prompt that the patterns suggest; ``feedback draft`` writes them down.
    """

    policy: str
    cases: int
    labelled: int
    overall: dict[Any, Metric]
    by_version: dict[str, dict[Any, Metric]]
    by_category: dict[str, dict[Any, Metric]]
    by_judge: dict[str, dict[Any, Metric]]
    disagreements: dict[Direction, int]
    patterns: list[Pattern]
    advice: list[Advice]


class FeedbackLoop:
    """Reads what people decided, and proposes; never changes a policy by itself.

    Args:
        store: has the reviews and the change log.
        clock: seconds since the epoch.
        seed: of folds and resampling.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float], seed: int = 0) -> None:
        self.store = store
        self._clock = clock
        self._seed = seed

    async def cases(self, name: str) -> list[DecidedCase]:
        """Every case that people decided and a version of this policy had decided before."""
        found = [
            case
            async for state in self._decided()
            if state.review.policy is not None
            and state.review.policy.name == name
            and (case := decided_case(state)) is not None
        ]
        found.sort(key=lambda case: (min(one.decided_at for one in case.decisions), case.case_id))
        return same_categories(found, await self._plan(name))

    async def _decided(self) -> AsyncIterator[ReviewState]:
        async for state in self.store.reviews.every(now=self._clock()):
            if state.status is ReviewStatus.DECIDED:
                yield state

    async def policies(self) -> list[str]:
        """Policies that people's decisions are about, by name; where there are none, those that decided anything."""
        found = {policy.name async for one in self._decided() if (policy := one.review.policy) is not None}
        return sorted(found or {entry.subject for entry in await self.store.audit_log.entries(POLICY)})

    async def labelled(self, name: str) -> list[DecidedCase]:
        """Judged cases with a label, the newest record of each, whether or not a person decided them."""
        plan = await self._plan(name)
        if plan is None:
            return []
        entries = await self.store.audit_log.entries(CASE)
        newest = {entry.subject: entry.payload for entry in entries}
        found = [one for record in newest.values() if (one := recorded_case(record, name)) is not None]
        return same_categories(found, plan)

    async def _plan(self, name: str) -> CasePlan | None:
        try:
            return (await self.active(name)).cases
        except PolicyError:
            return None

    async def active(self, name: str) -> Policy:
        """The version in force: the one activated last, else the policy's file.

        Raises:
            PolicyError: no policy has that name, or the store's record of it was altered.
        """
        entries = await self.store.audit_log.entries(ACTIVATION, name, limit=1)
        if entries:
            return _recorded(entries[-1])
        used = await self.store.audit_log.entries(POLICY, name, limit=1)
        try:
            return load_policy(name)
        except PolicyError:
            if used:  # its file is gone or elsewhere; what was decided with is on record
                return _recorded(used[-1])
            raise

    async def register(self, policy: Policy) -> None:
        """Keeps a policy's content, once per version, so that what was decided with it can always be explained."""
        entries = await self.store.audit_log.entries(POLICY, policy.name)
        if all(entry.payload["digest"] != policy.digest for entry in entries):
            payload = {"digest": policy.digest, "policy": policy.model_dump(mode="json")}
            await self._append(POLICY, policy.name, payload)

    async def _append(self, kind: str, subject: str, payload: dict[str, Any]) -> AuditEntry:
        return await self.store.audit_log.append(kind, subject, payload, now=self._clock())

    async def report(self, name: str) -> Report:
        """Metrics with intervals, disagreements and patterns."""
        await self.active(name)  # refuses a name that no policy has
        cases = await self.cases(name)
        patterns = find_patterns(cases)
        labelled = await self.labelled(name)
        measured = with_labels(cases, labelled)
        return Report(
            policy=name,
            cases=len(cases),
            labelled=len(labelled),
            overall=metrics(measured, seed=self._seed),
            by_version=metrics_by(measured, lambda case: case.policy_digest, seed=self._seed),
            by_category=metrics_by(measured, lambda case: case.category, seed=self._seed),
            by_judge=metrics_by(measured, lambda case: case.judge, seed=self._seed),
            disagreements={direction: len(found) for direction, found in disagreements(cases).items()},
            patterns=patterns,
            advice=advise(patterns),
        )

    async def advice(self, name: str) -> list[Advice]:
        """Revisions of rubric or prompt that people's corrections suggest."""
        await self.active(name)  # refuses a name that no policy has
        return advise(find_patterns(await self.cases(name)))

    async def snapshots(self, name: str | None = None) -> list[AuditEntry]:
        """The reports that were kept, oldest first."""
        return await self.store.audit_log.entries(SNAPSHOT, name)

    async def snapshot(self, name: str) -> AuditEntry:
        """Keeps the current report."""
        return await self._append(SNAPSHOT, name, (await self.report(name)).model_dump(mode="json"))

    async def due(self, name: str, every: int = EVERY) -> bool:
        """Whether so many disagreements have come since patterns were last looked for."""
        if every < 1:
            raise InputError(f"disagreements between searches for patterns: must be at least 1, not {every}")
        cases = await self.cases(name)
        count = sum(case.disagreement is not None for case in cases)
        analyses = await self.store.audit_log.entries("analysis", name)
        seen = [entry.payload.get("disagreements_total", 0) for entry in analyses]
        return count - max(seen, default=0) >= every

    async def propose(self, name: str) -> list[Proposal]:
        """Fits every change that fits the policy and keeps each with its backtest, refused ones included.

        Raises:
            InputError: too few decided cases.
        """
        policy = await self.active(name)
        cases = await self.cases(name)
        if not cases:
            raise InputError(
                f"no case of policy {name!r} has been decided by a person yet: decide one with `metajudge review next`"
            )
        patterns = find_patterns(cases)
        # What there is to learn from: directions of disagreement, or for offsets that of corrected scores.
        found_ways = [
            way for way, those in disagreements(cases).items() if those and way is not Direction.NEEDLESS_REVIEW
        ]
        shift = sum(sum(moved) for moved in shifts_of(cases).values())
        shifted = [Direction.TOO_LENIENT if shift < 0 else Direction.TOO_STRICT] if shift else []
        tries = [(k, way) for k in FITS for way in found_ways or (shifted if k is ChangeKind.OFFSETS else [])]
        fitted = [(kind, way, new) for kind, way in tries if (new := FITS[kind](policy, cases, way)) is not None]
        known = {one.proposal_id for one in await self.proposals(name)}
        ids = tuple(case.case_id for case in cases)
        found = []
        for kind, way, new in fitted:
            test = backtest(kind, way, policy, cases, seed=self._seed, tried=len(fitted))
            proposal = Proposal(
                proposal_id=_proposal_id(policy.digest, new, way, ids),
                name=policy.name,
                base_digest=policy.digest,
                kind=kind,
                direction=way,
                change=describe_change(policy, new),
                policy=new,
                patterns=tuple(one for one in patterns if one.direction is way),
                backtest=test,
                cases=ids,
                created_at=self._clock(),
                status="proposed" if test.better else "refused",
            )
            if proposal.proposal_id not in known:  # the same cases give the same proposal
                await self._append(PROPOSAL, name, proposal.model_dump(mode="json"))
            found.append(proposal)
        count = sum(case.disagreement is not None for case in cases)
        analysis = {
            "disagreements_total": count,
            "cases": len(cases),
            "patterns": [one.model_dump() for one in patterns],
            "advice": [asdict(one) for one in advise(patterns)],
            "proposals": [one.proposal_id for one in found],
        }
        await self._append("analysis", name, analysis)
        return found

    async def look_if_due(self, names: Iterable[str]) -> list[Proposal]:
        """Proposes for each policy about which so many disagreements have come since the last time."""
        found: list[Proposal] = []
        for name in sorted(set(names)):
            if await self.due(name):
                with contextlib.suppress(InputError):  # too few questions yet for a significant result
                    found += await self.propose(name)
        return found

    async def proposals(self, name: str | None = None) -> list[Proposal]:
        """All proposals, oldest first."""
        entries = await self.store.audit_log.entries(PROPOSAL, name)
        return [Proposal.model_validate(entry.payload) for entry in entries]

    async def proposal(self, proposal_id: str) -> Proposal:
        """One proposal, by its id.

        Raises:
            InputError: no proposal has that id.
        """
        for found in await self.proposals():
            if found.proposal_id == proposal_id:
                return found
        raise InputError(f"there is no proposal {proposal_id!r}: `metajudge feedback history` lists the proposals")

    async def backtest(self, proposal_id: str) -> Backtest:
        """Tests a proposal's change anew on all cases there are by now, against the version now in force; kept."""
        proposal = await self.proposal(proposal_id)
        policy = await self.active(proposal.name)
        cases = await self.cases(proposal.name)
        tried = round((1 - CONFIDENCE) / (1 - proposal.backtest.confidence))
        found = backtest(proposal.kind, proposal.direction, policy, cases, seed=self._seed, tried=max(tried, 1))
        payload = {"base_digest": policy.digest, "backtest": found.model_dump(mode="json")}
        await self._append(BACKTEST, proposal_id, payload)
        return found

    async def activate(self, change_id: str, *, by: str, reason: str = "") -> Activation:
        """Puts a proposal's policy in force from now on; assessments keep the version they were decided with.

        Raises:
            InputError: it was refused, its newest backtest is not better, it was fitted on another version than the
                one in force, or the name of who activates it is missing.
        """
        proposal = await self.proposal(change_id)
        made = _proposal_id(proposal.base_digest, proposal.policy, proposal.direction, proposal.cases)
        if made != change_id:
            raise InputError(f"proposal {change_id} differs from what was proposed under this id: propose again")
        tests = await self.store.audit_log.entries(BACKTEST, change_id, limit=1)
        newest = Backtest.model_validate(tests[-1].payload["backtest"]) if tests else proposal.backtest
        return await self.put_in_force(proposal, newest, by=by, reason=reason)

    async def put_in_force(
        self, change: Proposal | Draft, test: Backtest | Comparison | None, *, by: str, reason: str = ""
    ) -> Activation:
        """Puts a changed policy in force from now on, and records who did it, with the versions before and after.

        Args:
            test: the newest one of the change; None for a draft that was not compared yet.

        Raises:
            InputError: the name of who activates it is missing, the change is in force already, was made for another
                version than the one in force, or it has no test or one that is not better.
        """
        kind = "draft" if isinstance(change, Draft) else "proposal"
        change_id = change.draft_id if isinstance(change, Draft) else change.proposal_id
        if not by.strip():
            raise InputError("give the name of who activates it: --by NAME")
        policy = await self.active(change.name)
        if policy.digest == change.policy.digest:
            raise InputError(f"{kind} {change_id} is already in force")
        if policy.digest != change.base_digest:
            again = "propose" if kind == "proposal" else "draft"
            raise InputError(
                f"{kind} {change_id} was made for version {change.base_digest[:12]} of {change.name!r}, and "
                f"{policy.digest[:12]} is in force now: {again} again"
            )
        if test is None:
            raise InputError(f"{kind} {change_id} was not compared yet: `metajudge feedback rejudge {change_id}`")
        if not test.better:
            raise InputError(f"{kind} {change_id} is refused: {test.reason}")
        activation = Activation(
            name=change.name,
            proposal_id=change_id,
            base_digest=policy.digest,
            digest=change.policy.digest,
            by=by.strip(),
            at=self._clock(),
            reason=reason,
            backtest=test if isinstance(test, Backtest) else None,
            comparison=test if isinstance(test, Comparison) else None,
            policy=change.policy,
        )
        await self.register(policy)
        await self.register(change.policy)
        await self.store.audit_log.append(
            ACTIVATION, activation.name, activation.model_dump(mode="json"), now=activation.at
        )
        return activation

    async def activations(self, name: str | None = None) -> list[Activation]:
        """The audit records of every activation, oldest first."""
        entries = await self.store.audit_log.entries(ACTIVATION, name)
        return [Activation.model_validate(entry.payload) for entry in entries]


def _proposal_id(base_digest: str, new: Policy, direction: Direction, cases: Sequence[str]) -> str:
    return digest(["proposal", base_digest, new.digest, direction, cases])[:12]


def _recorded(entry: AuditEntry) -> Policy:
    """The policy of an entry, which must still have the digest that was recorded with it."""
    try:
        policy = Policy.model_validate(entry.payload["policy"])
    except ValidationError:
        policy = None
    recorded = str(entry.payload.get("digest", "no digest"))
    if policy is None or policy.digest != recorded:
        raise PolicyError(
            f"policy {entry.subject!r}: the store's {entry.kind} record {entry.entry_id} differs from the "
            f"version {recorded[:12]} it names, so it is not used: it was changed by "
            "hand, or comes from another version of metajudge; use a policy file (--policy FILE), or restore the store"
        )
    return policy


FRESH_S = 2.0
"""Seconds that a looked-up version counts where another process may activate a policy."""

MOST_KNOWN = 1_000


async def policy_in_force(given: str | Path | Policy, store: Store | None) -> Policy:
    """The policy to decide by; its content is kept in the store, so that decisions can be explained later.

    Args:
        given: a policy or its file, taken as it is; or a name, for the version that was last activated in the store,
            else the built-in one.

    Raises:
        PolicyError: no such policy, or a file that is not one.
    """
    named = isinstance(given, str) and not looks_like_path(given)
    if isinstance(given, Policy):
        policy = given
    elif named and store is not None:
        policy = await FeedbackLoop(store, clock=time.time).active(str(given))
    else:
        policy = load_policy(given)
    if store is not None:
        await FeedbackLoop(store, clock=time.time).register(policy)
    return policy


class PoliciesInForce:
    """Remembers which version of each named policy is in force, so that not every vet asks the audit log.

    What this process puts in force counts at once, what others do on a database they share within :data:`FRESH_S`.

    Args:
        clock: seconds from any moment on.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[tuple[int, ...], float, Policy]] = {}
        self._asking = asyncio.Lock()

    async def named(self, name: str) -> Policy:
        """The version in force; see :func:`policy_in_force`.

        Raises:
            PolicyError: no such policy.
        """
        async with self._asking:  # one asks for all who wait, and registers it once
            now = self._clock()  # what is added meanwhile makes the answer old
            moved = tuple(self._store.audit_log.appended(kind) for kind in (ACTIVATION, POLICY))
            before, at, found = self._known.get(name, ((), 0.0, None))
            if found is None or before != moved or now - at >= FRESH_S:
                found = await policy_in_force(name, self._store)
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[name] = (moved, now, found)
            return found
