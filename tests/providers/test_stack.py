"""Everything together, over real sockets."""

import asyncio
import socket

import pytest

from metajudge.errors import ConnectionFailedError, ModelTimeoutError, ProviderError
from metajudge.providers.model import Message, ModelRequest, OutputSchema, Parameters
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources, build_model
from metajudge.types import Reply
from tests.doubles.llm_server import FAULTS, LLMServer, RecordedRequest, random_faults

PROTOCOLS = ("openai", "anthropic")
KEY = "sk-test-0123456789abcdef"
SCHEMA = OutputSchema(
    "scores",
    {
        "type": "object",
        "properties": {"explanation": {"type": "string"}, "score": {"enum": [1, 2, 3, 4, 5]}},
        "required": ["explanation", "score"],
        "additionalProperties": False,
    },
)
QUICK = RetryPolicy(attempts=6, first_wait_s=0.001, longest_wait_s=0.02)


class Ledger(list):
    def record_call(self, call):
        self.append(call)

    async def flush(self):
        pass


def ask(i=0, **parameters):
    return ModelRequest("Be fair.", (Message("user", f"question {i}"),), SCHEMA, Parameters(**parameters))


def resources(**options):
    return Resources(**({"key_for": lambda _: KEY, "retry": QUICK, "seed": 0} | options))


def model_at(server, protocol, shared, **options):
    return build_model(parse_agent_spec(f"{protocol}:m@{server.url}"), resources=shared, **options)


async def ask_all(models, count, workers=32):
    """Outcomes of many calls, as replies or typed errors."""
    left, outcomes = list(range(count)), []

    async def worker():
        while left:
            i = left.pop()
            try:
                outcomes.append(await models[i % len(models)].complete(ask(i)))
            except ProviderError as error:
                outcomes.append(error)

    await asyncio.gather(*(worker() for _ in range(workers)))
    return outcomes


async def test_under_a_fault_mix_the_counts_equal_the_servers_own_and_every_call_ends():
    with LLMServer(faults=random_faults(0.3, seed=1), latency_s=0.002) as server:
        ledger = Ledger()
        async with resources(ledger=ledger) as shared:
            outcomes = await ask_all([model_at(server, p, shared) for p in PROTOCOLS], 300)
        assert len(outcomes) == 300
        assert len(server.injected) > 60
        assert server.count == shared.meter.sent == len(ledger) == sum(o.attempts for o in outcomes)
    kinds = [o.kind for o in outcomes if isinstance(o, ProviderError)]
    assert len(kinds) < 5
    assert shared.meter.replies == 300 - len(kinds)
    assert {call.attempt for call in ledger} >= {1, 2}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", [f for f in FAULTS if f != "slow"])
async def test_no_fault_makes_a_storm_leaks_the_key_or_escapes_untyped(protocol, fault):
    said = []
    ledger = Ledger()
    with LLMServer(faults=lambda _: fault) as server:
        async with resources(ledger=ledger) as shared:
            try:
                reply = await model_at(server, protocol, shared).complete(ask())
                said.append(repr(reply))
            except ProviderError as error:
                assert error.attempts == server.count
                said += [str(error), repr(error), str(error.__cause__)]
            said += [repr(shared), *shared.notices.lines, *map(repr, ledger)]
        assert 1 <= server.count <= 6
        assert server.count == shared.meter.sent == len(ledger)
        assert KEY in str(server.requests[0].headers)
    assert KEY not in " ".join(said)


async def test_agents_of_one_model_share_what_is_known_and_a_dead_url_costs_no_call():
    with LLMServer(faults=lambda _: "no_json_schema") as server:
        async with resources() as shared:
            for _ in range(3):
                await model_at(server, "openai", shared).complete(ask())
        assert server.count == 4
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening: nobody else can take the port
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        async with resources() as shared:
            model = build_model(parse_agent_spec(f"openai:m@{url}"), resources=shared)
            with pytest.raises(ConnectionFailedError, match="Is the server running") as dead:
                await model.complete(ask())
            with pytest.raises(ConnectionFailedError, match="not sent"):
                await model.complete(ask(1))
    assert (dead.value.attempts, shared.meter.sent) == (0, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_slow_answer_times_out_after_the_time_asked_for_and_is_counted(protocol):
    with LLMServer(faults=["slow"]) as server:
        async with resources(retry=RetryPolicy(attempts=1)) as shared:
            with pytest.raises(ModelTimeoutError, match=r"within 0\.2 s.*1 attempt"):
                await model_at(server, protocol, shared).complete(ask(timeout_s=0.2))
        assert server.count == shared.meter.sent == 1


async def test_an_answer_that_trickles_in_does_not_outlive_its_time():
    async def trickle(reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
            while True:
                await asyncio.sleep(0.02)
                writer.write(b" ")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(trickle, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with resources(retry=RetryPolicy(attempts=1)) as shared:
        model = build_model(parse_agent_spec(f"openai:m@{url}"), resources=shared)
        with pytest.raises(ModelTimeoutError):
            await model.complete(ask(timeout_s=0.2))
    server.close()
    await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_a_provider_that_keeps_limiting_is_asked_less_at_once_until_all_is_answered():
    class TokenBucket:
        """Allows 100 requests a second, as the server sees them."""

        def __init__(self):
            self.level, self.at = 10.0, None

        def __call__(self, _request: RecordedRequest):
            import time

            now = time.monotonic()
            self.level = min(10.0, self.level + (now - (self.at or now)) * 100)
            self.at = now
            if self.level < 1:
                return "429"
            self.level -= 1
            return None

    with LLMServer(faults=TokenBucket(), latency_s=0.05) as server:
        async with resources(retry=RetryPolicy(first_wait_s=0.05, longest_wait_s=1)) as shared:
            outcomes = await ask_all([model_at(server, "openai", shared)], 200, workers=64)
        assert all(isinstance(o, Reply) for o in outcomes)
        assert server.count < 3 * 200


async def test_closing_twice_is_harmless_and_a_key_over_plain_http_to_another_host_is_said():
    with LLMServer() as server:
        shared = resources()
        await model_at(server, "openai", shared).complete(ask())
        await model_at(server, "anthropic", shared).complete(ask())
        assert server.connections == 2
        await shared.aclose()
        await shared.aclose()
        for _ in range(500):  # the server hears of it a moment later
            if not server.connections:
                break
            await asyncio.sleep(0.01)
        assert (server.connections, server.count) == (0, 2)
    async with resources() as shared:
        build_model(parse_agent_spec("openai:m@http://gateway.example"), resources=shared)
        build_model(parse_agent_spec("openai:m@http://127.0.0.1:9"), resources=shared)
    assert len(shared.notices.lines) == 1
    assert "unencrypted" in shared.notices.lines[0]
