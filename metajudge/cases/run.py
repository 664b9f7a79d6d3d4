"""Cases in (one JSON object, a list of them, or one a line), and judged.

Each is scored, decided, recorded, and queued for people where its policy says so.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import orjson
from pydantic import ValidationError

from metajudge.cases.case import Case
from metajudge.cases.judge import CaseJudge
from metajudge.cases.panel import CasePanel
from metajudge.cases.quotes import QuoteCount
from metajudge.cases.records import keep_result, numbers_of, review_of
from metajudge.cases.result import CaseResult, quotes_in
from metajudge.decision import DEFAULT_CASE_POLICY, Policy, case_rubric
from metajudge.errors import ConfigurationError, InputError
from metajudge.files.yaml_documents import looks_like_path
from metajudge.outcomes.sending import send_unstored
from metajudge.panels.config import PanelConfig
from metajudge.reading.containers.lines import EXCERPT, Line, Reject, Source, open_bytes, read_lines
from metajudge.reading.reader import why
from metajudge.reading.reasons import as_record
from metajudge.rubric import Rubric
from metajudge.runs.estimate import CRITERION_TOKENS, Estimate, prices_of, size_of
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Job, Stop, run_all
from metajudge.runs.totals import RunTotals
from metajudge.session import Respondents, Session, note_unused
from metajudge.store.outcome_sources import case_finding
from metajudge.webhooks.webhook import Webhook

MAX_DOCUMENT = 64 * 1024 * 1024
"""A JSON document that is not one object a line is read whole, up to this size."""


@dataclass(slots=True)
class CaseInput:
    """The cases of some files, each id once, and what could not be read or judged."""

    cases: list[Case] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    duplicates: int = 0


def read_cases(paths: Sequence[str], panel: CasePanel, limit: int | None = None) -> CaseInput:
    """Reads cases and checks that the panel's policy can judge them.

    Raises:
        InputError: a file cannot be read, two different cases have one id, or there is no case at all.
    """
    found = CaseInput()
    seen: dict[str, tuple[str, str]] = {}
    for path in paths:
        for number, data in _records(path):
            where = f"{path}:{number}"
            if isinstance(data, Reject):
                found.rejects.append(data)
                continue
            try:
                case = Case.model_validate(data)
                panel.check(case)
            except (ValidationError, InputError) as error:
                found.rejects.append(Reject(path, number, why(error), orjson.dumps(data).decode()[:EXCERPT]))
                continue
            if case.id in seen:
                content, first = seen[case.id]
                if content != case.digest:
                    two = f"has one content at {first} and another at {where}"
                    raise InputError(f"case {case.id!r} {two}: give each its own id")
                found.duplicates += 1
                continue
            if limit is not None and len(found.cases) >= limit:
                return found
            seen[case.id] = case.digest, where
            found.cases.append(case)
    if not found.cases:
        reason = f": {found.rejects[0]}" if found.rejects else ""
        raise InputError(f"the input contains no case that can be judged{reason}")
    return found


def _records(path: str) -> Iterator[tuple[int, dict[str, Any] | Reject]]:
    source = Source(Path(path), path)
    if not source.path.is_file():
        raise InputError(f"{path}: no such file; `metajudge schema case` describes the format")
    document = _document(source)
    if document is None:
        for line in read_lines(source):
            yield (line.number, line.data) if isinstance(line, Line) else (line.line, line)
        return
    for number, data in enumerate(document, start=1):
        is_object = isinstance(data, dict)
        yield number, data if is_object else Reject(path, number, "not an object", str(data)[:EXCERPT])


def _document(source: Source) -> list[Any] | None:
    """The entries of a file that is one JSON object over several lines, or a list; None for one object a line."""
    with open_bytes(source) as stream:
        content = stream.read(MAX_DOCUMENT + 1)
    if len(content) > MAX_DOCUMENT:
        return None
    try:
        data = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        if source.path.suffix == ".json" and content.strip():
            raise InputError(f"{source.name}: not one JSON document: {error}") from None
        return None
    return data if isinstance(data, list) else [data]


CaseLike = Case | Mapping[str, Any]


def estimate_cases(config: PanelConfig, policy: Policy, rubric: Rubric, cases: Sequence[Case]) -> Estimate:
    """What it takes to have agents judge cases, should no gate end one.

    Raises:
        ConfigurationError: agents that make no sense together (no key is needed).
    """
    models = Session.for_estimate(config).models()
    plan = policy.cases
    assert plan is not None, "checked when the policy was chosen"
    judges = [CaseJudge(one.name, one.model, one.parameters, one.prompt_version, plan) for one in models]
    prices = prices_of(config.agents)
    estimate = Estimate.at(prices)
    for case in cases:
        estimate.judgments += 1
        for stage in plan.stages:
            given = case.stage(stage.name)
            if given is None:
                continue
            for judge in judges:
                size = size_of(judge.request(case, given, stage, rubric.only(stage.criteria)))
                estimate.add(judge.name, prices, size, CRITERION_TOKENS * len(stage.criteria))
    return estimate


@dataclass(slots=True, kw_only=True)
class CaseTotals(RunTotals):
    """Counts of one run.

    Attributes:
        cases: of the input; ``decided`` of them reached a decision, ``unscored`` have a stage without a score.
        actions: decisions by action; ``gated`` those made by the gate.
        evidence: quotes given; ``found`` of them stand in the stage's output or in what it was given, ``short`` ones
            prove nothing.
        reviews: reviews opened, those that were there before left out.
        failures: judges' failures by kind.
        results: in input order.
    """

    NOUN: ClassVar[str] = "cases"
    LOST: ClassVar[str] = "without a score"
    DONE: ClassVar[tuple[str, ...]] = ("decided",)
    MISSING: ClassVar[tuple[str, ...]] = ("unscored",)
    HIDDEN: ClassVar[frozenset[str]] = frozenset({"results", "short"})

    cases: int = 0
    decided: int = 0
    unscored: int = 0
    gated: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    evidence: int = 0
    found: int = 0
    short: int = 0
    reviews: int = 0
    results: list[CaseResult] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Counts one case."""
        self.decided += 1
        self.unscored += result.failed
        self.gated += result.decision.gate is not None
        self.actions[result.action] += 1
        self.cached_calls += result.metadata.cached_calls
        quotes = quotes_in(result.stages)
        self.evidence += quotes.given
        self.found += quotes.found
        self.short += quotes.short
        for stage in result.stages:
            self.failures.update(reply.failure.kind.value for reply in stage.judges if reply.failure is not None)

    @property
    def quotes(self) -> QuoteCount:
        return QuoteCount(self.evidence, self.found, self.short)

    @property
    def counts(self) -> RunCounts:
        return RunCounts(self.end, self.decided, self.unscored + self.undelivered, bad_lines=self.bad_lines)


