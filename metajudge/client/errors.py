"""Errors of the client.

::

MetajudgeError
├── ServiceError                    the service answered with a problem
│   ├── AccessError                 401, 403: no key, a wrong one, or one without the scope
│   ├── NotFoundError               404
│   ├── ConflictError               409: another person's, or a request under the same key is still in progress
│   ├── InvalidRequestError         400, 405, 413, 415, 422: what was sent cannot be used
│   ├── BusyError                   429, 503: it had no place or no time for the request
│   ├── TimeLimitError              408, 504: the request or its answer took too long
│   └── ServiceUnreachableError     it did not answer
└── UnfinishedJobError              some items of a job have no result
"""

from collections.abc import Mapping
from typing import Any

from metajudge.errors import MetajudgeError


class ServiceError(MetajudgeError):
    """The service answered with a problem (RFC 9457); ``retry_after`` is in seconds, None where it does not say."""

    def __init__(self, status: int | None, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(f"{status}: {problem.get('detail', 'no details')} (request {problem.get('request_id', '?')})")
        self.status, self.problem, self.retry_after = status, problem, retry_after


class AccessError(ServiceError):
    """No key, a wrong one, or one without the scope."""


class NotFoundError(ServiceError):
    """There is no such job, review, judgment or name."""


class ConflictError(ServiceError):
    """It is another person's, was decided, or a request under the same key is still in progress."""


class InvalidRequestError(ServiceError):
    """What was sent cannot be used; ``problem["errors"]`` lists several reasons."""


class BusyError(ServiceError):
    """The service had no place for the request, or its store or budget was not available."""


class TimeLimitError(ServiceError):
    """The request or its answer took too long."""


class ServiceUnreachableError(ServiceError):
    """There was no answer, or not all of it (``status`` is None); ``sent`` is False where no request left."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(None, {"detail": message})
        self.args, self.sent = (message,), sent


class UnfinishedJobError(MetajudgeError):
    """``missing`` items of a job have no result; ``job`` is its status at the last check."""

    def __init__(self, job: Mapping[str, Any], missing: int, why: str = "") -> None:
        state = f"{why or job['state']}{': ' + job['detail'] if job.get('detail') else ''}"
        super().__init__(f"job {job['job_id']} is {state}: {missing} of its {job['items']} items have no result")
        self.job, self.missing = job, missing


_KINDS: Mapping[int, type[ServiceError]] = {
    **dict.fromkeys((401, 403), AccessError),
    **dict.fromkeys((400, 405, 413, 415, 422), InvalidRequestError),
    **dict.fromkeys((429, 503), BusyError),
    **dict.fromkeys((408, 504), TimeLimitError),
    404: NotFoundError,
    409: ConflictError,
}


def error_of(status: int, problem: Mapping[str, Any], retry_after: float | None) -> ServiceError:
    """The error of a response."""
    return _KINDS.get(status, ServiceError)(status, problem, retry_after)
