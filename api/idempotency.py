"""``Idempotency-Key``: a repeated request gets the first response again, also after restarts."""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from fastapi import Header, HTTPException, Response
from pydantic import BaseModel

from .deps import Call

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=255,
        min_length=1,
        description="Makes a repetition safe: the same key with the same body gets the same response, for a day.",
    ),
]


def fingerprint(*parts: bytes) -> str:
    """Digest of a request."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


class Claim:
    """One request and its key, if it has one.

    Args:
        mark: the :func:`fingerprint` of the operation and its body.
    """

    def __init__(self, call: Call, key: str | None, mark: str) -> None:
        self._answers, self._owner, self._key, self._mark = call.running.answers, call.caller.name, key, mark

    async def earlier(self) -> Response | None:
        """Takes the key; the earlier response under it again, or None.

        Raises:
            HTTPException: 422 for another body under the same key, 409 if the first request is in progress.
        """
        if self._key is None:
            return None
        found = await self._answers.begin(self._owner, self._key, self._mark)
        if found is None:
            return None
        if found.fingerprint != self._mark:
            raise HTTPException(422, "this Idempotency-Key was used for another request: use a new key for a new body")
        if found.status is None:
            raise HTTPException(
                409, "the first request with this Idempotency-Key is still in progress", {"Retry-After": "1"}
            )
        headers = {"Idempotency-Replayed": "true", **({} if found.location is None else {"Location": found.location})}
        return Response(found.body, found.status, headers, media_type="application/json")

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Releases the key if the work fails."""
        try:
            yield
        except BaseException:
            if self._key is not None:
                await self._answers.release(self._owner, self._key)
            raise


async def answered_once(
    call: Call, key: str | None, operation: str, body: BaseModel, work: Callable[[], Awaitable[BaseModel]]
) -> Response:
    """The earlier response under a key, or that of the work, which is stored under it.

    Raises:
        HTTPException: see :meth:`Claim.earlier`.
    """
    mark = "" if key is None else fingerprint(operation.encode(), body.model_dump_json().encode())
    claim = Claim(call, key, mark)
    if earlier := await claim.earlier():
        return earlier
    async with claim.working():
        content = (await work()).model_dump_json().encode()
        if key is not None:
            await call.running.answers.answered(call.caller.name, key, 200, content, None)
    return Response(content, media_type="application/json")
