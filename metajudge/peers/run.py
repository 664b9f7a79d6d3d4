"""One run of ``metajudge peers``: every model answers every question, then every model ranks all answers of each."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from metajudge.errors import InputError
from metajudge.installation import __version__
from metajudge.judging.blinding import identifying_names
from metajudge.judging.blinding_report import BlindingTotals, blinding_totals
from metajudge.judging.ranking import templates_digest
from metajudge.peers.answers import PeerAnswer, latest_by_key, read_answers
from metajudge.peers.ballots import Ballot, counted_ballots, read_ballots
from metajudge.peers.files import AttemptLog
from metajudge.peers.protocol import (
    Peer,
    answer_key,
    answer_question,
    asked_alike,
    ballot_key,
    blinding_of,
    peers_of,
    rank_answers,
    ranking_settings,
)
from metajudge.peers.questions import Question
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.runs.progress import Progress
from metajudge.types import Usage
from metajudge.vetting.engine import Engine


@dataclass(slots=True)
class PeersSummary:
    """Counts of one run.

    Attributes:
        answers, ballots: that are there at the end, earlier ones included.
        reused: answers and ballots of earlier runs, for which nothing was asked.
        failed: answers and ballots that are missing, by kind; ``lost_by_model`` says whose.
        blinding: what was hidden in the answers, counted once a question.
        calls: HTTP requests sent in this run, retries and repairs included.
        cached_calls: replies taken from the store instead.
        cost_usd: dollars of this run, None where a price or the usage was unknown.
        all_attempts_usd: dollars of every attempt in the two files, earlier runs' included; None where one is unknown.
    """

    run_id: str | None = None
    end: RunEnd = RunEnd.FINISHED
    questions: int = 0
    answers: int = 0
    ballots: int = 0
    reused: int = 0
    failed: int = 0
    unscored: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    lost_by_model: dict[str, Counter[str]] = field(default_factory=dict)
    bad_lines: int = 0
    calls: int = 0
    cached_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    all_attempts_usd: float | None = 0.0
    notices: list[str] = field(default_factory=list)
    blinding: BlindingTotals = field(default_factory=BlindingTotals)

    @property
    def judgments(self) -> int:
        """Answers and ballots so far, for the display of progress."""
        return self.answers + self.ballots + self.failed

    def lose(self, model: str, kind: str) -> None:
        """Counts a missing answer or ballot."""
        self.failed += 1
        self.failures[kind] += 1
        self.lost_by_model.setdefault(model, Counter())[kind] += 1

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on: a missing answer or ballot is a failure."""
        return RunCounts(self.end, self.questions, self.failed, bad_lines=self.bad_lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the store keeps it."""
        data = asdict(self)
        del data["unscored"]
        data["blinding"] = self.blinding.model_dump()
        data["end"] = self.end.value
        data["failures"] = dict(sorted(self.failures.items()))
        data["lost_by_model"] = {name: dict(sorted(kinds.items())) for name, kinds in self.lost_by_model.items()}
        return data


@dataclass(frozen=True, slots=True)
class _AnswerTask:
    question: Question
    peer: Peer


@dataclass(frozen=True, slots=True)
class _BallotTask:
    question: Question
    peer: Peer
    answers: Mapping[str, str]
    seed: int


class PeersProgress(Progress):
    """The display of progress, in the words of this command."""

    def __init__(self, summary: PeersSummary, engine: Engine, total: int) -> None:
        super().__init__(summary, engine, total)  # type: ignore[arg-type]  # it reads counts by name

    def line(self) -> str:
        return super().line().replace(" judgments", " answers and ballots")


def answers_path(out: Path) -> Path:
    """Where the answers go that the ballots in ``out`` rank."""
    return out.with_name(f"{out.name.removesuffix('.jsonl')}.answers.jsonl")


class PeersRun:
    """Collects answers and ballots; what earlier runs wrote to the same files is not asked for again.

    The retry rule: who could not be asked (a time-out, a wrong key) is asked again by the next run; an answer or a
    refusal that came stands, and so does a reply of no use. Where a missing answer has come, its question is ranked
    anew. Every attempt stays in the files.

    Args:
        engine: open, with the models as agents of its default panel.
        out: the file of ballots.
        seed: of the orders in which answers are shown.
    """

    def __init__(self, engine: Engine, questions: Sequence[Question], out: Path, seed: int) -> None:
        self.engine = engine
        self.questions = questions
        self.seed = seed
        agents = engine.vetter.default.agents
        hidden = {name for agent in agents for name in identifying_names(agent.model.name)}
        self.peers = peers_of(((agent.name, agent.model, agent.parameters) for agent in agents), hidden)
        self.summary = PeersSummary(run_id=engine.run_id, questions=len(questions))
        with contextlib.ExitStack() as stack:
            self.answers = stack.enter_context(AttemptLog(answers_path(out), read_answers))
            self.ballots = stack.enter_context(AttemptLog(out, _written_ballots))
            self._refuse_other_settings(out)
            stack.pop_all()

    async def run(self, *, workers: int, stop: Stop, progress: Callable[[], None]) -> None:
        """Both rounds, and the account of what they took."""
        summary = self.summary
        try:
            with self.answers, self.ballots:
                given = await self._answers(workers, stop, progress)
                if not stop.asked:
                    await self._ballots(given, workers, stop, progress)
        finally:
            summary.end = stop.end
            self._account()
            await self.engine.finish(summary.end.value, summary.to_json())

    def counted(self) -> tuple[Ballot, ...]:
        """One ballot a question of this run and evaluator, earlier runs' included, as they stand in the file."""
        names, peers = {one.id for one in self.questions}, {one.name for one in self.peers}
        found = counted_ballots([*self.ballots.earlier, *self.ballots.appended])
        return tuple(one for one in found if one.question_id in names and one.evaluator in peers)

    def provenance(self, out: Path) -> dict[str, str]:
        """Where the figures come from."""
        return {
            "ballots": str(out),
            "answers": str(answers_path(out)),
            "models": ", ".join(f"{peer.name} ({peer.model.endpoint} {peer.model.name})" for peer in self.peers),
            "ranking prompts": templates_digest(),
            "blinding": self.summary.blinding.sentence(),
            "run": self.engine.run_id,
            "metajudge": __version__,
        }

    async def _answers(self, workers: int, stop: Stop, progress: Callable[[], None]) -> dict[tuple[str, str], str]:
        """Every model's answer to every question that has one: (question id, model) -> text."""
        earlier = latest_by_key(self.answers.earlier)
        attempts = Counter((one.question_id, one.model) for one in self.answers.earlier)
        given: dict[tuple[str, str], str] = {}

        async def work(job: Job[_AnswerTask, PeerAnswer]) -> PeerAnswer:
            task = job.record
            number = attempts[task.question.id, task.peer.name] + 1
            found = await answer_question(task.question, task.peer, attempt=number, retry=job.earlier is not None)
            self.answers.append(found)
            return found

        def finished(job: Job[_AnswerTask, PeerAnswer], found: PeerAnswer, reused: bool) -> None:
            if found.text is None:
                assert found.failure is not None
                self.summary.lose(found.model, found.failure.kind.value)
            else:
                self.summary.answers += 1
                given[found.question_id, found.model] = found.text
            self._count(reused)
            progress()

        tasks = [_AnswerTask(question, peer) for question in self.questions for peer in self.peers]
        await run_all(
            tasks,
            work,
            key=lambda task: answer_key(task.question, task.peer),
            find_done=_finder(earlier),
            keep=lambda found: found.status == "ok" or found.replied,
            finished=finished,
            workers=workers,
            stop=stop,
        )
        return given

    async def _ballots(
        self, given: Mapping[tuple[str, str], str], workers: int, stop: Stop, progress: Callable[[], None]
    ) -> None:
        earlier = _latest_ballots(self.ballots.earlier)
        attempts = Counter(one.place for one in self.ballots.earlier)

        async def work(job: Job[_BallotTask, Ballot]) -> Ballot:
            task = job.record
            number = attempts[task.question.id, task.peer.name] + 1
            found = await rank_answers(
                task.question,
                task.answers,
                task.peer,
                seed=task.seed,
                attempt=number,
                retry=job.earlier is not None,
            )
            self.ballots.append(found)
            return found

        def finished(job: Job[_BallotTask, Ballot], found: Ballot, reused: bool) -> None:
            if found.failure is not None:
                self.summary.lose(found.evaluator, found.failure.kind.value)
            else:
                self.summary.ballots += 1
            self._count(reused)
            progress()

        tasks: dict[str, _BallotTask] = {}

        def key_of(task: _BallotTask) -> str:
            key = ballot_key(task.question, task.answers, task.peer, task.seed)
            if key in earlier:
                tasks[key] = task
            return key

        async def find_done(keys: Sequence[str]) -> dict[str, Ballot]:
            found = {key: (earlier[key], tasks.pop(key)) for key in dict.fromkeys(keys) if key in earlier}
            return {
                key: ballot
                for key, (ballot, task) in found.items()
                if await asked_alike(ballot, task.question, task.answers, task.peer)
            }

        await run_all(
            self._ballot_tasks(given),
            work,
            key=key_of,
            find_done=find_done,
            keep=lambda found: found.status == "ok" or found.replied,
            finished=finished,
            workers=workers,
            stop=stop,
        )

    def _ballot_tasks(self, given: Mapping[tuple[str, str], str]) -> Iterable[_BallotTask]:
        for question in self.questions:
            answers = {p.name: given[question.id, p.name] for p in self.peers if (question.id, p.name) in given}
            for peer in self.peers:
                yield _BallotTask(question, peer, answers, self.seed)

    def _refuse_other_settings(self, out: Path) -> None:
        """One file holds the ballots of one way of asking; another seed or prompt would make a mixture."""
        settings = {peer.name: ranking_settings(peer, self.seed) for peer in self.peers}
        for ballot in self.ballots.earlier:
            asked = ballot.meta.get("settings_digest")
            if ballot.evaluator in settings and asked != settings[ballot.evaluator]:
                raise InputError(
                    f"{out} holds ballots of {ballot.evaluator!r} that were asked for in another way (seed, model, "
                    "parameters, prompts or version): choose another --out, or give the same command as before"
                )

    def _count(self, reused: bool) -> None:
        self.summary.reused += reused

    def _account(self) -> None:
        meter, summary = self.engine.meter, self.summary
        summary.calls = meter.sent
        summary.usage = meter.usage
        summary.known_cost_usd = meter.cost_usd
        summary.cost_usd = None if meter.unpriced else meter.cost_usd
        summary.notices = list(self.engine.notices)
        by_question = {one.question_id: blinding_of(one) for one in self.counted() if one.labels is not None}
        summary.blinding = blinding_totals(by_question.values())
        costs = [one.cost_usd for one in (*self.answers.earlier, *self.answers.appended)]
        costs += [one.cost_usd for one in (*self.ballots.earlier, *self.ballots.appended)]
        known = [cost for cost in costs if cost is not None]
        summary.all_attempts_usd = sum(known) if len(known) == len(costs) else None


def _written_ballots(path: Path) -> tuple[Ballot, ...]:
    found = read_ballots(path)
    if found.rejects:
        raise InputError(
            f"{found.rejects[0]}: the file of ballots is damaged; take the line out, or choose another --out"
        )
    return found.attempts


def _latest_ballots(attempts: Iterable[Ballot]) -> dict[str, Ballot]:
    found: dict[str, Ballot] = {}
    for one in attempts:
        if one.key is not None and (one.key not in found or found[one.key].status == "failed"):
            found[one.key] = one
    return found


def _finder(earlier: Mapping[str, Any]) -> Callable[[Sequence[str]], Any]:
    async def find(keys: Sequence[str]) -> dict[str, Any]:
        return {key: earlier[key] for key in keys if key in earlier}

    return find
