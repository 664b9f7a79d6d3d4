"""``Idempotency-Key``: a repeated request gets the first response again, also after restarts."""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from fastapi import Header, HTTPException, Response
from pydantic import BaseModel

from metajudge.store.answers import Answer, StoredAnswers

from .keys import Caller

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
    """One request and its key, if it has one."""

    def __init__(self, answers: StoredAnswers, caller: Caller, key: str | None, mark: str) -> None:
        self._answers, self._owner, self._key, self._mark = answers, caller.name, key, mark

    async def earlier(self) -> Answer | None:
        """Takes the key; returns the earlier response under it, or None.

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
        return found

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Releases the key if the work fails."""
        try:
            yield
        except BaseException:
            if self._key is not None:
                await self._answers.release(self._owner, self._key)
            raise

    async def answered(self, status: int, body: bytes, location: str | None = None) -> None:
        """Stores the response."""
        if self._key is not None:
            await self._answers.answered(self._owner, self._key, status, body, location)


def replay(answer: Answer) -> Response:
    """An earlier response again."""
    assert answer.status is not None
    headers = {"Idempotency-Replayed": "true"}
    if answer.location is not None:
        headers["Location"] = answer.location
    return Response(answer.body, answer.status, headers, media_type="application/json")


async def answered_once(
    answers: StoredAnswers, caller: Caller, key: str | None, mark: str, work: Callable[[], Awaitable[BaseModel]]
) -> Response:
    """The earlier response under a key, or that of the work, which is stored under it.

    Args:
        mark: the :func:`fingerprint` of the operation and its body.

    Raises:
        HTTPException: see :meth:`Claim.earlier`.
    """
    claim = Claim(answers, caller, key, mark)
    if earlier := await claim.earlier():
        return replay(earlier)
    async with claim.working():
        content = (await work()).model_dump_json().encode()
        await claim.answered(200, content)
    return Response(content, media_type="application/json")
