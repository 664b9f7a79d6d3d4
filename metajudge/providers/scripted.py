"""A model for tests: answers from a script, without any network."""

from collections.abc import Callable, Iterable, Iterator

from metajudge.errors import ConfigurationError
from metajudge.providers.model import Endpoint, ModelRequest
from metajudge.types import Reply, Usage

Answer = str | Reply | Exception
Script = Iterable[Answer] | Callable[[ModelRequest], Answer]


class ScriptedModel:
    """Answers requests from a script and remembers them.

    Args:
        replies: texts, :class:`~metajudge.types.Reply` objects or exceptions to raise, used up in order;
            or a function from the request to one of these.
        name: the model's id.
        endpoint: where it pretends to be.

    Attributes:
        requests: what was asked, in order.

    Example:
        >>> import asyncio
        >>> from metajudge.providers.model import Message, ModelRequest
        >>> model = ScriptedModel(["first", "second"])
        >>> request = ModelRequest("You are a judge.", (Message("user", "Hello"),))
        >>> asyncio.run(model.complete(request)).text
        'first'
    """

    def __init__(self, replies: Script, *, name: str = "scripted", endpoint: Endpoint | None = None) -> None:
        self._name = name
        self._endpoint = endpoint or Endpoint("scripted", "memory")
        self._script: Iterator[Answer] | Callable[[ModelRequest], Answer]
        self._script = replies if callable(replies) else iter(replies)
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    async def complete(self, request: ModelRequest) -> Reply:
        """Gives the next answer, or raises it where it is an exception.

        Raises:
            ConfigurationError: the script has no answer left.
        """
        self.requests.append(request)
        answer = self._script(request) if callable(self._script) else next(self._script, None)
        if answer is None:
            raise ConfigurationError(
                f"{self._name} was asked {len(self.requests)} times, but its script has only "
                f"{len(self.requests) - 1} answers: add answers, or give a function"
            )
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        size = len(request.system) + sum(len(m.text) for m in request.messages)
        usage = Usage(input_tokens=max(1, size // 4), output_tokens=max(1, len(answer) // 4))
        return Reply(answer, "stop", self._name, usage, cost_usd=0.0)
