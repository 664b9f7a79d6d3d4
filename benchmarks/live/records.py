"""What is kept of a run: judgments by id and digest, one line for each score, and how the run went. No texts."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from metajudge.errors import InputError
from metajudge.types import Assessment, Judgment, digest
from metajudge.types.frozen import Finite, Frozen

Text = Annotated[str, Field(max_length=500)]


class LiveItem(Finite):
    """One judgment of the sample.

    Attributes:
        question: digest of the question, the unit of independence.
        content: digest of everything that a meta-judge is shown.
        right: whether the verdict is the label's.
        evidence: the score by free evidence, or None.
    """

    judgment: str
    item: str
    question: str
    content: str
    category: str
    judge: str
    right: bool
    evidence: float | None


class ScoreLine(Finite):
    """One agent's answer on one judgment.

    Attributes:
        score: on the rubric's scale; None with a ``failure``.
        failure: why there is no score.
        calls: requests sent, repairs and retries included.
        usd: None where a price or the usage is unknown.
        reported_model: what the provider says that it asked.
    """

    agent: str
    judgment: str
    score: float | None
    failure: Text | None = None
    calls: int
    input_tokens: int
    cached_tokens: int = 0
    output_tokens: int
    usd: float | None
    latency_s: float
    reported_model: Text | None = None


End = Literal["planned", "finished", "interrupted", "budget"]


class RunRecord(Finite):
    """How a run went.

    Attributes:
        run_id: made when the plan was fixed, kept when the run is continued.
        plan: digest of the plan.
        fixed_at: when the plan was fixed, before the first call; ISO 8601, UTC.
        ended_at: when the command last ended.
        end: how it ended; only a finished run is analysed.
        budget_usd: the limit of the last command; None for none.
        spent_usd: what all its commands spent, by the budget's ledger.
        environment: versions and the system; no names of machines or people, no paths, no keys.
    """

    version: Literal[1] = 1
    run_id: str
    plan: str
    fixed_at: str
    ended_at: str | None = None
    end: End = "planned"
    budget_usd: float | None = None
    spent_usd: float = 0.0
    notices: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)


Record = TypeVar("Record", bound=Frozen)


def lines_of(records: Iterable[Frozen]) -> str:
    """Records as JSONL."""
    return "".join(record.model_dump_json() + "\n" for record in records)


def read_lines(path: Path, record: type[Record]) -> list[Record]:
    """Reads JSONL of one kind of record.

    Raises:
        InputError: the file cannot be read, or a line is something else.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            found.append(record.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise InputError(f"{path}:{number}: {where}: {first['msg']}") from None
    return found


def read_record(path: Path, record: type[Record]) -> Record:
    """Reads one record.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    try:
        return record.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: {where}: {first['msg']}") from None


def score_line(agent: str, judgment: Judgment, found: Assessment, stored_usd: float | None = 0.0) -> ScoreLine:
    """What one agent answered.

    Args:
        agent: its part in the experiment.
        judgment: what was vetted.
        found: by the panel of this agent alone.
        stored_usd: dollars of replies that an interrupted command had paid.
    """
    answers = found.agents
    failure = found.failure or next((one.failure for one in answers if one.failure is not None), None)
    costs = [one.cost_usd for one in answers] + [stored_usd]
    return ScoreLine(
        agent=agent,
        judgment=judgment.id,
        score=found.final_score,
        failure=None if found.final_score is not None or failure is None else str(failure.kind),
        calls=sum(one.calls + one.cached_calls for one in answers),
        input_tokens=sum(one.usage.input_tokens for one in answers),
        cached_tokens=sum(one.usage.cached_tokens for one in answers),
        output_tokens=sum(one.usage.output_tokens for one in answers),
        usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        latency_s=round(sum(one.latency_s for one in answers), 3),
        reported_model=next((one.reported_model[:200] for one in answers if one.reported_model), None),
    )


def items_digest(items: Sequence[LiveItem]) -> str:
    """Digest of a sample: 32 hex digits over its records in the order of their ids."""
    return digest([one.model_dump(mode="json") for one in sorted(items, key=lambda one: one.judgment)])
