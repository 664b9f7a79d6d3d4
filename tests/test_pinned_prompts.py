"""Every task uses the prompt set that a panel names, else the newest one."""

import re

import pytest

from metajudge import Engine
from metajudge.cases.run import judge_case
from metajudge.clashes.run import clash_item
from metajudge.judging.run import grade_item, judge_item
from metajudge.panels.config import panel_config
from metajudge.peers.run import run_peers
from metajudge.prompts.versions import FIRST, NEWEST
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
DIGITS = {FIRST: 24, NEWEST: 16}


def panel(server, **more):
    agents = [{"name": f"a{n}", "model": f"openai:m{n}@{server.url}"} for n in range(3)]
    return panel_config({"agents": agents, **more})


def token_lengths(server):
    """Of the fences in everything that was sent; answers to a question of peers are asked for without any."""
    texts = (message["content"] for one in server.requests for message in one.body["messages"])
    return {len(token) for text in texts for token in TOKEN.findall(text)}


@pytest.mark.parametrize("pinned", [None, FIRST])
@pytest.mark.parametrize("task", TASKS)
async def test_each_task_asks_by_the_set_that_is_named(task, pinned):
    with LLMServer() as server:
        more = {} if pinned is None else {"prompt_version": pinned}
        async with Session(panel=panel(server, **more)) as session:
            await TASKS[task](session)
    assert token_lengths(server) == {DIGITS[pinned or NEWEST]}


async def test_an_engine_judges_by_the_newest_set_too():
    with LLMServer() as server:
        async with Engine(panel=panel(server)) as engine:
            assert engine.vetter.default.prompt_version == NEWEST
            await judge_item(engine, ITEM)
    assert token_lengths(server) == {DIGITS[NEWEST]}
