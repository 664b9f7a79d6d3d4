"""The record of one evaluation: everything its verdict is based on, so that it can be recomputed by hand.

Its rankings as judgments, and what a store keeps of it, are made here, too.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from metajudge.clashes.tally import Tally, Voter, tally, why_no_unanimity
from metajudge.judging.answers import CandidateAnswer
from metajudge.judging.blinding import BlindingReport
from metajudge.judging.criteria import CriteriaSet
from metajudge.judging.ranking_replies import Score
from metajudge.types import Failure, Item, Judgment, Ranking, Verdict, digest
from metajudge.types.decision import Action
from metajudge.types.frozen import Finite
from metajudge.types.spent import Priced

if TYPE_CHECKING:
    from metajudge.store import Store

RETRY_RULE = (
    "An evaluation in which a candidate, a judge or an observer could not be asked is attempted again by the next run "
    "with the same file, up to the number of attempts allowed; answers, criteria and rankings that are there are kept, "
    "and only what is missing is asked for. A reply that cannot be used is asked to be repaired once within its "
    "attempt and then stands as a failure. The first attempt in which everybody could be asked counts, else the last; "
    "attempts with identities hidden count before those without, and those of earlier versions, which hid less."
)
"""How attempts follow each other; kept in every record."""

Status = Literal["ok", "tie", "no_verdict", "error"]
Role = Literal["panel", "voter", "observer"]


class _Vote(Finite):
    judge: str
    model: str
    endpoint: str
    reported_model: str | None = None
    role: Role
    weight: float | None = None
    label_map: dict[str, str]
    order: tuple[str, ...]
    ranking: Verdict | None
    scores: dict[str, dict[str, Score]] = Field(default_factory=dict)
    comparison: str = ""
    instruction: str = ""
    failure: Failure | None = None
    replied: bool = True
    replies: int = 0


class JudgeVote(Priced, _Vote):
    """One judge's vote.

    Attributes:
        role: ``panel`` and ``voter`` count with their weight; an ``observer`` is shown beside and never counts.
        label_map: label -> candidate, as this judge saw them.
        order: candidates in the order shown.
        ranking: groups of candidates, best first; None with a ``failure``.
        scores: candidate -> criterion's key -> score.
        own: the candidate this judge is itself, where it is one.
    """

    request_digest: str | None = None
    own: str | None = None

    @property
    def counted(self) -> bool:
        """Whether it counts for the verdict."""
        return self.role != "observer"

    @property
    def groups(self) -> Ranking | None:
        return self.ranking if isinstance(self.ranking, Ranking) else None

    @property
    def own_first(self) -> bool | None:
        """Whether this judge put its own answer first, alone; None where it has none here, or gave no ranking."""
        return None if self.own is None or self.groups is None else self.groups.winner == self.own


class ClashRecord(Finite):
    """One attempt at one evaluation.

    Attributes:
        id: item, cycle and repeat: ``q1``, ``q1/c2/r1``.
        key: digest of everything that determines the evaluation; attempts at one evaluation share it.
        evaluation: what labels were drawn from, with ``seed`` and the judge's name; see
            :func:`~metajudge.judging.blinding.blind`.
        attempt: 1 for the first; earlier attempts stay in the file.
        status: ``ok``, ``tie``, ``no_verdict`` (below the quorum, or too few answers), ``error`` (no answer).
        winner: None unless the status is ``ok``.
        tally: None where there was nothing to rank.
        blinding: what was hidden from the judges, in whose answer and where; None in records of earlier versions.
        spent_usd, calls: what this attempt took anew, failed calls and repairs included; the sum over attempts is
            what the evaluation took. None where a price or the usage is unknown.
        prompt_digests: of the templates used.
    """

    version: Literal[1] = 1
    id: str
    key: str
    evaluation: str
    attempt: int = Field(default=1, ge=1)
    item_id: str
    cycle: int = 1
    repeat: int = 1
    seed: int
    category: str | None = None
    question: str
    reference: str | None = None
    label: Verdict | None = None
    models: dict[str, str] = Field(default_factory=dict)
    status: Status
    winner: str | None = None
    tied: tuple[str, ...] = ()
    why: str | None = None
    candidates: tuple[CandidateAnswer, ...]
    criteria: CriteriaSet | None = None
    blinding: BlindingReport | None = None
    panel: tuple[str, ...]
    votes: tuple[JudgeVote, ...] = ()
    tally: Tally | None = None
    notices: tuple[str, ...] = ()
    spent_usd: float | None = 0.0
    calls: int = 0
    cached_calls: int = 0
    prompt_digests: dict[str, str] = Field(default_factory=dict)
    retry_rule: str = RETRY_RULE
    metajudge_version: str

    @field_validator("tally")
    @classmethod
    def _one_voter_is_not_unanimous(cls, found: Tally | None, info: ValidationInfo) -> Tally | None:
        """Takes a unanimity back that an earlier version recorded for one voter, or one candidate."""
        if found is None or not found.unanimous:
            return found
        voters = _voters(info.data.get("votes", ()))
        alone = why_no_unanimity(len(found.scores), len(voters), len({voter.identity for voter in voters}))
        if alone is None:
            return found
        return found.model_copy(update={"unanimous": False, "triage": "escalate", "why": alone})

    @property
    def answered(self) -> dict[str, str]:
        """Candidate -> its answer, for those that gave one."""
        return {one.name: one.text for one in self.candidates if one.text is not None}

    @property
    def everybody_asked(self) -> bool:
        """Whether no candidate, judge or observer is missing because it could not be asked."""
        return all(one.replied for one in self.candidates) and all(vote.replied for vote in self.votes)

    @property
    def complete(self) -> bool:
        """Whether every candidate answered and every judge, voters and observers included, gave a ranking."""
        failures = [one.failure for one in self.candidates] + [vote.failure for vote in self.votes]
        return not any(failures)


def attempt_that_counts(attempts: Sequence[ClashRecord]) -> ClashRecord:
    """Of the attempts at one evaluation, in order, the one that counts by :data:`RETRY_RULE`."""
    hidden = [one for one in attempts if one.blinding is not None and one.blinding.hiding]
    among = hidden or attempts
    return next((one for one in among if one.everybody_asked), among[-1])


def recount(record: ClashRecord) -> Tally:
    """The verdict anew, from the rankings in a record alone; observers have no part in it.

    Raises:
        InputError: a ranking that does not rank each candidate that answered once.
    """
    rankings = {vote.judge: vote.groups for vote in record.votes if vote.counted}
    quorum = None if record.tally is None else record.tally.quorum
    return tally(list(record.answered), _voters(record.votes), rankings, quorum=quorum)


def _voters(votes: Sequence[JudgeVote]) -> list[Voter]:
    """The declared voters: all but observers."""
    return [Voter(one.judge, one.weight or 1.0, one.role == "panel", one.model) for one in votes if one.counted]


KIND = "clash"
"""What the records of decided clashes are called in the store's audit log."""


