"""A run of a clash: cycles and repeats of every item, several at once, continuing where an earlier run stopped.

:func:`clash` is what the command line and Python call, :func:`clash_item` what the service calls.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from metajudge.clashes.clash import Clash, Place, evaluate, prepare_prompts, unchanged
from metajudge.clashes.concordance import FirstShown, first_shown
from metajudge.clashes.record import ClashRecord, attempt_that_counts, keep_clashes
from metajudge.clashes.setup import (
    CandidateSpec,
    ClashSettings,
    ItemOrQuestion,
    answer_parameters,
    build_clash,
    repeat_numbers,
)
from metajudge.errors import ConfigurationError
from metajudge.judging.answers import answer_request
from metajudge.judging.blinding import BlindingTotals, blind, blinding_totals
from metajudge.judging.criteria import GENERIC, criteria_request
from metajudge.judging.judges import RankingForm, ranking_request, templates_digest
from metajudge.panels.config import PanelConfig
from metajudge.providers.metering import Meter
from metajudge.runs.estimate import (
    CHARACTERS_PER_TOKEN,
    EXPLANATION_TOKENS,
    REASONING_TOKENS,
    Estimate,
    Prices,
    prices_of,
    size_of,
)
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.runs.outputs import AttemptFile
from metajudge.runs.totals import RunTotals
from metajudge.session import Session, note_unused
from metajudge.types import Item
from metajudge.types.spent import sum_if_known

OF_CLASH = "a record of `metajudge clash`"
"""What a line of a file of attempts is called in messages."""

OnRecord = Callable[[ClashRecord, bool], None]


def estimate_clash(settings: ClashSettings, panel: PanelConfig, items: Sequence[Item]) -> Estimate:
    """Every answer of an assumed length, criteria for every evaluation, and a ranking by every judge and observer.

    Nothing is taken from the store or an earlier file, so a run that continues costs less.

    Args:
        panel: its agents are the judges.

    Raises:
        ConfigurationError: settings or judges that make no sense together (no key is needed).
    """
    settings.check()
    judges = [one.name for one in Session.for_estimate(panel).models(weighted=True)]
    prices = prices_of(panel.agents)
    candidates = {f"candidate {one.name}": one.price for one in settings.candidate_specs()}
    ranking = settings.observers or settings.voters
    if settings.asks_candidates:
        prices |= candidates
    if settings.criteria_model is not None:
        prices["criteria model"] = CandidateSpec.of(settings.criteria_model).price
    voters = [*judges, *(candidates if ranking else ())]
    estimate = Estimate.at(prices)
    repeats = len(repeat_numbers(settings.repeats))
    criteria = settings.criteria or GENERIC

    def add_evaluation(item: Item, answers: Mapping[str, str]) -> None:
        if settings.criteria_model is not None:
            tokens = settings.criteria_max_tokens or REASONING_TOKENS
            estimate.add("criteria model", prices, size_of(criteria_request(item.question)), tokens)
        written = REASONING_TOKENS + EXPLANATION_TOKENS * len(criteria) * len(answers)
        form = RankingForm(
            ties=settings.ties,
            reference=item.reference if settings.with_reference else None,
            prompt_version=panel.prompt_set,
            analysis_words=panel.analysis_words,
        )
        for name in voters:
            labels = blind(answers, seed=settings.seed, evaluation=item.id, judge=name)
            request = ranking_request(item.question, answers, labels, criteria, form)
            estimate.add(name, prices, size_of(request), written)

    for item in items:
        for _ in range(settings.cycles):
            answers = _answers(settings, item, estimate, prices)
            for _ in range(repeats):
                add_evaluation(item, answers)
    estimate.judgments = len(items) * settings.cycles * repeats
    return estimate


def _answers(settings: ClashSettings, item: Item, estimate: Estimate, prices: Prices) -> dict[str, str]:
    """The responses given, or texts as long as answers are taken to be."""
    if not settings.answering:
        return dict(item.responses)
    answers = {}
    for one in settings.candidate_specs():
        parameters = answer_parameters(settings, one)
        tokens = min(REASONING_TOKENS, parameters.max_tokens or REASONING_TOKENS)
        request = answer_request(item.question, parameters, system=one.system)
        estimate.add(f"candidate {one.name}", prices, size_of(request), tokens)
        answers[one.name] = "x" * int(tokens * CHARACTERS_PER_TOKEN)
    return answers


@dataclass(slots=True, kw_only=True)
class ClashTotals(RunTotals):
    """Counts of one run, evaluations of earlier runs with the same file included.

    Attributes:
        evaluations: those that reached a record.
        reused: of these, records of an earlier run, for which nothing was asked.
        incomplete: evaluations in which a candidate, a judge or an observer is missing.
        fallbacks: evaluations with the generic criteria because the model's could not be used.
        failures: of candidates, judges and observers, by kind.
        all_attempts_usd: dollars of every attempt in the file, earlier runs' included; None where one is unknown.
        blinding: what was hidden from the judges.
        first_shown: each judge's preference for the answer shown first.
        wall_s: seconds from the first request sent to the last record; None where none was sent.
    """

    NOUN: ClassVar[str] = "evaluations"
    LOST: ClassVar[str] = "without a verdict"
    DONE: ClassVar[tuple[str, ...]] = ("evaluations",)
    MISSING: ClassVar[tuple[str, ...]] = ("no_verdict", "errors")

    prompts: int = 0
    evaluations: int = 0
    reused: int = 0
    decided: int = 0
    tied: int = 0
    no_verdict: int = 0
    errors: int = 0
    incomplete: int = 0
    unanimous: int = 0
    escalated: int = 0
    fallbacks: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    judgments_written: int | None = None
    all_attempts_usd: float | None = 0.0
    blinding: BlindingTotals = field(default_factory=BlindingTotals)
    first_shown: list[FirstShown] = field(default_factory=list)
    _last_at: float | None = None

    def add(self, record: ClashRecord, reused: bool) -> None:
        """Counts one evaluation."""
        self.evaluations += 1
        self.reused += reused
        self.decided += record.status == "ok"
        self.tied += record.status == "tie"
        self.no_verdict += record.status == "no_verdict"
        self.errors += record.status == "error"
        self.incomplete += not record.complete
        self.unanimous += record.tally is not None and record.tally.unanimous
        self.escalated += record.tally is None or record.tally.triage == "escalate"
        self.fallbacks += record.criteria is not None and record.criteria.fallback
        failures = [one.failure for one in record.candidates] + [vote.failure for vote in record.votes]
        self.failures.update(failure.kind.value for failure in failures if failure is not None)
        if not reused:
            self.cached_calls += record.cached_calls
            self._last_at = time.monotonic()

    def account(self, meter: Meter, notices: Sequence[str]) -> None:
        """See :meth:`RunTotals.account`; the wall time ends with the last record."""
        RunTotals.account(self, meter, notices)
        if meter.first_sent_at is not None and self._last_at is not None:
            self.wall_s = self._last_at - meter.first_sent_at

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on: a candidate, a judge or a verdict that is missing is a failure."""
        return RunCounts(
            self.end, self.prompts, self.incomplete + self.lost + self.undelivered, bad_lines=self.bad_lines
        )

    def to_json(self) -> dict[str, Any]:
        """See :meth:`RunTotals.to_json`; judges' preference for the first answer is put into words, too."""
        tests = [{**one.model_dump(), "sentence": one.sentence()} for one in self.first_shown]
        return {**RunTotals.to_json(self), "first_shown": tests}


