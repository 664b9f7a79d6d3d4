"""A model asked over HTTP: what it is sent, what it answers in one piece or as a stream, and whether it read it all."""

import re
import time
from collections.abc import AsyncIterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from metajudge.errors import (
    BadReplyError,
    BadRequestError,
    ConnectionFailedError,
    ContextTooLongError,
    NotFoundError,
    PromptCutError,
    ServerError,
)
from metajudge.providers.client import EndpointClient, Post
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.model import Endpoint, ModelRequest
from metajudge.providers.negotiation import Negotiation, RenegotiatedError
from metajudge.providers.protocols import ChatProtocol, status_of
from metajudge.types import Reply, Usage, json_bytes

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_MOST_PER_TOKEN: Final = 10
"""Characters of text that no tokenizer puts into one token on average; blanks and repeated marks apart."""
_SPARE: Final = 2_000
_ALIKE: Final = 3
"""Prompts of different lengths with one and the same round count of tokens, from which on it is a limit."""
_ROUND: Final = 256


@dataclass(eq=False)
class HttpModel:
    """A model behind a protocol.

    Attributes:
        post: carries its requests in place of the client.
        streams: for free text: it is asked to answer as a stream, so that the time to the first token is known, and an
            empty answer is one. A server that refuses to stream is asked for the whole answer from then on.
    """

    name: str
    client: EndpointClient
    negotiation: Negotiation
    protocol: ChatProtocol
    post: Post | None = None
    _: KW_ONLY
    streams: bool = False
    endpoint: Endpoint = field(init=False)

    def __post_init__(self) -> None:
        self.endpoint, self._asked = self.client.endpoint, self.client.asked(self.name)
        self._streams = self.streams and bool(self.protocol.stream_options)
        self._checked: object = None
        self._read_whole = ReadWhole()

    async def complete(self, request: ModelRequest) -> Reply:
        """Sends one HTTP request.

        Raises:
            ProviderError: typed; a :class:`RenegotiatedError` where the next attempt will be plainer.
        """
        negotiation, protocol = self.negotiation, self.protocol
        if self._checked is not request.parameters:
            self._checked = request.parameters
            for name, reason in protocol.dropped(request, negotiation.dialect):
                negotiation.drop(name, reason)
        structured = request.schema is not None
        dialect = negotiation.begin()
        body = protocol.body(self.name, request, dialect) | request.parameters.extra
        stream = dialect.stream or self._streams
        path = (".." if dialect.bare else "") + protocol.path(self.name, stream=stream)
        try:
            if stream:
                reply = await self._streamed(path, body, request)
            else:
                content = await (self.post or self.client.post)(path, json_bytes(body), self._asked, request.parameters)
                reply = protocol.read_reply(content, self._asked, allow_empty=self.streams, structured=structured)
        except (BadRequestError, NotFoundError, ServerError, ContextTooLongError) as error:
            refused = isinstance(error, BadRequestError) and "stream" in (error.words or str(error)).lower()
            if refused and self._streams and not dialect.stream:
                self._streams = False
                message = f"{error} (asking again for the whole answer at once)"
                raise RenegotiatedError(message, status=error.status) from None
            raise (negotiation.rejected(dialect, body, error) or error) from None
        negotiation.accepted(dialect, structured=structured)
        negotiation.answered_by(reply.model)
        if reply.usage is not None:
            self._read_whole.check(request, reply.usage, self._asked)
        return reply

    async def _streamed(self, path: str, body: dict[str, Any], request: ModelRequest) -> Reply:
        """Sends a request and reads its answer as it arrives; one in one piece has no time to the first token."""
        protocol, asked, structured, started = self.protocol, self._asked, request.schema is not None, time.monotonic()

        async def read(response: "ClientResponse") -> Reply:
            whole: dict[str, Any] = {}
            first_token_s = None
            if "event-stream" in response.headers.get("content-type", ""):
                async for event in _events(response, asked):
                    if protocol.gather(whole, event) and first_token_s is None:
                        first_token_s = time.monotonic() - started
                if (said := protocol.said(whole)) is None or said.reason is None:
                    message = f"{asked}: the stream ended before the answer was complete"
                    raise ConnectionFailedError(message, status=200)
            content = orjson.dumps(whole) if whole else await response.read()
            reply = protocol.read_reply(content, asked, allow_empty=not structured, structured=structured)
            return replace(reply, first_token_s=first_token_s)

        sent, p = json_bytes(body | protocol.stream_options), request.parameters
        return await self.client.send("POST", path, sent, asked, p.timeout_s, p.headers, read)


async def _events(response: "ClientResponse", asked: Asked) -> AsyncIterator[dict[str, Any]]:
    """The JSON objects of a stream of server-sent events.

    Raises:
        BadReplyError: broken JSON.
        ProviderError: the error that an event is.
    """
    async for line in _lines(response):
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise BadReplyError(f"{asked} streamed broken JSON ({error}): {asked.excerpt(data)}", status=200) from None
        if isinstance(event, dict):
            choices = event.get("choices")
            choice = choices[0] if isinstance(choices, list) and choices else None
            for one in (event, choice):
                if isinstance(one, dict) and one.get("error"):
                    raise error_from_response(status_of(one["error"], 500), {}, orjson.dumps(one), asked)
            yield event


async def _lines(response: "ClientResponse") -> AsyncIterator[bytes]:
    """The lines of a body as it arrives, of any length."""
    rest = b""
    async for part in response.content.iter_any():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line
    yield rest


class ReadWhole:
    """Whether a server read whole prompts: some cut them at their context without a word, and answer the rest."""

    def __init__(self) -> None:
        self._lengths: dict[int, set[int]] = {}

    def check(self, request: ModelRequest, usage: Usage, asked: Asked) -> None:
        """Compares the tokens that were read with the text that was sent.

        Raises:
            PromptCutError: they are far too few, or the same round number for prompts of different lengths.
        """
        texts, read = [request.system, *(one.text for one in request.messages)], usage.input_tokens
        sent, most = sum(map(len, texts)), _MOST_PER_TOKEN * usage.input_tokens + _SPARE
        if read <= 0:
            return
        # Runs of blanks and of one mark count once.
        cut = sent > most and sum(len(re.sub(r"(\W)\1+", r"\1", " ".join(one.split()))) for one in texts) > most
        if read % _ROUND == 0 and not cut:
            lengths = self._lengths.setdefault(read, set())
            lengths.add(sent // 100)
            cut = len(lengths) >= _ALIKE and max(lengths) > 1.1 * min(lengths)
        if cut:
            raise PromptCutError(
                f"{asked} read {read:,} tokens of a prompt of {sent:,} characters: the server cut it at its context. "
                "Give it a larger one (Ollama: num_ctx, vLLM: --max-model-len), or use another model",
                status=200,
                usage=usage,
            )
