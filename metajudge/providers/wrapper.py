"""The base of every wrapper of a model, and the request as it travels through the wrappers."""

import copy
from dataclasses import dataclass, fields, replace
from typing import Self

from metajudge.errors import ProviderError
from metajudge.providers.model import Model, ModelRequest, request_key
from metajudge.types import Reply


@dataclass(frozen=True, slots=True)
class CallAttempt(ModelRequest):
    """A request on its way through the wrappers: its key, computed once, and which attempt this is."""

    key: str = ""
    attempt: int = 1

    @classmethod
    def of(cls, model: Model, request: ModelRequest) -> Self:
        """The request itself where it already carries a key, else a first attempt of it."""
        if isinstance(request, cls):
            return request
        same = {one.name: getattr(request, one.name) for one in fields(ModelRequest)}
        return cls(**same, key=request_key(model, request))

    def again(self, attempt: int) -> Self:
        """The same call, one attempt later."""
        return replace(self, attempt=attempt)


def unsent(error: ProviderError, message: str) -> ProviderError:
    """The error of a call that is not sent, because another one failed in a way that it would too."""
    same = copy.copy(error)
    same.args, same.sent, same.attempts = (message,), False, 0
    return same


class ModelWrapper:
    """A model that adds one concern to another model; subclasses override :meth:`complete`."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.name, self.endpoint = inner.name, inner.endpoint

    async def complete(self, request: ModelRequest) -> Reply:
        return await self._inner.complete(request)
