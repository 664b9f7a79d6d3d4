"""Tasks other than vetting, for single requests and for jobs; the state of a job and pages of its results.

A job's settings are stored as JSON with the field ``kind``; those of a vet have none, as before there were other kinds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal

import orjson
from pydantic import AfterValidator, BaseModel, Field, model_validator

from metajudge.cases.case import Case
from metajudge.cases.result import CaseResult
from metajudge.cases.run import Reviewing, case_panel, judge_case
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import open_review
from metajudge.clashes.run import clash_item
from metajudge.clashes.setup import ClashSettings
from metajudge.decision import DEFAULT_CASE_POLICY
from metajudge.errors import ConfigurationError, InputError
from metajudge.evidence.counting import status_of
from metajudge.judging.criteria import Criterion
from metajudge.panels.config import CandidateConfig, unused_settings
from metajudge.reading.questions import Question
from metajudge.reviews.review import Review
from metajudge.session import Respondent
from metajudge.store.jobs import JobRow, ResultRow
from metajudge.types import Assessment, Item, Judgment
from metajudge.types.frozen import Frozen
from metajudge.vetting.engine import Engine

from .panels import NAME, Choice, Panels
from .schemas import EXAMPLE_JUDGMENT

MOST_RESPONSES: Final = 50
"""Limits the calls of one request: each response may cost one call to every judge."""
Kind = Literal["vet", "clash", "case"]
RESULT: Final[Mapping[Kind, str]] = {"vet": "assessment", "clash": "clash", "case": "case"}
"""What a job's result is called in JSON; one that could not be made is called ``error``."""


def _few_responses(item: Item) -> Item:
    if len(item.responses) > MOST_RESPONSES:
        raise ValueError(
            f"{len(item.responses)} responses; at most {MOST_RESPONSES} are judged in one request: send fewer"
        )
    return item


JudgedItem = Annotated[Item, AfterValidator(_few_responses), Field(examples=[EXAMPLE_JUDGMENT["item"]])]


class ClashChoice(Frozen):
    """How a clash is run; models are named, never given as addresses."""

    panel: str | None = Field(default=None, description="Its agents are the judges; default: the first panel.")
    candidates: str | None = Field(
        default=None,
        description="A set of candidates of this service, or one of its panels, whose models answer the question; "
        "without it the item's responses are ranked.",
    )
    criteria_model: str | None = Field(
        default=None, description="An agent of this service by name: it names criteria for each question."
    )
    observers: bool = Field(default=False, description="Candidates rank all answers, too, and do not count.")
    voters: bool = Field(default=False, description="Candidates rank all answers, and count.")
    judge_weight: float | None = Field(default=None, gt=0, le=1e6)
    candidate_weight: float | None = Field(default=None, gt=0, le=1e6)
    seed: int = Field(default=0, ge=0, le=2**31)
    ties: bool = False
    quorum: int | None = Field(default=None, ge=1, le=100)
    with_reference: bool = False
    temperature: float | None = Field(default=None, ge=0, le=2, description="Of the candidates' answers.")
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000, description="Of the candidates' answers.")


class ClashRequest(ClashChoice):
    """Responses to be ranked blind by every judge, or a question that candidates answer first."""

    item: JudgedItem | None = Field(default=None, examples=[EXAMPLE_JUDGMENT["item"]])
    question: Question | None = Field(default=None, description="What the candidates answer, in place of an item.")
    criteria: tuple[Criterion, ...] = Field(default=(), max_length=20)

    @model_validator(mode="after")
    def _one_subject(self) -> "ClashRequest":
        if (self.item is None) == (self.question is None):
            raise ValueError("give either an item with responses, or a question for candidates")
        if self.question is not None and self.candidates is None:
            raise ValueError("a question needs candidates that answer it: name a set of candidates")
        return self

    @property
    def subject(self) -> Item | Question:
        """What is judged, or answered first."""
        found = self.item or self.question
        assert found is not None
        return found


