"""A panel's prompts come from one numbered set, and a newer set asks nothing again of those that stay."""

import json

import pytest

from metajudge import Engine
from metajudge.errors import ConfigurationError
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig, panel_config
from metajudge.prompts import judges, meta_judge
from metajudge.prompts.templates import prompts_digest, render, template_names
from metajudge.prompts.versions import FIRST, NEWEST, check_version
from metajudge.providers.stack import Resources
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.prompt_sets import NEXT, mark, next_set

ROLES = ("general_public", "critic", "summariser")


@pytest.fixture
def published(tmp_path):
    folder = tmp_path / "next"
    folder.mkdir()
    with next_set(folder):
        yield


def config(server, strategy=None, agents=1, **more):
    roles = {} if strategy == "rejudge" else {"role": None}
    given = [{"name": f"a{n}", "model": f"openai:m{n}@{server.url}", **roles} for n in range(agents)]
    return panel_config({"agents": given, "strategy": strategy, "rubric": "baseline", **more})


def discussing(server, **more):
    agents = [
        {"name": role, "model": f"openai:{role}@{server.url}", "role": role} for role in ("general_public", "critic")
    ]
    summariser = {"model": f"openai:sum@{server.url}", "role": "summariser"}
    given = {"strategy": "panel_discussion", "rubric": "baseline", "discussion": {"summariser": summariser}}
    return panel_config({"agents": agents, **given, **more})


async def vet(panel, store=None, records=None):
    async with Engine(panel=panel, store=store) as engine:
        return [await engine.vet(one) for one in records or [judgment()]]


def first_reply_is_of_no_use(request):
    return "malformed_content" if len(request.body["messages"]) == 2 else None


def texts(request):
    """The system prompt and every text of the user's, in order."""
    return [one["content"] for one in request.body["messages"] if one["role"] != "assistant"]


class TestSets:
    def test_a_set_holds_what_it_changes_and_takes_the_rest_from_the_one_before(self, tmp_path):
        with next_set(tmp_path, ["system", "repair"]):
            assert render("repair", NEXT, problems=["x"]).endswith(mark("repair"))
            assert render("role_critic", NEXT) == render("role_critic", NEWEST)
            assert template_names(NEXT) == template_names(NEWEST) == template_names(FIRST)
            assert prompts_digest(*meta_judge.VETTING, version=NEXT) != prompts_digest(
                *meta_judge.VETTING, version=NEWEST
            )
            assert prompts_digest("judgment", version=NEXT) == prompts_digest("judgment", version=NEWEST)

    def test_an_unknown_version_names_those_that_exist(self, published):
        with pytest.raises(ConfigurationError, match=rf"prompt_version {NEXT + 1}: .*choose one of 1, 2, 3, {NEXT}"):
            check_version(NEXT + 1)
        with pytest.raises(ConfigurationError, match=f"prompt_version {NEXT + 1}"):
            render("repair", NEXT + 1, problems=["x"])

    @pytest.mark.parametrize("strategy", ["single", "signals"])
    def test_a_panel_with_an_unknown_version_is_refused(self, strategy):
        agents = [{"model": "openai:m"}] if strategy == "single" else []
        panel = panel_config({"agents": agents, "strategy": strategy, "prompt_version": 7})
        with pytest.raises(ConfigurationError, match="prompt_version 7: unknown prompt set"):
            build_vetter(panel, Resources(key_for=lambda _spec: "k"), early_exit=False)

    @pytest.mark.parametrize("version", [0, -1, "new", 1.5])
    def test_a_version_is_a_positive_whole_number(self, version):
        with pytest.raises(ConfigurationError, match="prompt_version"):
            panel_config({"prompt_version": version})


class TestEveryPrompt:
    """Of a panel on the next set: each text sent is of that set."""

    async def test_of_agents_in_a_discussion_and_of_blind_judges_with_repairs(self, published):
        with LLMServer(score_answer(4), faults=first_reply_is_of_no_use) as server:
            await vet(discussing(server, prompt_version=NEXT))
        seen = [
            [name for name in template_names(NEXT) if mark(name) in text]
            for one in server.requests
            for text in texts(one)
        ]
        assert all(seen), "a text of an older set was sent"
        assert {name for found in seen for name in found} == {*meta_judge.VETTING, *(f"role_{r}" for r in ROLES)}
        assert sum("repair" in found for found in seen) == 5
        answer = json.dumps({"reasoning": "It adds correctly.", "verdict": "A>B"})
        with LLMServer(lambda _: answer, faults=first_reply_is_of_no_use) as server:
            await vet(config(server, "rejudge", threshold=3.0, prompt_version=NEXT))
        seen = [
            [name for name in template_names(NEXT) if mark(name) in text]
            for one in server.requests
            for text in texts(one)
        ]
        assert all(seen), "a text of an older set was sent"
        assert {name for found in seen for name in found} == set(judges.PAIRWISE)


class TestStoredRuns:
    async def test_a_new_set_asks_nothing_again_of_panels_that_stay(self, tmp_path):
        store, records = tmp_path / "s.duckdb", [judgment(f"j{n}") for n in range(3)]
        (tmp_path / "next").mkdir()
        with LLMServer(score_answer(4)) as server:
            pinned, moved = (config(server, agents=2, prompt_version=version) for version in (NEWEST, NEXT))
            before = await vet(pinned, store, records)
            assert server.count == 6
            with next_set(tmp_path / "next"):
                assert await vet(pinned, store, records) == before
                assert server.count == 6
                changed = await vet(moved, store, records)
                assert server.count == 12
                await vet(moved, store, records)
                await vet(pinned, store, records)
                assert server.count == 12
        assert {one.prompt_version for one in before} == {NEWEST}
        assert {one.prompt_version for one in changed} == {NEXT}
        assert {one.prompt_digest for one in before}.isdisjoint(one.prompt_digest for one in changed)

    async def test_a_set_that_leaves_a_panels_templates_asks_nothing_again(self, tmp_path):
        (tmp_path / "next").mkdir()
        with LLMServer(score_answer(4)) as server, next_set(tmp_path / "next", judges.PAIRWISE[:1]):
            await vet(config(server, prompt_version=NEWEST), tmp_path / "s.duckdb")
            await vet(config(server, prompt_version=NEXT), tmp_path / "s.duckdb")
            assert server.count == 1

    async def test_where_no_model_is_asked_there_is_no_set(self):
        (found,) = await vet(PanelConfig(strategy="signals"))
        assert found.prompt_version is None
