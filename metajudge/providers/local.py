"""Models in GGUF files on this machine: ``local:PATH``, through llama.cpp's server and our OpenAI provider."""

from collections.abc import Callable
from importlib.util import find_spec

from metajudge.errors import ConfigurationError
from metajudge.installation import install_command
from metajudge.providers.client import EndpointClient
from metajudge.providers.http_errors import Asked
from metajudge.providers.http_model import HttpModel
from metajudge.providers.local_files import DEMO_MARK, find_model_file, is_demo, model_id
from metajudge.providers.local_server import LocalServer, LocalServers
from metajudge.providers.model import Endpoint, Model, Parameters
from metajudge.providers.negotiation import Negotiation
from metajudge.providers.notices import Notices
from metajudge.providers.openai_chat import PROTOCOL
from metajudge.providers.spec import AgentSpec


class LocalTransport:
    """Carries requests to a local model's server, which the first one starts.

    The endpoint it names is the same in every run, whatever port the server gets: results and stored replies belong
    to the file, which is part of the model's name.
    """

    def __init__(self, endpoint: Endpoint, server: LocalServer) -> None:
        self.endpoint = endpoint
        self._server = server

    def asked(self, model: str) -> Asked:
        """Who is asked, for error messages."""
        return Asked(model, "this machine", "", "")

    async def post(self, path: str, body: bytes, asked: Asked, parameters: Parameters) -> bytes:
        """Sends one request and returns the body of a successful answer.

        Raises:
            ProviderError: typed, as for :meth:`metajudge.providers.client.EndpointClient.post`.
            ConfigurationError: the server cannot be started.
        """
        async with self._server.one_at_a_time:
            client: EndpointClient = await self._server.client()
            return await client.post(path, body, asked, parameters)


def build_local_model(
    spec: AgentSpec,
    servers: LocalServers,
    notices: Notices,
    negotiation: Callable[[str], Negotiation],
) -> Model:
    """The model in a file; nothing is started before it is asked.

    Args:
        negotiation: finds what is known about the model of this name.

    Raises:
        ConfigurationError: no such file, not a GGUF file, or the package that serves it is missing.
    """
    path = find_model_file(spec.model)
    if find_spec("xllamacpp") is None:
        raise ConfigurationError(
            f"{spec.provider}:{spec.model} needs the package xllamacpp: {install_command('local')}"
        )
    name = model_id(path)
    if is_demo(path):
        notices.say(f"{path.name} is a {DEMO_MARK}: it shows that everything works, and its scores carry no signal")
    transport = LocalTransport(spec.endpoint, servers.of(path, name))
    return HttpModel(name, transport, negotiation(name), PROTOCOL)
