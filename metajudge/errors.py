"""Every error metajudge raises on purpose.

::

    MetajudgeError
    ├── UserError                  the caller must change something; a retry cannot help
    │   ├── InputError             a file, a line or a record that is not what it should be
    │   │   ├── BadLineError       a line that cannot be read, where --strict refuses such lines
    │   ├── RubricError            a rubric that is malformed or unknown
    │   ├── PromptError            a template with a missing or unused variable
    │   ├── ConfigurationError     agents, panel, threshold, keys, budget
    │   ├── PolicyError            a decision policy that is malformed or unknown
    │   ├── ReviewError            a review that is unknown, decided or in other hands
    │   └── StoreError             the store cannot be used
    │       └── StoreUnavailableError  no answer from the database: later it may work (exit code 1)
    ├── OutputError                an output file could not be written to its end: disk full, quota
    ├── WorkerError                a block of judgments ended without results in Ray's workers
    ├── BudgetExceeded             the run's budget is spent; nothing more is sent
    │   └── DayBudgetExceeded      that of a service's day
    ├── BatchPendingError          a provider's batch is not done yet; the same command again collects it
    ├── UnprovenError              a search's time limit came before the proof of its result
    └── ProviderError              a model could not be asked or did not answer usably
        ├── AuthError              401, 403
        ├── NotFoundError          404: no such model or path
        ├── BadRequestError        400, 422 for a reason not listed here
        ├── ContextTooLongError    the prompt does not fit the model
        ├── RateLimitedError       429                                     (retried)
        ├── ModelTimeoutError      no answer in time                       (retried)
        ├── OverloadedError        503, 529                                (retried)
        ├── ServerError            other 5xx                               (retried)
        ├── ConnectionFailedError  no connection, or it was cut            (retried)
        ├── BadReplyError          not what the protocol promises          (retried)
        ├── PromptCutError         the server read part of the prompt alone
        └── RefusedError           the model declined to answer

A message says what is wrong, where, and what to do next. HTTP statuses of our own service live in
``api`` alone.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from metajudge.types.usage import Usage


Tells: TypeAlias = Literal["nothing", "something", "all"]


class FailureKind(StrEnum):
    """Why there is no score. The value is what appears in files, in the store and over HTTP."""

    NO_VERDICT = "no_verdict"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    BAD_REQUEST = "bad_request"
    CONTEXT_TOO_LONG = "context_too_long"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    CONNECTION = "connection"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    BAD_REPLY = "bad_reply"
    NO_EVIDENCE = "no_evidence"
    INTERRUPTED = "interrupted"


class MetajudgeError(Exception):
    """Base of every error metajudge raises on purpose."""


class UserError(MetajudgeError):
    """Something the caller must change; trying again as is cannot help."""


class InputError(UserError):
    """A file, a line or a record that is not what it should be."""


class OpenQuestionsError(InputError):
    """A table whose columns leave questions open: `metajudge import` asks them, and `vet` on a terminal does."""


class BadLineError(InputError):
    """A line that cannot be read, where strict reading was asked for."""


class RubricError(UserError):
    """A rubric that is malformed, or a name that no rubric has."""


class PromptError(UserError):
    """A prompt template whose variables and values do not match."""


class ConfigurationError(UserError):
    """Agents, panel, threshold, keys or budget that make no sense together."""


class PolicyError(UserError):
    """A decision policy that is malformed, or a name that no policy has."""


class ReviewError(UserError):
    """A review that is unknown, was decided, or is in other hands.

    Attributes:
        reason: ``unknown``, ``decided``, ``not_claimed``, ``claimed_by_other`` or ``lease_expired``.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class StoreError(UserError):
    """The store cannot be used as asked."""


class StoreUnavailableError(StoreError):
    """The store's database cannot be reached, or is in use so long; the same again may work later."""


class OutputError(MetajudgeError):
    """An output file could not be written to its end, such as on a full disk."""


class WorkerError(MetajudgeError):
    """A block of judgments ended without results in Ray's workers; those of the others are kept."""


class BudgetExceeded(MetajudgeError):  # noqa: N818 - a stop, not a fault
    """The run's budget is spent; the call was not sent."""


class DayBudgetExceeded(BudgetExceeded):
    """What a service may spend a day is spent; the call was not sent.

    Attributes:
        ends_in_s: seconds until the day ends.
    """

    def __init__(self, message: str, *, ends_in_s: float) -> None:
        super().__init__(message)
        self.ends_in_s = ends_in_s