@dataclass(frozen=True, slots=True)
class Reviewing:
    """Which decided cases people look at besides those that the policy sends to them.

    Attributes:
        sample: fraction of approved and rejected cases sampled for review, in [0, 1].
        seed: of the sample.
        reviewers: people who decide each review.

    Raises:
        ConfigurationError: a fraction outside [0, 1].
    """

    sample: float = 0.0
    seed: int = 0
    reviewers: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.sample <= 1:
            raise ConfigurationError(
                f"the fraction sampled for review must lie in [0, 1], not {self.sample:g}; .05 is one in twenty"
            )


async def judge_case(
    session: Session,
    case: CaseLike,
    *,
    policy: str | Path | Policy = DEFAULT_CASE_POLICY,
    rubric: Rubric | None = None,
    judges: Respondents | None = None,
    reviewing: Reviewing = Reviewing(),
) -> CaseResult:
    """Judges and decides one case; what the policy sends to people is queued for review in the store.

    Args:
        policy: one with a section ``cases``, by name (the version in force), as a file, or as an object.
        rubric: None for the policy's own.
        judges: None for the session's agents.

    Raises:
        InputError: not a case, or one that the policy cannot judge.
        PolicyError: no such policy, or one for verdicts.
        BudgetExceeded: the budget is spent.
    """
    panel = await case_panel(session, policy, rubric, judges)
    result, _ = await _decide(session, panel, as_record(case, Case, "the case"), reviewing)
    return result