class CaseChoice(Frozen):
    """How cases are judged and decided."""

    panel: str | None = Field(default=None, description="Its agents are the judges; default: the first panel.")
    policy: str = Field(default=DEFAULT_CASE_POLICY, pattern=NAME)


Asked = Choice | ClashChoice | CaseChoice
Record = Judgment | Item | Question | Case


_CHOICES: Final[Mapping[Kind, type[Asked]]] = {"vet": Choice, "clash": ClashChoice, "case": CaseChoice}


def kind_of(asked: Asked) -> Kind:
    """The kind of a job with these settings."""
    return next(kind for kind, choice in _CHOICES.items() if isinstance(asked, choice))


def to_text(asked: Asked) -> str:
    """Settings as they are stored."""
    if isinstance(asked, Choice):
        return asked.model_dump_json()
    return orjson.dumps({"kind": kind_of(asked), **asked.model_dump(mode="json")}).decode()


def asked_of(text: str) -> Asked:
    """Stored settings."""
    data = orjson.loads(text)
    return _CHOICES[data.pop("kind", "vet")].model_validate(data)


def kind_in(text: str) -> Kind:
    """The kind of stored settings."""
    kind: Kind = orjson.loads(text).get("kind", "vet")
    return kind


def record_type(asked: Asked) -> type[Record]:
    """What each line of an upload is."""
    if isinstance(asked, Choice):
        return Judgment
    if isinstance(asked, CaseChoice):
        return Case
    return Item if asked.candidates is None else Question


FIRST_CURSOR: Final = 2**40
"""The smallest cursor of results. Cursors of earlier versions were positions in the upload, which are smaller and are
refused."""


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (JobState.DONE, JobState.CANCELLED, JobState.FAILED)


class JobStatus(BaseModel):
    """A job and its progress."""

    job_id: str
    kind: Kind = Field(default="vet", description="What is done with each item.")
    owner: str = Field(description="The name of the key that sent it.")
    state: JobState
    detail: str | None = Field(default=None, description="The reason if it failed.")
    items: int
    done: int
    by_status: dict[str, int] = Field(
        description="Results so far by status: of vets assessed, unscored, no_verdict, failed; of clashes ok, tie, "
        "no_verdict, error, failed; of cases decided, unscored, failed."
    )
    created_at: float = Field(description="Seconds since the epoch.")
    ended_at: float | None = None

    @classmethod
    def of(cls, row: JobRow, by_status: dict[str, int]) -> "JobStatus":
        """A job's row with its results counted by status."""
        plain = {name: getattr(row, name) for name in ("job_id", "owner", "detail", "items", "created_at", "ended_at")}
        return cls(
            **plain,
            kind=kind_in(row.request),
            state=JobState(row.state),
            done=sum(by_status.values()),
            by_status=by_status,
        )


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """Results in order of completion; ``next_cursor`` is None if the job has ended and no result follows."""

    rows: list[ResultRow]
    next_cursor: int | None
    kind: Kind = "vet"

    def to_json(self) -> bytes:
        """The page as an HTTP body; results are passed on as they are stored."""
        cursor = b"null" if self.next_cursor is None else b"%d" % self.next_cursor
        return b'{"results":[%s],"next_cursor":%s}' % (
            b",".join(row.to_json(RESULT[self.kind]) for row in self.rows),
            cursor,
        )


def cursor_of(seq: int) -> int:
    """The cursor after the result with this number, which is also its event's id."""
    return FIRST_CURSOR + seq


