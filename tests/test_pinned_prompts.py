"""Every task uses the newest prompt set where a panel names none."""

import re

import pytest

from metajudge.cases.run import judge_case
from metajudge.clashes.run import clash_item
from metajudge.judging.run import grade_item, judge_item
from metajudge.panels.config import panel_config
from metajudge.peers.run import run_peers
from metajudge.session import Session
from tests.doubles.cases import flood
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer

ITEM = judgment().item
TASKS = {
    "judge": lambda session: judge_item(session, ITEM),
    "grade": lambda session: grade_item(session, ITEM),
    "clash": lambda session: clash_item(session, ITEM),
    "case": lambda session: judge_case(session, flood("c")),
    "peers": lambda session: run_peers(session, ["What is 2 + 2?"]),
}
TOKEN = re.compile(r"⟦BEGIN [a-z ]+ ([0-9a-f]+)⟧")
"""Its number has 24 digits in the first set."""


def panel(server):
    return panel_config({"agents": [{"name": f"a{n}", "model": f"openai:m{n}@{server.url}"} for n in range(3)]})


def token_lengths(server):
    """Of the fences in everything that was sent; answers to a question of peers are asked for without any."""
    texts = (message["content"] for one in server.requests for message in one.body["messages"])
    return {len(token) for text in texts for token in TOKEN.findall(text)}


@pytest.mark.parametrize("task", TASKS)
async def test_each_task_asks_by_the_newest_set(task):
    with LLMServer() as server:
        async with Session(panel=panel(server)) as session:
            await TASKS[task](session)
    assert token_lengths(server) == {16}