def subject_of(record: ClashRecord) -> str:
    """Digest of what a clash is about: its answers and the judges' rankings of them, at whatever cost."""
    votes = [[vote.judge, None if vote.groups is None else str(vote.groups)] for vote in record.votes]
    return digest([record.key, sorted(record.answered.items()), votes])


def wants_person(record: ClashRecord) -> bool:
    """Whether a person has to make the call: two answers or more, and no panel that the triage rule accepts."""
    return len(record.answered) >= 2 and (record.tally is None or record.tally.triage != "accept")


async def keep_clashes(store: "Store | None", records: Iterable[ClashRecord], *, now: float) -> int:
    """Records what became of clashes; the same verdict again adds nothing. Returns how many are new.

    Clashes with fewer than two answers compare nothing and have no outcome.
    """
    if store is None:
        return 0
    added = 0
    for record in records:
        subject = subject_of(record)
        if len(record.answered) < 2 or await store.audit_log.entries(KIND, subject, limit=1):
            continue
        tally = record.tally
        kept: dict[str, Any] = {
            "clash_id": record.id,
            "subject_digest": subject,
            "item_id": record.item_id,
            "category": record.category,
            "action": Action.REVIEW.value if wants_person(record) else Action.APPROVE.value,
            "status": record.status,
            "winner": record.winner,
            "ranking": None if tally is None or not tally.ranking else [list(group) for group in tally.ranking],
            "margin": None if tally is None else tally.margin,
            "unanimous": tally is not None and tally.unanimous,
            "judges": list(record.panel),
        }
        await store.audit_log.append(KIND, subject, kept, now=now)
        added += 1
    return added


def judgments_of_clash(record: ClashRecord) -> list[Judgment]:
    """The rankings of one evaluation as judgments, observers' included; each says its judge's role in ``meta``.

    The item is the question with the answers as they were given; where cycles made them anew, its id names the cycle.
    A judge that could not be asked makes no judgment. Neither does anybody where fewer than two candidates answered: a
    ranking compares at least two.
    """
    texts = record.answered
    if len(texts) < 2:
        return []
    models = {one.name: one.model for one in record.candidates if one.model is not None and one.name in texts}
    cycle = f"/c{record.cycle}" if f"/c{record.cycle}" in record.id else ""
    item = Item(
        id=f"{record.item_id}{cycle}",
        question=record.question,
        responses=texts,
        category=record.category,
        label=record.label,
        reference=record.reference,
        models=models or None,
    )
    return [_judgment_of_vote(record, vote, item) for vote in record.votes if vote.failure is None or vote.replied]


def _judgment_of_vote(record: ClashRecord, vote: JudgeVote, item: Item) -> Judgment:
    meta = {
        "model": vote.model,
        "reported_model": vote.reported_model,
        "role": vote.role,
        "weight": vote.weight,
        "own": vote.own,
        "evaluation": record.id,
        "attempt": record.attempt,
        "seed": record.seed,
        "criteria": None if record.criteria is None else [one.text for one in record.criteria.criteria],
        "scores": {name: {key: one.score for key, one in row.items()} for name, row in vote.scores.items()},
        "prompt_digest": record.prompt_digests["ranking"],
        "request_digest": vote.request_digest,
        "attempts": vote.replies,
        "cost_usd": vote.cost_usd,
        "metajudge_version": record.metajudge_version,
    }
    return Judgment(
        id=f"{record.id}/{vote.judge}",
        item=item,
        judge=vote.judge,
        verdict=vote.ranking,
        no_verdict=None if vote.failure is None else vote.failure.message,
        rationale=_rationale(record, vote),
        order=vote.order,
        labels=tuple(vote.label_map),
        instruction=vote.instruction,
        meta=meta,
    )


def _rationale(record: ClashRecord, vote: JudgeVote) -> str:
    """The comparison, and the scores with their reasons, by the labels the judge used."""
    if record.criteria is None or not vote.scores:
        return vote.comparison
    names = {one.key: one.name for one in record.criteria.criteria}
    lines = [vote.comparison]
    for label, candidate in vote.label_map.items():
        for key, score in vote.scores.get(candidate, {}).items():
            lines.append(f"{label}, {names[key]}: {score.score}" + (f" ({score.reason})" if score.reason else ""))
    return "\n".join(lines)
