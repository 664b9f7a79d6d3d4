"""Finding out, once per model and endpoint, what a server accepts: structured output and parameters.

Servers that speak a provider's protocol differ in what they support, and say so with status 400 or
422. Each such answer makes the next request plainer: JSON Schema, then a JSON object, then plain text
with the schema in the prompt; a parameter the server names as unsupported is dropped, loudly.
"""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from metajudge.errors import BadRequestError, ProviderError
from metajudge.providers.model import OutputSchema
from metajudge.providers.notices import Notices, not_sent
from metajudge.providers.wrapper import unsent
from metajudge.types import json_bytes


class OutputMode(StrEnum):
    """How a server is asked for structured output, best first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is asked of one server: the output mode, the name of the length limit, what must be left out."""

    mode: OutputMode = OutputMode.JSON_SCHEMA
    max_tokens_name: str = "max_tokens"
    dropped: frozenset[str] = frozenset()


class RenegotiatedError(BadRequestError):
    """The server lacks a feature; what is asked of it has been made plainer: ask again at once."""

    retryable = True


_UNSUPPORTED = re.compile(
    r"unsupported|support|unrecognized|unknown|unexpected|unavailable|not available|extra (inputs|fields|param)|"
    r"extra_forbidden|not permitted|no such|not allowed|not implemented",
    re.IGNORECASE,
)
_FORMAT = re.compile(
    r"response_format|json_schema|json_object|json mode|structured.?outputs?|output_config|output_format|"
    r"guided decoding|grammar",
    re.IGNORECASE,
)
_OWN_SCHEMA = re.compile(r"invalid schema", re.IGNORECASE)
_DROPPABLE = ("temperature", "top_p", "seed", "reasoning_effort", "effort")


class Negotiation:
    """What one model at one endpoint has been found to accept; shared by all who ask it.

    Args:
        dialect: what to try first.
        modes: the output modes of this protocol, best first.
        grace_s: how long concurrent first calls wait for the first one to be rejected. A rejection
            needs a round trip and no generation; a server that needs longer is not waited for.
    """

    def __init__(
        self, model: str, dialect: Dialect, modes: tuple[OutputMode, ...], notices: Notices, grace_s: float
    ) -> None:
        self.dialect = dialect
        self._model = model
        self._modes = modes
        self._notices = notices
        self._grace_s = grace_s
        self._settled = False
        self._probe: asyncio.Event | None = None
        self._failure: ProviderError | None = None
        self._renamed = False

    async def begin(self) -> Dialect:
        """The dialect for the next structured call; waits briefly while another call finds it out.

        Raises:
            ProviderError: the call waited for failed as this one would (see :meth:`fail_waiting`); it is not sent.
        """
        if not self._settled:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._grace_s):
                    while self._probe is not None and not self._settled:
                        await self._probe.wait()
                        if self._failure is not None:
                            why = "not sent, because another call failed at the same time and this one would too"
                            raise unsent(self._failure, f"{why}: {self._failure}")
            if self._probe is None and not self._settled:
                self._probe, self._failure = asyncio.Event(), None
        return self.dialect

    def fail_waiting(self, error: ProviderError) -> None:
        """Every call would fail as this one did: those that wait for it fail without being sent."""
        self._failure = error

    def end(self, accepted: bool) -> None:
        """Tells how a structured call ended: an accepted one settles the dialect."""
        self._settled = self._settled or accepted
        if self._probe is not None:
            self._probe.set()
            self._probe = None

    def rejected(self, used: Dialect, body: Mapping[str, Any], error: ProviderError) -> RenegotiatedError | None:
        """Makes the dialect plainer where a rejection says which feature is missing.

        Returns:
            The error that asks for another attempt, None where the rejection has another reason.
        """
        if used == self.dialect:
            plainer = self._plainer(used, body, str(error))
            if plainer is None:
                return None
            self.dialect = plainer
            self._settled = False
        return RenegotiatedError(f"{error} (asking again in a plainer form)", status=error.status)

    def _plainer(self, used: Dialect, body: Mapping[str, Any], message: str) -> Dialect | None:
        unsupported = _UNSUPPORTED.search(message) is not None
        if unsupported and "max_completion_tokens" in message and not self._renamed:
            self._renamed = True
            other = "max_tokens" if used.max_tokens_name == "max_completion_tokens" else "max_completion_tokens"
            return replace(used, max_tokens_name=other)
        for name in _DROPPABLE:
            sent = name in body or name in body.get("output_config", ())
            if unsupported and sent and re.search(rf"\b{name}\b", message):
                self.drop(name, "the server does not support it")
                return replace(used, dropped=used.dropped | {name})
        if _FORMAT.search(message) and not _OWN_SCHEMA.search(message) and used.mode is not self._modes[-1]:
            mode = self._modes[self._modes.index(used.mode) + 1]
            self._notices.say(f"{self._model}: the server does not support {used.mode} output; using {mode} instead")
            return replace(used, mode=mode)
        return None

    def drop(self, name: str, reason: str) -> None:
        """Says, once per model, that a parameter is not sent."""
        self._notices.say(not_sent(self._model, name, reason))


def schema_instruction(schema: OutputSchema) -> str:
    """The instruction to a model whose server cannot enforce the schema."""
    text = json_bytes(schema.schema).decode()
    return f"Answer with one JSON object and nothing else. It must be valid against this JSON Schema:\n{text}"
