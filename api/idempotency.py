"""``Idempotency-Key``: the same request again is answered as the first time, through restarts."""

import contextlib
import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Protocol

from fastapi import Header, HTTPException, Response

from .keys import Caller
from .ledger import Answer

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=255,
        min_length=1,
        description="Makes a repetition safe: the same key with the same body is answered as before, for a day.",
    ),
]


def fingerprint(*parts: bytes) -> str:
    """Identity of a request."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


class Answers(Protocol):
    """What was answered under idempotency keys."""

    async def begin(self, owner: str, key: str, fingerprint: str) -> Answer | None:
        """Takes a key for a request; None where it was free, else what is known under it."""

    async def answered(self, owner: str, key: str, status: int, body: bytes, location: str | None) -> None:
        """Keeps what was answered."""

    async def release(self, owner: str, key: str) -> None:
        """Releases a key whose request failed."""


class Claim:
    """One request under its key (or under none)."""

    def __init__(self, answers: Answers, caller: Caller, key: str | None, mark: str) -> None:
        self._answers, self._owner, self._key, self._mark = answers, caller.name, key, mark

    async def earlier(self) -> Answer | None:
        """Takes the key; what was answered under it before, if anything was.

        Raises:
            HTTPException: 422 for another body under the same key, 409 where the first request is in progress.
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
        """Releases the key where the work fails."""
        try:
            yield
        except BaseException:
            if self._key is not None:
                await self._answers.release(self._owner, self._key)
            raise

    async def answered(self, status: int, body: bytes, location: str | None = None) -> None:
        """Keeps the answer."""
        if self._key is not None:
            await self._answers.answered(self._owner, self._key, status, body, location)


def replay(answer: Answer) -> Response:
    """An earlier answer again."""
    assert answer.status is not None
    headers = {"Idempotency-Replayed": "true"}
    if answer.location is not None:
        headers["Location"] = answer.location
    return Response(answer.body, answer.status, headers, media_type="application/json")