@dataclass(frozen=True, slots=True)
class ClashResult:
    """What a run found: the record that counts for each evaluation, in the order of the items; and its totals."""

    records: tuple[ClashRecord, ...]
    totals: ClashTotals


@dataclass(frozen=True, slots=True)
class Round:
    """One item in one cycle: its answers are made once and judged by every repeat."""

    item: Item
    clash: Clash
    places: tuple[Place, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, item: Item, clash: Clash, places: Sequence[Place]) -> "Round":
        return cls(item, clash, tuple(places), tuple(place.key(item, clash) for place in places))


async def clash(
    session: Session,
    items: Sequence[ItemOrQuestion],
    settings: ClashSettings | None = None,
    *,
    out: Path | None = None,
    totals: ClashTotals | None = None,
    stop: Stop | None = None,
    on_record: OnRecord | None = None,
    **options: Any,
) -> ClashResult:
    """Has a blind panel rank the answers to every item.

    Args:
        session: open; its agents are the judges unless the settings name others.
        items: items with responses, or questions for the candidates, as objects or plain data; a text is a prompt.
        settings: who answers, who judges, and how.
        out: file that every attempt is appended to; evaluations in it are not run again.
        totals: counted into as records come, for progress displays.
        stop: lets the caller stop the run.
        on_record: called with each record as it comes, with True for one of an earlier run.
        options: fields of :class:`~metajudge.clashes.setup.ClashSettings`, in place of those of ``settings``.

    Raises:
        ConfigurationError: settings that make no sense together, or a model that cannot be asked.
        InputError: items that cannot be judged, or ``out`` contains other data.
    """
    settings = replace(settings or ClashSettings(), **options)
    panel = session.config
    note_unused(session, "clash")
    if settings.given is None and not settings.candidates:
        settings = replace(settings, candidates=panel.candidates)
    if settings.criteria_model is None and not settings.criteria:
        settings = replace(settings, criteria_model=panel.criteria)
    totals = totals or ClashTotals()
    async with session.recording(totals, stop):
        given = settings.items(items)
        totals.prompts = len(given)
        with AttemptFile(out, ClashRecord, OF_CLASH) as file:
            session.go_on_under((one.prompt_digests.get("ranking") for one in file.earlier), templates_digest)
            made = build_clash(session, settings, given)
            if file.cut:
                session.note(f"{out}: the last line is incomplete and was dropped")

            def keep(record: ClashRecord, reused: bool) -> None:
                totals.add(record, reused)
                if not reused:
                    file.append(record)
                if on_record is not None:
                    on_record(record, reused)

            try:
                totals.end, records = await run_rounds(
                    rounds(given, made, settings.repeats, settings.cycles),
                    earlier=file.earlier,
                    attempts=settings.attempts,
                    workers=2 * session.workers,  # criteria of the next items fill the slots that judges leave free
                    on_record=keep,
                    stop=stop,
                    grace_s=session.grace_s,
                )
            finally:
                totals.all_attempts_usd = sum_if_known(one.spent_usd for one in file.attempts)
        await keep_clashes(session.store, records, now=time.time())
        totals.blinding = blinding_totals(record.blinding for record in records)
        totals.first_shown = first_shown(records)
    return ClashResult(records, totals)


