"""A client of the HTTP service, synchronous and asynchronous.

>>> with Client("http://127.0.0.1:8080", key="mj_...") as client:  # doctest: +SKIP
...     assessment = client.vet(judgment)
...     job = client.vet_batch(judgments)
...     results = list(client.results(job["job_id"]))

What has no method of its own is asked with ``request`` and ``stream``. :mod:`~metajudge.client.errors` has the errors.

A request that the service was too busy for (429, 503) or that did not reach it is sent again, after the time that the
answer names or after growing pauses, for ``patience_s`` at most (10 s where nothing answers). What may have been done
already is repeated only where that does no harm: reads, vets, what asks no model, and whatever has an idempotency key;
judge, clash, case and batches get one where none is given.
"""

from metajudge.client.clients import AsyncClient, Client
from metajudge.client.errors import (
    AccessError,
    BusyError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    ServiceError,
    ServiceUnreachableError,
    TimeLimitError,
    UnfinishedJobError,
)

__all__ = [
    "AccessError",
    "AsyncClient",
    "BusyError",
    "Client",
    "ConflictError",
    "InvalidRequestError",
    "NotFoundError",
    "ServiceError",
    "ServiceUnreachableError",
    "TimeLimitError",
    "UnfinishedJobError",
]
