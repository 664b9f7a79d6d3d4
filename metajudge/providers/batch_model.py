"""A model asked in batches: the same adapter, wrappers and bodies as live, over another transport."""

import asyncio
from collections.abc import Callable

from metajudge.errors import AuthError, NotFoundError, ProviderError
from metajudge.providers.batch_anthropic import AnthropicBatches
from metajudge.providers.batch_lane import answer_error, lane_of
from metajudge.providers.batch_openai import OpenAIBatches
from metajudge.providers.batch_protocol import BatchService
from metajudge.providers.batch_queue import BatchQueue, Lane
from metajudge.providers.client import EndpointClient, Post
from metajudge.providers.http_errors import Asked
from metajudge.providers.model import Model, ModelRequest, Parameters
from metajudge.providers.negotiation import RenegotiatedError
from metajudge.providers.wrapper import CallAttempt, ModelWrapper, unsent
from metajudge.types import Reply

Adapter = Callable[[Post], Model]
"""Makes a provider's adapter over what carries its requests."""


class _AskLive(Exception):  # noqa: N818 - control flow between two models
    """Too few requests for a batch: this one is to be asked live."""


class BatchProvider:
    """The provider below the wrappers: as the live one, but its requests travel in batches.

    Args:
        adapter: makes the live adapter over what carries its requests, so that bodies and readings are its own.
    """

    def __init__(self, name: str, client: EndpointClient, queue: BatchQueue, adapter: Adapter) -> None:
        self.name = name
        self.endpoint = client.endpoint
        self._client = client
        self._queue = queue
        self._adapter = adapter
        self._service = batch_service(client)

    def lane(self, request: ModelRequest) -> Lane:
        """Where a request waits for its batch."""
        return lane_of(self._queue, self._service, self._client.asked(self.name), request.parameters.headers)

    async def complete(self, request: ModelRequest) -> Reply:
        """Waits for the request's batch.

        Raises:
            ProviderError: typed, as live; an expired request is a time-out.
            BatchPendingError: the batch is left to its provider.
        """
        call = CallAttempt.of(self, request)
        lane = self.lane(call)

        async def post(_path: str, body: bytes, asked: Asked, _parameters: Parameters) -> bytes:
            answer = await lane.ask(call.key, call.fresh, body)
            if answer is None:
                raise _AskLive
            if answer.status == 200:
                return answer.content
            raise answer_error(answer, asked)

        return await self._adapter(post).complete(call)


class BatchedModel(ModelWrapper):
    """Sends requests into batches, but the first of each model live.

    The probe shows at once what would otherwise come back a day later from every request of a batch: a wrong key, an
    unknown model, a setting that the server does not know.

    Args:
        inner: asks in batches.
        live: asks at once.
        provider: knows which requests are in batches already.
    """

    def __init__(self, inner: Model, live: Model, provider: BatchProvider, queue: BatchQueue) -> None:
        super().__init__(inner)
        self._live = live
        self._provider = provider
        self._probe = queue.probe(inner.endpoint, inner.name)

    async def complete(self, request: ModelRequest) -> Reply:
        call = CallAttempt.of(self._inner, request)
        while not self._probe.done and not self._provider.lane(call).holds(call.key, call.fresh):
            if self._probe.running is None:
                return await self._probed(call)
            await self._probe.running.wait()
            if (failed := self._probe.failed) is not None:
                why = "not put into a batch, because the first request failed and this one would too"
                raise unsent(failed, f"{why}: {failed}")
        try:
            return await self._inner.complete(call)
        except _AskLive:
            return await self._live.complete(call)

    async def _probed(self, call: CallAttempt) -> Reply:
        probe = self._probe
        probe.running, probe.failed = asyncio.Event(), None
        try:
            reply = await self._live.complete(call)
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


def batch_service(client: EndpointClient) -> BatchService:
    """The batch API that goes with an endpoint's protocol."""
    return AnthropicBatches(client) if client.endpoint.protocol == "anthropic" else OpenAIBatches(client)
