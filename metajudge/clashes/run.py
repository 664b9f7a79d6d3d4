"""Many evaluations: cycles and repeats of every item, several at once, going on where an earlier run stopped."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from metajudge.clashes.clash import REPEATS_AT_MOST, Clash, Place, evaluate, prepare_prompts, unchanged
from metajudge.clashes.record import ClashRecord, attempt_that_counts
from metajudge.errors import ConfigurationError
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.types import Item

ATTEMPTS = 3
"""Attempts at one evaluation, over all runs with one file."""


@dataclass(frozen=True, slots=True)
class Round:
    """One item in one cycle: its answers are made once and judged by every repeat."""

    item: Item
    places: tuple[Place, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and the record that counts for each evaluation, in input order."""

    end: RunEnd
    records: tuple[ClashRecord, ...]


async def run_clash(
    items: Iterable[Item],
    clash: Clash,
    *,
    repeats: int | Sequence[int] = 1,
    cycles: int = 1,
    earlier: Iterable[ClashRecord] = (),
    attempts: int = ATTEMPTS,
    workers: int = 64,
    on_record: Callable[[ClashRecord, bool], None] = lambda record, reused: None,
    stop: Stop | None = None,
) -> Outcome:
    """Evaluates every item: the validation protocol where the items bring their responses, generation otherwise.

    Args:
        items: different ids.
        clash: panel, candidates, seed.
        repeats: how often the same answers are judged, each time under fresh labels and with fresh replies; or which
            repeats, for instance ``(3,)`` for a third run over chosen items.
        cycles: how often the answers are made anew; needs candidates.
        earlier: attempts of earlier runs, as :func:`on_record` was given them; see
            :data:`~metajudge.clashes.record.RETRY_RULE`.
        attempts: at one evaluation, earlier ones included.
        workers: items in flight at most.
        on_record: told each record as it comes, with True for one of an earlier run.
        stop: lets the caller stop the run.

    Raises:
        ConfigurationError: repeats or cycles that make no sense.
    """
    numbers = _repeats(repeats)
    prepare_prompts(clash)
    if cycles < 1 or (cycles > 1 and not clash.candidates):
        raise ConfigurationError(
            "cycles differ by their answers: they need candidates that answer anew, and are 1 or more"
        )
    there = _by_key(earlier)
    last = {key: made[-1] for key, made in there.items()}
    settled: dict[str, ClashRecord] = {}

    async def settle(one: Round) -> None:
        """Takes the earlier attempts that stand, and whose judges were shown what they would be shown today."""
        for key in one.keys:
            alike = [record for record in there.get(key, ()) if await unchanged(record, one.item, clash)]
            if alike and stands(counting := attempt_that_counts(alike), alike[-1].attempt, attempts):
                settled[key] = counting

    found: dict[int, list[ClashRecord]] = {}

    async def work(job: Job[Round, list[ClashRecord]]) -> list[ClashRecord]:
        one = job.record
        missing = [place for place, key in zip(one.places, one.keys, strict=True) if key not in settled]
        known = next((settled[key].candidates for key in one.keys if key in settled), ())
        made = await evaluate(one.item, clash, missing, earlier=last, known=known)
        by_key = {record.key: record for record in made}
        return [by_key.get(key) or settled[key] for key in one.keys]

    def finished(job: Job[Round, list[ClashRecord]], records: list[ClashRecord], _reused: bool) -> None:
        found[job.index] = records
        for record in records:
            on_record(record, settled.get(record.key) is record)

    async def settle_block(block: Sequence[Job[Round, list[ClashRecord]]]) -> list[list[ClashRecord] | None]:
        for job in block:
            await settle(job.record)
        return [_whole(job.record, settled) or None for job in block]

    end = await run_all(
        rounds(items, clash, numbers, cycles),
        work,
        settle=settle_block,
        finished=finished,
        workers=workers,
        stop=stop,
    )
    return Outcome(end, tuple(record for index in sorted(found) for record in found[index]))


def rounds(items: Iterable[Item], clash: Clash, repeats: Sequence[int], cycles: int) -> Iterator[Round]:
    """All work, item by item."""
    for item in items:
        for cycle in range(1, cycles + 1):
            places = tuple(Place(cycle, repeat, cycles, max(repeats)) for repeat in repeats)
            yield Round(item, places, tuple(place.key(item, clash) for place in places))


def stands(record: ClashRecord, last_attempt: int, attempts: int = ATTEMPTS) -> bool:
    """Whether nothing more is to be attempted, by the retry rule."""
    return record.everybody_asked or last_attempt >= attempts


def counting_records(records: Iterable[ClashRecord]) -> list[ClashRecord]:
    """Of all attempts in a file, those that count by the retry rule: one an evaluation, in order of appearance."""
    return [attempt_that_counts(attempts) for attempts in _by_key(records).values()]


def _by_key(records: Iterable[ClashRecord]) -> dict[str, list[ClashRecord]]:
    """All attempts by key, in order."""
    found: dict[str, list[ClashRecord]] = {}
    for record in records:
        found.setdefault(record.key, []).append(record)
    return found


def _whole(one: Round, settled: Mapping[str, ClashRecord]) -> list[ClashRecord]:
    """The records of a round of which nothing is missing, none otherwise."""
    return [settled[key] for key in one.keys] if all(key in settled for key in one.keys) else []


def _repeats(given: int | Sequence[int]) -> list[int]:
    numbers = list(range(1, given + 1)) if isinstance(given, int) else sorted(set(given))
    if not numbers or numbers[0] < 1 or numbers[-1] > REPEATS_AT_MOST:
        raise ConfigurationError(f"repeats are 1 to {REPEATS_AT_MOST}, not {given}")
    return numbers