class BatchPendingError(MetajudgeError):
    """The request is in a batch that its provider still works on; the same command again collects the answer."""


class UnprovenError(MetajudgeError):
    """A search's time limit came before the proof of its result.

    Args:
        message: how far the bound is from the best result.
        cost: what the best result found costs.
        bound: no result costs less.
        best: the best result found.
    """

    def __init__(self, message: str, *, cost: float, bound: float, best: tuple[str, ...]) -> None:
        super().__init__(message)
        self.cost = cost
        self.bound = bound
        self.best = best


class ProviderError(MetajudgeError):
    """A model could not be asked, or did not answer usably.

    Args:
        message: what happened, with the provider's own words where it gave any.
        status: HTTP status of the answer, None where there was none.
        retry_after: seconds the provider asked us to wait, None where it did not.
        sent: False where the request certainly never left (it is then not counted as a call).
        usage: tokens of an unusable answer that was billed, None where none were reported.

    Attributes:
        attempts: HTTP requests sent for this call before it was given up; set by the retry layer, which also adds
            up usage and cost.
        cost_usd: dollars of the answers in ``usage``, None where the price is unknown; set by metering.
        words: all that the provider said, for reading; messages have an excerpt.
        tells: what it tells about other requests: ``nothing``, for it is this request's own; ``something``, where
            different ones fail alike; or ``all``, for no property of a request can lead to it.
    """

    kind: FailureKind = FailureKind.SERVER_ERROR
    retryable: bool = False
    tells: Tells = "nothing"

    def __init_subclass__(
        cls, kind: FailureKind | None = None, retryable: bool | None = None, tells: Tells | None = None
    ) -> None:
        cls.kind, cls.tells = kind or cls.kind, tells or cls.tells
        cls.retryable = cls.retryable if retryable is None else retryable

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        sent: bool = True,
        usage: "Usage | None" = None,
    ) -> None:
        super().__init__(message)
        self.usage = usage
        self.cost_usd: float | None = 0.0 if usage is None else None
        self.status = status
        self.retry_after = retry_after
        self.sent = sent
        self.attempts = int(sent)
        self.words = ""

    @property
    def maybe_billed(self) -> bool:
        """Whether an answer may have been generated: it was sent, and not turned away."""
        turned_away = {FailureKind.AUTH, FailureKind.NOT_FOUND, FailureKind.RATE_LIMITED, FailureKind.OVERLOADED}
        return self.sent and (self.status is None or self.status < 300) and self.kind not in turned_away


class AuthError(ProviderError, kind=FailureKind.AUTH, tells="something"):
    """The key is missing, wrong or not allowed to use this model."""


class NotFoundError(ProviderError, kind=FailureKind.NOT_FOUND, tells="something"):
    """No such model or path at this base URL."""


class BadRequestError(ProviderError, kind=FailureKind.BAD_REQUEST, tells="something"):
    """The provider rejected the request for a reason no other class names."""


class ContextTooLongError(ProviderError, kind=FailureKind.CONTEXT_TOO_LONG):
    """The prompt does not fit into the model's context, or into the provider's request limit."""


class RateLimitedError(ProviderError, kind=FailureKind.RATE_LIMITED, retryable=True):
    """The provider asked for fewer requests or tokens a minute."""


class ModelTimeoutError(ProviderError, kind=FailureKind.TIMEOUT, retryable=True):
    """No complete answer arrived in time."""


class OverloadedError(ProviderError, kind=FailureKind.OVERLOADED, retryable=True):
    """The provider is temporarily out of capacity."""


class ServerError(ProviderError, kind=FailureKind.SERVER_ERROR, retryable=True):
    """The provider failed on its side."""


class ConnectionFailedError(ProviderError, kind=FailureKind.CONNECTION, retryable=True):
    """No connection, or it was cut before the answer was complete."""


class BadReplyError(ProviderError, kind=FailureKind.BAD_REPLY, retryable=True):
    """The body was not what the protocol promises (an HTML page, half a JSON, no message)."""


class PromptCutError(ProviderError, kind=FailureKind.TRUNCATED):
    """The server read only part of the prompt, and answered all the same."""


class RefusedError(ProviderError, kind=FailureKind.REFUSED):
    """The model, or the provider's filter, declined to answer."""
