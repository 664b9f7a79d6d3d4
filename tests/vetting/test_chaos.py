"""One item may meet any status, page or hang: its failure is typed, and every other judgment is assessed, once."""

import json
import socket
from http.server import BaseHTTPRequestHandler

import pytest

from metajudge import Engine
from metajudge.panels.config import panel_config
from metajudge.types import Item, Judgment, Status
from tests.doubles.http_server import HttpServer, reply
from tests.doubles.llm_server import score_answer

BAD = "the flagged question"


class Chaotic(HttpServer):
    """Answers every request but those about one item as that model would; those by ``misbehave``."""

    def __init__(self, misbehave) -> None:
        super().__init__()
        self.misbehave = misbehave
        self.asked: list[str] = []

    def handle(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        data = json.loads(body)
        said = json.dumps(data["messages"])
        self.asked.append(said)
        if BAD in said:
            self.misbehave(request)
            return
        message = {"role": "assistant", "content": score_answer(5)(data)}
        usage = {"prompt_tokens": len(said) // 4, "completion_tokens": 100, "total_tokens": len(said) // 4 + 100}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        answer(request, 200, {"id": "1", "model": data["model"], "choices": choices, "usage": usage})


def answer(request, number, body):
    text = body if isinstance(body, str) else json.dumps(body)
    kind = "text/html" if text.startswith("<") else "application/json"
    reply(request, number, {"content-type": kind}, text.encode())


def status(number, body):
    return lambda request: answer(request, number, body)


def cut(request):
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True


ERROR = {"error": {"message": "no", "type": "error", "code": None}}
CHAOS = {
    **{
        f"{number}": status(number, ERROR)
        for number in (400, 401, 402, 403, 404, 405, 408, 409, 413, 418, 422, 429, 451)
    },
    **{f"{number}": status(number, ERROR) for number in (500, 501, 502, 503, 504, 520, 529, 599)},
    "403 page": status(403, "<html><body>Forbidden by the firewall</body></html>"),
    "502 page": status(502, "<!DOCTYPE html><title>Bad gateway</title>"),
    "moderation": status(403, {"error": {"message": "Your input was flagged", "metadata": {"reasons": ["x"]}}}),
    "half JSON": status(200, '{"choices": [{"message": {"content": "{'),
    "a page": status(200, "<html>login</html>"),
    "reset": cut,
}


def judgments(bad):
    items = [
        Item(id=f"q{n}", question=BAD if n == bad else f"Question {n}?", responses={"A": "x", "B": "y"})
        for n in range(12)
    ]
    return [Judgment(id=f"j{n}", item=item, judge="j", verdict="A>B", rationale="So.") for n, item in enumerate(items)]


@pytest.mark.parametrize("bad", [0, 5])
@pytest.mark.parametrize("name", CHAOS)
async def test_every_other_item_is_assessed_once(name, bad):
    with Chaotic(CHAOS[name]) as server:
        panel = panel_config({"agents": [{"model": f"openai:m@{server.url}"}], "retry": {"total_s": 0.2}})
        async with Engine(panel=panel, concurrency=4) as engine:
            by_id = {}
            await engine.vet_all(judgments(bad), on_result=lambda _, one, found: by_id.update({one.id: found}))
    failed = by_id.pop(f"j{bad}")
    assert failed.status in (Status.FAILED, Status.UNSCORED)  # unscored where the provider declined it
    assert failed.agents[0].failure.message
    assert {one.status for one in by_id.values()} == {Status.ASSESSED}
    others = [said for said in server.asked if BAD not in said]
    assert len(others) - len(set(others)) <= 3  # asked again in a plainer form, where the first ones were refused
    assert len(set(others)) == 11
