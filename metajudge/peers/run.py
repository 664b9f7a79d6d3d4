"""A peers run: every model answers every question, then every model ranks all answers to each."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from metajudge.errors import ConfigurationError, InputError
from metajudge.installation import __version__
from metajudge.judging.answers import answer_request
from metajudge.judging.blinding import BlindingTotals, blind, blinding_totals, identifying_names
from metajudge.judging.judges import ranking_request, templates_digest
from metajudge.panels.config import AgentConfig, PanelConfig
from metajudge.peers.protocol import (
    Peer,
    answer_key,
    answer_question,
    asked_alike,
    ballot_key,
    blinding_of,
    criteria_for,
    peers_of,
    rank_answers,
    ranking_settings,
)
from metajudge.peers.record import Ballot, PeerAnswer, counted_ballots
from metajudge.providers.model import Model
from metajudge.reading.questions import Question, Questions, as_questions
from metajudge.runs.estimate import (
    CHARACTERS_PER_TOKEN,
    EXPLANATION_TOKENS,
    REASONING_TOKENS,
    Estimate,
    prices_of,
    size_of,
)
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Job, Stop, run_all
from metajudge.runs.outputs import AttemptFile
from metajudge.runs.totals import RunTotals
from metajudge.session import Respondent, Session, note_unused
from metajudge.types.spent import sum_if_known

R = TypeVar("R", PeerAnswer, Ballot)


def estimate_peers(
    panel: PanelConfig, questions: Sequence[Question], evaluators: Sequence[AgentConfig] = ()
) -> Estimate:
    """Answers of an assumed length, and rankings of all of them by every model.

    Args:
        evaluators: who ranks and does not answer.

    Raises:
        ConfigurationError: models that make no sense together (no key is needed).
    """
    session = Session.for_estimate(panel)
    models = session.models()
    peers = all_peers(models, session.models(evaluators) if evaluators else [])
    candidates = {one.name for one in models}
    prices = prices_of((*panel.agents, *evaluators))
    estimate = Estimate.at(prices)
    answers = {
        peer.name: "x" * int(REASONING_TOKENS * CHARACTERS_PER_TOKEN) for peer in peers if peer.name in candidates
    }
    for question in questions:
        criteria = criteria_for(question.domain)[1]
        scored = EXPLANATION_TOKENS * len(criteria) * len(answers)
        for peer in peers:
            labels = blind(answers, seed=0, evaluation=question.id, judge=peer.name)
            ranking = ranking_request(question.question, answers, labels, criteria, peer.form)
            if peer.name in candidates:
                answer = answer_request(question.question, peer.parameters)
                estimate.add(peer.name, prices, size_of(answer), REASONING_TOKENS)
            estimate.add(peer.name, prices, size_of(ranking), REASONING_TOKENS + scored)
    return estimate


@dataclass(slots=True, kw_only=True)
class PeersTotals(RunTotals):
    """Counts of one run.

    Attributes:
        answers, ballots: that are there at the end, earlier ones included.
        reused: answers and ballots of earlier runs, for which nothing was asked.
        failed: answers and ballots that are missing, by kind in ``failures``; ``lost_by_model`` says whose.
        blinding: what was hidden in the answers, counted once a question.
        all_attempts_usd: dollars of every attempt in the two files, earlier runs' included; None where one is unknown.
    """

    NOUN: ClassVar[str] = "answers and ballots"
    LOST: ClassVar[str] = "missing"
    DONE: ClassVar[tuple[str, ...]] = ("answers", "ballots", "failed")
    MISSING: ClassVar[tuple[str, ...]] = ("failed",)

    questions: int = 0
    answers: int = 0
    ballots: int = 0
    reused: int = 0
    failed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    lost_by_model: dict[str, Counter[str]] = field(default_factory=dict)
    all_attempts_usd: float | None = 0.0
    blinding: BlindingTotals = field(default_factory=BlindingTotals)

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on: a missing answer or ballot is a failure."""
        return RunCounts(self.end, self.questions, self.failed, bad_lines=self.bad_lines)


@dataclass(frozen=True, slots=True)
class PeersResult:
    """What a run found.

    Attributes:
        ballots: one a question and evaluator of this run, earlier runs' included.
        provenance: where they come from.
    """

    ballots: tuple[Ballot, ...]
    totals: PeersTotals
    provenance: dict[str, str]


