"""What a call to a model used, cost and returned."""

from dataclasses import dataclass
from typing import Literal

from metajudge.errors import FailureKind
from metajudge.types.usage import Usage

FinishReason = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the answer as text; for structured output, JSON.
        finish: why it ended; ``length`` means it was cut, ``refusal`` that the model declined.
        model: the model's id as the provider reported it.
        usage: tokens, None where the provider reported none.
        cost_usd: None where usage or price is unknown.
        latency_s: seconds from sending the request that succeeded to its complete answer.
        attempts: HTTP requests this reply took, failed ones included; 0 for a reply from the cache.
        cached: True where the reply came from the store and nothing was sent.
        first_token_s: seconds from sending the request to the first piece of text, where the answer was streamed;
            None where it was not, and for a reply from the store.
    """

    text: str
    finish: FinishReason
    model: str
    usage: Usage | None = None
    cost_usd: float | None = None
    latency_s: float = 0.0
    attempts: int = 1
    cached: bool = False
    first_token_s: float | None = None


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One HTTP attempt, as the ledger keeps it: append-only, successes and failures alike.

    Attributes:
        key: digest of endpoint, model, parameters, messages and schema, plus the draw index.
        attempt: 1 for the first attempt of this call in this process, then counting up.
        status: ``ok`` where a complete reply arrived (whatever it says), else ``failed``.
        failure: kind and message of a failed attempt.
        started_at: seconds since the epoch.
    """

    key: str
    endpoint: str
    model: str
    draw: int
    attempt: int
    status: Literal["ok", "failed"]
    started_at: float
    latency_s: float
    run_id: str | None = None
    reply_text: str | None = None
    reply_model: str | None = None
    finish: FinishReason | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    failure_kind: FailureKind | None = None
    failure_message: str | None = None
    http_status: int | None = None
