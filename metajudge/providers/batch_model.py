"""A model asked in batches: the same adapter, wrappers and bodies as live, over another transport."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from metajudge.errors import AuthError, BadReplyError, BadRequestError, ModelTimeoutError, NotFoundError, ProviderError
from metajudge.providers.batch_queue import BatchQueue
from metajudge.providers.batch_services import BatchAnswer, Ending, service_of
from metajudge.providers.client import EndpointClient, Post
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.model import CallAttempt, Model, ModelRequest, ModelWrapper, Parameters, unsent
from metajudge.providers.negotiation import RenegotiatedError
from metajudge.types import Reply

Adapter = Callable[[Post], Model]
"""Makes a provider's adapter over what carries its requests."""


class _AskLive(Exception):  # noqa: N818 - control flow between two models
    """Too few requests for a batch: this one is to be asked live."""


@dataclass(eq=False)
class BatchProvider:
    """The provider below the wrappers: as the live one, but its requests travel in batches.

    Attributes:
        adapter: makes the live adapter over what carries its requests, so that bodies and readings are its own.
    """

    name: str
    client: EndpointClient
    queue: BatchQueue
    adapter: Adapter

    def __post_init__(self) -> None:
        self.endpoint = self.client.endpoint
        self._asked, self._service = self.client.asked(self.name), service_of(self.client)

    async def complete(self, request: ModelRequest) -> Reply:
        """Waits for the request's batch.

        Raises:
            ProviderError: typed, as live; an expired request is a time-out.
            BatchPendingError: the batch is left to its provider.
        """
        call = CallAttempt.of(self, request)
        lane = self.queue.lane(self._service, self._asked, call.parameters.headers)

        async def post(_path: str, body: bytes, asked: Asked, _parameters: Parameters) -> bytes:
            answer = await lane.ask(call.key, call.fresh, body)
            if answer is None:
                raise _AskLive
            if answer.status == 200:
                return answer.content
            raise _error_of(answer, asked)

        return await self.adapter(post).complete(call)


@dataclass(eq=False)
class BatchedModel(ModelWrapper):
    """Sends requests into batches, but the first of each model live.

    The probe shows at once what would otherwise come back a day later from every request of a batch: a wrong key, an
    unknown model, a setting that the server does not know.

    Attributes:
        inner: asks in batches.
        live: asks at once.
        queue: knows which requests are in batches already.
    """

    live: Model
    queue: BatchQueue

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probe = self.queue.probe(self.endpoint, self.name)

    async def complete(self, request: ModelRequest) -> Reply:
        call = CallAttempt.of(self.inner, request)
        while not self._probe.done and self.queue.folder.find(call.key, call.fresh) is None:
            if self._probe.running is None:
                return await self._probed(call)
            await self._probe.running.wait()
            if (failed := self._probe.failed) is not None:
                why = "not put into a batch, because the first request failed and this one would too"
                raise unsent(failed, f"{why}: {failed}")
        try:
            return await self.inner.complete(call)
        except _AskLive:
            return await self.live.complete(call)

    async def _probed(self, call: CallAttempt) -> Reply:
        probe = self._probe
        probe.running, probe.failed = asyncio.Event(), None
        try:
            reply = await self.live.complete(call)
            probe.done = True
            return reply
        except RenegotiatedError:  # asked again at once, in a plainer form
            raise
        except (AuthError, NotFoundError) as error:
            probe.failed = error
            raise
        except ProviderError:  # its own failure, or one that the batch will report
            probe.done = True
            raise
        finally:
            probe.running.set()
            probe.running = None


_ENDED: dict[Ending, tuple[type[ProviderError], int | None, str]] = {
    Ending.EXPIRED: (ModelTimeoutError, 408, "{} did not answer this request before the batch expired"),
    Ending.CANCELED: (
        BadRequestError,
        409,
        "the batch was canceled before {} answered this request; run the same command again to ask it",
    ),
    Ending.CONTRADICTORY: (BadReplyError, None, "the batch contains several different answers of {} to this request"),
    Ending.MISSING: (BadReplyError, 502, "the batch's results contain no answer of {} to this request"),
}


def _error_of(answer: BatchAnswer, asked: Asked) -> ProviderError:
    """The typed error of an answer that is none, as the same would be live."""
    if answer.ending is None:
        return error_from_response(answer.status or 500, {}, answer.content, asked)
    kind, status, message = _ENDED[answer.ending]
    return kind(message.format(asked), status=status)