def answers_path(out: Path) -> Path:
    """Where the answers go that the ballots in ``out`` rank."""
    return out.with_name(f"{out.name.removesuffix('.jsonl')}.answers.jsonl")


async def run_peers(
    session: Session,
    questions: Sequence[Question | Mapping[str, Any] | str] | Questions,
    *,
    models: Sequence[str | AgentConfig | Model | Respondent] | None = None,
    evaluators: Sequence[str | AgentConfig | Model | Respondent] = (),
    out: Path | None = None,
    seed: int | None = None,
    totals: PeersTotals | None = None,
    stop: Stop | None = None,
    on_result: Callable[[PeerAnswer | Ballot, bool], None] | None = None,
) -> PeersResult:
    """Collects answers and ballots; what earlier runs wrote to the same files is not asked for again.

    The retry rule: who could not be asked (a time-out, a wrong key) is asked again by the next run; an answer or a
    refusal is kept, and so is an unusable reply. Where a missing answer has come, its question is ranked
    anew. Every attempt stays in the files.

    Args:
        session: open.
        questions: as objects, plain data or texts.
        models: who answers and ranks; None for the session's agents.
        evaluators: who ranks and does not answer.
        out: the file of ballots; the answers go beside it, see :func:`answers_path`. None to write none.
        seed: of the orders in which answers are shown; None for the session's, else 0.
        totals: counted into as results come, for progress displays.
        stop: lets the caller stop the run.
        on_result: called with each answer and ballot as it comes, with True for one of an earlier run.

    Raises:
        ConfigurationError: fewer than two models.
        InputError: data that is no question, or files that contain other data or ballots of other settings.
    """
    totals, stop = totals or PeersTotals(), stop or Stop()
    async with session.recording(totals, stop):
        asked = as_questions(questions)
        totals.questions = len(asked)
        note_unused(session, "peers")
        order_seed = (session.config.seed or 0) if seed is None else seed
        with ExitStack() as stack:
            kind = "{} of `metajudge peers`".format
            given_to = AttemptFile(out and answers_path(out), PeerAnswer, kind("an answer"), exclude_none=True)
            answers = stack.enter_context(given_to)
            ballots = stack.enter_context(AttemptFile(out, Ballot, kind("a ballot"), exclude_none=True))
            session.go_on_under((one.meta.get("prompt_digest") for one in ballots.earlier), templates_digest)
            given = session.models(models)
            judges = session.models(evaluators) if evaluators else []
            peers = all_peers(given, judges)
            answering = peers[: len(given)]
            settings = {peer.name: ranking_settings(peer, order_seed) for peer in peers}
            for ballot in ballots.earlier:  # one file contains ballots of one setting only
                made = ballot.meta.get("settings_digest")
                if made != settings.get(ballot.evaluator, made):
                    raise InputError(
                        f"{out} holds ballots of {ballot.evaluator!r} made with other settings (seed, model, "
                        "parameters, prompts or version): choose another --out, or run the same command as before"
                    )
            run = _Run(session, totals, stop, on_result)
            try:
                await run.collect(
                    (_Turn(one, peer) for one in asked for peer in answering),
                    answers,
                    lambda one: answer_key(one.question, one.peer),
                    lambda one, **how: answer_question(one.question, one.peer, **how),
                )
                if not stop.asked:
                    await run.collect(
                        (_Turn(one, peer, run.answers_to(one, peers)) for one in asked for peer in peers),
                        ballots,
                        lambda one: ballot_key(one.question, one.answers, one.peer, order_seed),
                        lambda one, **how: rank_answers(one.question, one.answers, one.peer, seed=order_seed, **how),
                        lambda earlier, one: asked_alike(earlier, one.question, one.answers, one.peer),
                    )
            finally:
                totals.end = stop.end
                names, evaluating = {one.id for one in asked}, {one.name for one in peers}
                counted = counted_ballots(ballots.attempts)
                found = tuple(one for one in counted if one.question_id in names and one.evaluator in evaluating)
                shown = {one.question_id: blinding_of(one) for one in found if one.labels is not None}
                totals.blinding = blinding_totals(shown.values())
                costs = [one.cost_usd for one in answers.attempts] + [one.cost_usd for one in ballots.attempts]
                totals.all_attempts_usd = sum_if_known(costs)
    return PeersResult(found, totals, _provenance(session, totals, peers, out))