async def clash_item(
    session: Session, item: ItemOrQuestion, settings: ClashSettings | None = None, **options: Any
) -> ClashRecord:
    """One evaluation of one item, without a file and without a run of its own; see :func:`clash`.

    Raises:
        BudgetExceeded: nothing more may be spent.
    """
    settings = replace(settings or ClashSettings(), **options)
    (given,) = settings.items([item])
    (record,) = await evaluate(given, build_clash(session, settings, [given]))
    await keep_clashes(session.store, [record], now=time.time())
    return record


async def run_rounds(
    rounds: Iterable[Round],
    *,
    earlier: Iterable[ClashRecord] = (),
    attempts: int | None = None,
    workers: int,
    on_record: OnRecord,
    stop: Stop | None = None,
    grace_s: float = 10.0,
) -> tuple[RunEnd, tuple[ClashRecord, ...]]:
    """Makes the evaluations that earlier attempts leave to be made.

    Args:
        earlier: attempts of earlier runs; see :data:`~metajudge.clashes.record.RETRY_RULE`.
        attempts: at one evaluation, earlier ones included; None for as many as it takes.
        workers: rounds in flight at most.
        on_record: called with each record as it comes, with True for one of an earlier run.
        stop: lets the caller stop the run.

    Returns:
        How the run ended, and the record that counts for each evaluation, in the order of the rounds.
    """
    there = _by_key(earlier)
    settled: dict[str, ClashRecord] = {}
    found: dict[int, list[ClashRecord]] = {}

    async def settle(block: Sequence[Job[Round, list[ClashRecord]]]) -> list[list[ClashRecord] | None]:
        """Takes the earlier attempts that stand, and whose judges were shown what they would be shown today."""
        for one, key in ((job.record, key) for job in block for key in job.record.keys):
            alike = [record for record in there.get(key, ()) if await unchanged(record, one.item, one.clash)]
            counting = attempt_that_counts(alike) if alike else None
            if counting and (counting.everybody_asked or (attempts is not None and alike[-1].attempt >= attempts)):
                settled[key] = counting
        every = [[settled[key] for key in job.record.keys if key in settled] for job in block]
        return [found if len(found) == len(job.record.keys) else None for job, found in zip(block, every, strict=True)]

    async def work(job: Job[Round, list[ClashRecord]]) -> list[ClashRecord]:
        one = job.record
        missing = [place for place, key in zip(one.places, one.keys, strict=True) if key not in settled]
        known = next((settled[key].candidates for key in one.keys if key in settled), ())
        last = {key: there[key][-1] for key in one.keys if key in there}
        made = await evaluate(one.item, one.clash, missing, earlier=last, known=known)
        by_key = {record.key: record for record in made}
        return [by_key.get(key) or settled[key] for key in one.keys]

    def finished(job: Job[Round, list[ClashRecord]], records: list[ClashRecord], _reused: bool) -> None:
        found[job.index] = records
        for record in records:
            on_record(record, settled.get(record.key) is record)

    end = await run_all(rounds, work, settle=settle, finished=finished, workers=workers, stop=stop, grace_s=grace_s)
    return end, tuple(record for index in sorted(found) for record in found[index])


def rounds(items: Iterable[Item], clash: Clash, repeats: int | Sequence[int] = 1, cycles: int = 1) -> Iterator[Round]:
    """All work, item by item; prompts are read and compiled first.

    Args:
        repeats: how often the same answers are judged, or which repeats.
        cycles: how often the answers are made anew.

    Raises:
        ConfigurationError: repeats or cycles that make no sense.
    """
    numbers = repeat_numbers(repeats)
    if cycles < 1 or (cycles > 1 and not clash.candidates):
        raise ConfigurationError("cycles must be 1 or more, and more than 1 needs candidates that generate answers")
    prepare_prompts(clash)
    return (
        Round.of(item, clash, [Place(cycle, repeat, cycles, max(numbers)) for repeat in numbers])
        for item in items
        for cycle in range(1, cycles + 1)
    )


def counting_records(records: Iterable[ClashRecord]) -> list[ClashRecord]:
    """Of all attempts in a file, those that count by the retry rule: one an evaluation, in order of appearance."""
    return [attempt_that_counts(attempts) for attempts in _by_key(records).values()]


def _by_key(records: Iterable[ClashRecord]) -> dict[str, list[ClashRecord]]:
    """All attempts by key, in order."""
    found: dict[str, list[ClashRecord]] = {}
    for record in records:
        found.setdefault(record.key, []).append(record)
    return found