async def judge_cases(
    session: Session,
    cases: Iterable[CaseLike],
    *,
    policy: str | Path | Policy = DEFAULT_CASE_POLICY,
    rubric: Rubric | None = None,
    judges: Respondents | None = None,
    reviewing: Reviewing = Reviewing(),
    webhook: Webhook | None = None,
    on_result: Callable[[int, CaseResult], None] | None = None,
    totals: CaseTotals | None = None,
    stop: Stop | None = None,
) -> CaseTotals:
    """Judges cases, several at once; an interrupted run continues from the stored replies.

    Args:
        policy, rubric, judges, reviewing: see :func:`judge_case`.
        webhook: receives each outcome, whenever it was decided, under one event id; None for the session's.
        on_result: called with index and result of each case as it comes.
        totals: counted into as results come, for progress displays.
        stop: lets the caller stop the run.

    Raises:
        InputError: not a case, or one that the policy cannot judge.
        PolicyError: no such policy, or one for verdicts.
    """
    totals = totals or CaseTotals()
    note_unused(session, "case")
    panel = await case_panel(session, policy, rubric, judges)
    results: dict[int, CaseResult] = {}

    async def work(job: Job[Case, CaseResult]) -> CaseResult:
        result, opened = await _decide(session, panel, job.record, reviewing)
        totals.reviews += opened
        return result

    def finished(job: Job[Case, CaseResult], result: CaseResult, _settled: bool) -> None:
        totals.add(result)
        results[job.index] = result
        if on_result is not None:
            on_result(job.index, result)

    async with session.recording(totals, stop, webhook) as sender:
        try:
            totals.end = await run_all(
                (as_record(one, Case, f"case {number}") for number, one in enumerate(cases, start=1)),
                work,
                finished=finished,
                workers=session.workers,
                stop=stop,
                grace_s=session.grace_s,
            )
        finally:
            totals.results = [results[index] for index in sorted(results)]
        if sender is not None and session.store is not None:
            await session.store.outcomes.collect_all()
            subjects = [("case", one.metadata.case_digest) for one in totals.results]
            await sender.wish(await session.store.outcomes.current(subjects))
        elif webhook is not None and session.store is None:
            now = time.time()
            found = [case_finding(0, one.case_id, now, numbers_of(one)) for one in totals.results]
            totals.webhook = asdict(await send_unstored(webhook, found, session.notify))
    return totals


async def case_panel(
    session: Session, policy: str | Path | Policy, rubric: Rubric | None = None, judges: Respondents | None = None
) -> CasePanel:
    """The panel of judges with the policy in force and its rubric."""
    chosen = await session.policy_in_force(policy)
    if rubric is None:
        folder = Path(policy).parent if isinstance(policy, str | Path) and looks_like_path(str(policy)) else None
        rubric = case_rubric(chosen, folder)
    asked = [CaseJudge(one.name, one.model, one.parameters, one.prompt_version) for one in session.models(judges)]
    return CasePanel(asked, chosen, rubric)


async def _decide(session: Session, panel: CasePanel, case: Case, reviewing: Reviewing) -> tuple[CaseResult, int]:
    """The decided case, and the reviews opened for it."""
    result = await panel.judge(case, now=datetime.now(UTC))
    if session.store is None:
        return result, 0
    await keep_result(session.store, result, case.label)
    review = review_of(
        result,
        case,
        panel.policy,
        time.time(),
        audit_share=reviewing.sample,
        seed=reviewing.seed,
        reviewers=reviewing.reviewers,
    )
    return result, 0 if review is None else await session.store.reviews.open([review])
