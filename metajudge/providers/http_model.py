"""A model asked over HTTP: what OpenAI's chat completions and Anthropic's messages have in common."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from metajudge.errors import AuthError, BadReplyError, BadRequestError, NotFoundError
from metajudge.providers.client import EndpointClient, Post
from metajudge.providers.http_errors import Asked
from metajudge.providers.model import Endpoint, ModelRequest
from metajudge.providers.negotiation import Dialect, Negotiation, OutputMode, schema_instruction
from metajudge.providers.notices import Notices
from metajudge.types import Reply, Usage, json_bytes


class ReadReply(Protocol):
    """Reads the body of a successful answer.

    Args:
        allow_empty: take an empty message as an answer.

    Raises:
        BadReplyError: no JSON, or a message without text that was neither cut nor refused.
        ProviderError: an error that a gateway wrapped into a success.
    """

    def __call__(self, content: bytes, asked: Asked, *, allow_empty: bool = False) -> Reply: ...


@dataclass(frozen=True, slots=True)
class ChatProtocol:
    """How a model is asked and answers.

    Attributes:
        modes: how structured output is asked for, best first.
        first_dialect: what is tried first at an endpoint.
        body: the JSON body of a request to a model.
        stream_options: what a body has besides to be answered as a stream.
        dropped: what the protocol has no word for in a request, each with the reason.
    """

    path: str
    modes: tuple[OutputMode, ...]
    first_dialect: Callable[[Endpoint], Dialect]
    body: Callable[[str, ModelRequest, Dialect], dict[str, Any]]
    stream_options: dict[str, Any]
    dropped: Callable[[ModelRequest], Iterable[tuple[str, str]]]
    read_reply: ReadReply

    def negotiation(self, model: str, endpoint: Endpoint, notices: Notices, grace_s: float) -> Negotiation:
        """A fresh negotiation with a model that speaks this protocol."""
        return Negotiation(model, self.first_dialect(endpoint), self.modes, notices, grace_s)


class HttpModel:
    """A model behind a protocol; ``post`` carries its requests in place of the client."""

    def __init__(
        self,
        name: str,
        client: EndpointClient,
        negotiation: Negotiation,
        protocol: ChatProtocol,
        post: Post | None = None,
    ) -> None:
        self.name = name
        self.endpoint = client.endpoint
        self._post = post or client.post
        self._negotiation = negotiation
        self._protocol = protocol
        self._asked = client.asked(name)
        self._checked: object = None

    async def complete(self, request: ModelRequest) -> Reply:
        """Sends one HTTP request.

        Raises:
            ProviderError: typed; a :class:`RenegotiatedError` where the next attempt will be plainer.
        """
        negotiation, protocol = self._negotiation, self._protocol
        if self._checked is not request.parameters:
            self._checked = request.parameters
            for name, reason in protocol.dropped(request):
                negotiation.drop(name, reason)
        structured = request.schema is not None
        dialect = await negotiation.begin() if structured else negotiation.dialect
        accepted = False
        try:
            body = protocol.body(self.name, request, dialect)
            content = await self._post(protocol.path, json_bytes(body), self._asked, request.parameters)
            accepted = True
        except (BadRequestError, AuthError, NotFoundError) as error:
            if not isinstance(error, BadRequestError):
                negotiation.fail_waiting(error)
                raise
            renegotiated = negotiation.rejected(dialect, body, error)
            if renegotiated is not None:
                raise renegotiated from None
            raise
        finally:
            if structured:
                negotiation.end(accepted)
        return protocol.read_reply(content, self._asked)


def instructed(request: ModelRequest, enforced: bool) -> str:
    """A request's system prompt; with the schema where the server does not enforce it."""
    if request.schema is None or enforced:
        return request.system
    return "\n\n".join(filter(None, (request.system, schema_instruction(request.schema))))


def answer_data(content: bytes, asked: Asked) -> Any:
    """An answer as data.

    Raises:
        BadReplyError: it is no JSON.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        message = f"{asked} answered with broken JSON ({error}): {asked.excerpt(content)}"
        raise BadReplyError(message, status=200) from None


def useless(how: str, content: bytes, asked: Asked, usage: Usage | None) -> BadReplyError:
    """The error for an unusable answer that may have been billed."""
    return BadReplyError(f"{asked} answered {how}: {asked.excerpt(content)}", status=200, usage=usage)


def text_or(value: object, other: str) -> str:
    """A text as reported, or a default if missing."""
    return value if isinstance(value, str) else other