@dataclass(frozen=True, slots=True)
class _Turn:
    """One model's turn at one question: to answer it, or to rank the answers to it."""

    question: Question
    peer: Peer
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str]:
        return self.question.id, self.peer.name


@dataclass(slots=True)
class _Run:
    session: Session
    totals: PeersTotals
    stop: Stop
    on_result: Callable[[PeerAnswer | Ballot, bool], None] | None
    given: dict[tuple[str, str], str] = field(default_factory=dict)

    def answers_to(self, question: Question, peers: Sequence[Peer]) -> dict[str, str]:
        """Model -> its answer to a question."""
        return {one.name: self.given[question.id, one.name] for one in peers if (question.id, one.name) in self.given}

    async def collect(
        self,
        turns: Iterable[_Turn],
        file: AttemptFile[R],
        key: Callable[[_Turn], str],
        ask: Callable[..., Awaitable[R]],
        alike: Callable[[R, _Turn], Awaitable[bool]] | None = None,
    ) -> None:
        """Asks for what is missing in a file, or was made of other texts than would be shown today.

        Args:
            key: what an earlier attempt at a turn is found by.
            ask: makes an attempt; is given the turn, ``attempt`` (its number) and ``retry`` (whether one failed).
            alike: whether an earlier attempt was asked what would be asked today; None where the key says so.
        """
        latest: dict[str | None, R] = {}  # the last attempt under each key, one that succeeded before one that failed
        for one in file.earlier:
            if one.key not in latest or latest[one.key].status == "failed":
                latest[one.key] = one
        numbers = Counter(one.place for one in file.earlier)

        async def settle(block: Sequence[Job[_Turn, R]]) -> list[R | None]:
            found: list[R | None] = []
            for job in block:
                earlier = latest.get(key(job.record))
                if earlier is not None and (alike is None or await alike(earlier, job.record)):
                    job.earlier = earlier
                stands = earlier is not None and job.earlier is earlier and (earlier.status == "ok" or earlier.replied)
                found.append(earlier if stands else None)
            return found

        async def work(job: Job[_Turn, R]) -> R:
            found = await ask(job.record, attempt=numbers[job.record.place] + 1, retry=job.earlier is not None)
            file.append(found)
            return found

        await run_all(
            turns,
            work,
            settle=settle,
            finished=lambda _, found, reused: self._count(found, reused),
            workers=self.session.workers,
            stop=self.stop,
            grace_s=self.session.grace_s,
        )

    def _count(self, found: PeerAnswer | Ballot, reused: bool) -> None:
        (question, model), totals = found.place, self.totals
        totals.reused += reused
        if found.failure is not None:
            kind = found.failure.kind.value
            totals.failed += 1
            totals.failures[kind] += 1
            totals.lost_by_model.setdefault(model, Counter())[kind] += 1
        elif isinstance(found, Ballot):
            totals.ballots += 1
        else:
            totals.answers += 1
            self.given[question, model] = found.text or ""
        if self.on_result is not None:
            self.on_result(found, reused)


def all_peers(candidates: Sequence[Respondent], judges: Sequence[Respondent] = ()) -> list[Peer]:
    """Who takes part, candidates first; everybody's name is hidden from everybody.

    Raises:
        ConfigurationError: fewer than two candidates, or one name given twice.
    """
    every = [*candidates, *judges]
    repeated = sorted({one.name for one in candidates} & {one.name for one in judges})
    if repeated:
        raise ConfigurationError(
            f"{', '.join(repeated)} is given as a model and as an evaluator: models rank already; name it once"
        )
    if len(candidates) < 2:
        raise ConfigurationError("peers judge each other: give at least two models, --model PROVIDER:MODEL each")
    hidden = {name for one in every for name in identifying_names(one.model.name)}
    named = ((one.name, one.model, one.parameters) for one in every)
    return peers_of(named, hidden, candidates[0].prompt_version, candidates[0].analysis_words)


def _provenance(session: Session, totals: PeersTotals, peers: Sequence[Peer], out: Path | None) -> dict[str, str]:
    files = {} if out is None else {"ballots": str(out), "answers": str(answers_path(out))}
    return {
        **files,
        "models": ", ".join(f"{peer.name} ({peer.model.endpoint} {peer.model.name})" for peer in peers),
        "ranking prompts": templates_digest(peers[0].prompt_version),
        "blinding": totals.blinding.sentence(),
        "run": session.run_id,
        "metajudge": __version__,
    }