def seq_of(cursor: int) -> int:
    """The number of the last result before a cursor; 0 for a negative one.

    Raises:
        InputError: the cursor is one of an earlier version.
    """
    if cursor < 0:
        return 0
    if cursor < FIRST_CURSOR:
        raise InputError(f"after: {cursor} is a cursor of an earlier version: start again without `after`")
    return cursor - FIRST_CURSOR


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one item of a job.

    Attributes:
        subject_id: of a judgment, an item or a case.
        status: of a vet ``assessed``, ``unscored``, ``no_verdict`` or ``failed``; of a clash its record's; of a case
            ``decided`` or ``unscored``; ``failed`` where an item could not be judged at all.
        payload: JSON.
    """

    subject_id: str
    status: str
    payload: bytes

    @classmethod
    def of(cls, assessment: Assessment) -> "Found":
        return cls(assessment.judgment_id, status_of(assessment), assessment.model_dump_json().encode())


class Tasks:
    """Clashes and cases over the service's engine and panels.

    Args:
        candidates: sets of candidates by name.
        review_sample: fraction of approved and rejected cases sampled for review, in [0, 1].
    """

    def __init__(
        self,
        engine: Engine,
        panels: Panels,
        candidates: Mapping[str, tuple[CandidateConfig, ...]],
        review_sample: float = 0.0,
    ) -> None:
        self._engine = engine
        self._panels = panels
        self._candidates = candidates
        self._reviewing = Reviewing(sample=review_sample)

    async def check(self, asked: Asked) -> None:
        """Refuses unknown names, and settings that make no sense together, before any work is done.

        Raises:
            ConfigurationError: see :class:`ClashChoice`, :class:`CaseChoice` and :class:`~.panels.Choice`.
            PolicyError: an unknown policy, or one for verdicts.
        """
        if isinstance(asked, Choice):
            await self._panels.check(asked)
        elif isinstance(asked, CaseChoice):
            policy = await self._panels.policy(asked.policy)
            await case_panel(self._engine, policy, judges=self._panels.respondents(asked.panel))
        else:
            self._settings(asked).check()

    async def clash(
        self, subject: Item | Question, asked: ClashChoice, criteria: tuple[Criterion, ...] = ()
    ) -> tuple[ClashRecord, Review | None]:
        """One evaluation, and the review that was opened because its judges were divided."""
        record = await clash_item(self._engine, subject, self._settings(asked), criteria=criteria)
        return record, await open_review(self._engine.store, record)

    async def case(self, case: Case, asked: CaseChoice) -> tuple[CaseResult, list[Respondent]]:
        """One decided case, and its judges; what the policy sends to people is queued for review."""
        judges = self._panels.respondents(asked.panel)
        policy = await self._panels.policy(asked.policy)
        result = await judge_case(self._engine, case, policy=policy, judges=judges, reviewing=self._reviewing)
        return result, judges

    async def item(self, record: Record, asked: Asked) -> Found:
        """The result of one item of a job; one that cannot be judged has its error as a result."""
        try:
            if isinstance(asked, CaseChoice):
                assert isinstance(record, Case)
                result, _ = await self.case(record, asked)
                status = "unscored" if result.failed else "decided"
                return Found(result.case_id, status, result.model_dump_json().encode())
            assert isinstance(asked, ClashChoice)
            assert isinstance(record, Item | Question)
            found, _ = await self.clash(record, asked)
            return Found(found.item_id, found.status, found.model_dump_json().encode())
        except InputError as error:
            return Found(record.id, "failed", orjson.dumps(str(error)))

    def _settings(self, asked: ClashChoice) -> ClashSettings:
        name = asked.candidates
        chosen = () if name is None else self._candidates.get(name) or self._of_panel(name)
        return ClashSettings(
            candidates=chosen,
            judges=self._panels.respondents(asked.panel, weighted=True),
            criteria_model=None if asked.criteria_model is None else self._panels.model(asked.criteria_model),
            given=not chosen,
            **{name: getattr(asked, name) for name in _OF_CLASHES},
        )

    def _of_panel(self, name: str) -> tuple[CandidateConfig, ...]:
        """The agents of a panel as candidates, without what only judges have."""
        if name not in self._panels.configs:
            known = ", ".join([*self._candidates, *self._panels.configs])
            raise ConfigurationError(f"unknown candidates {name!r}; this service has {known}")
        agents = self._panels.configs[name].agents
        return tuple(CandidateConfig(**one.model_dump(exclude=set(unused_settings(one)))) for one in agents)


_OF_CLASHES: Final = tuple(
    name for name in ClashChoice.model_fields if name not in ("panel", "candidates", "criteria_model")
)
"""Settings of a clash that its choice names as the library does."""
