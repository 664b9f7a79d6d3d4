"""rejudge: the panel's own blind verdicts, in both orders, decide how far a judgment is borne out."""

import pytest

from metajudge.agents import Agent
from metajudge.errors import ConfigurationError, FailureKind, RateLimitedError, ServerError
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.stack import Resources, wrap_model
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Reply, Status
from tests.doubles.judging import prefers, shown_texts, verdict
from tests.doubles.judgments import judgment

BASELINE = load_rubric("baseline")


def says(given, swapped, name="mini"):
    """A model with fixed answers by the order in which it sees 4 and 5 (None: it fails)."""

    def script(request):
        answer = given if shown_texts(request) == ("4", "5") else swapped
        return ServerError("down", status=500) if answer is None else verdict(answer, "my reasons")

    return ScriptedModel(script, name=name)


def agent(model, name="mini", **options):
    return Agent(name=name, model=model, rubric=options.pop("rubric", BASELINE), **options)


def panel(*agents, threshold=3.0, **options):
    return Panel(tuple(agents), StrategyName.REJUDGE, threshold, **options)


async def vet(*models, record=None, weights=None, **options):
    weights = weights or [1.0] * len(models)
    agents = [agent(m, f"a{i}", weight=w) for i, (m, w) in enumerate(zip(models, weights, strict=True))]
    return await Vetter(panel(*agents, **options)).vet(record or judgment())


class TestBlindness:
    async def test_nothing_of_the_judgment_reaches_the_model(self):
        seen = []
        for record in (
            judgment("j", judge="owl", verdict="A>B", rationale="SECRET", instruction="SECRET", question="q"),
            judgment("j", judge="cat", verdict="B>>A", order=("B", "A"), label="B>A", category="SECRET", question="q"),
        ):
            model = says("A>B", "B>A")
            await vet(model, record=record)
            seen.append(sorted(request.messages[0].text for request in model.requests))
            assert not any("SECRET" in text for text in seen[-1])
        assert seen[0] == seen[1]

    async def test_the_items_reference_is_shown_as_it_is_to_meta_judges(self):
        record = judgment()
        item = record.item.model_copy(update={"reference": "It is 4."})
        model = prefers("4")
        await vet(model, record=record.model_copy(update={"item": item}))
        assert all("It is 4." in request.messages[0].text for request in model.requests)

    async def test_both_orders_of_a_judgment_and_its_swapped_twin_share_their_calls(self):
        inner = prefers("4", strength=">>")
        shared = agent(wrap_model(inner, resources=Resources(cache=Replies())))
        vetter = Vetter(panel(shared))
        question = {"question": "What is 2 + 2?"}
        twin = judgment("twin", verdict="B>A", **question)
        twin = twin.model_copy(update={"item": twin.item.model_copy(update={"responses": {"A": "5", "B": "4"}})})
        records = [judgment("ab", **question), judgment("ba", order=("B", "A"), **question), twin]
        found = [await vetter.vet(record) for record in records]
        assert [one.final_score for one in found] == [5.0, 5.0, 5.0]
        assert [one.calls for one in found] == [2, 0, 0]
        assert len(inner.requests) == 2


class Replies:
    """Replies as the store keeps them: by key, filled by hand from what the model answered."""

    def __init__(self):
        self.kept = {}

    async def find_reply(self, key):
        if key in self.kept:
            return self.kept[key]
        self.kept[key] = Reply(verdict("A>>B" if len(self.kept) == 0 else "B>>A"), "stop", "m", attempts=0, cached=True)
        return None


class TestMissingAnswers:
    async def test_one_order_alone_is_no_answer(self):
        result = await vet(says("A>>B", None))
        assert (result.status, result.final_score) == (Status.FAILED, None)
        assert result.agents[0].failure.kind is FailureKind.SERVER_ERROR
        assert result.agents[0].failure.message == "order_swapped: down"
        assert result.agents[0].calls == 2

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            ("prose", FailureKind.BAD_REPLY),
            (Reply("No.", "refusal", "m"), FailureKind.REFUSED),
            (Reply("{", "length", "m"), FailureKind.TRUNCATED),
            (RateLimitedError("slow down"), FailureKind.RATE_LIMITED),
        ],
    )
    async def test_failures_keep_their_kind(self, answer, kind):
        result = await vet(ScriptedModel(lambda _: answer))
        assert result.final_score is None
        assert result.failure.kind is result.agents[0].failure.kind is kind
        assert result.status is (Status.FAILED if kind is FailureKind.RATE_LIMITED else Status.UNSCORED)

    @pytest.mark.parametrize("given", [7.5, "pass", [["A"], ["B"], ["C"]]])
    async def test_a_grade_or_a_longer_ranking_fails_with_a_reason_and_asks_nobody(self, given):
        names = "A" if given in (7.5, "pass") else "ABC"
        item = {"id": "i", "question": "q", "responses": dict.fromkeys(names, "text")}
        model = says("A>B", "B>A")
        result = await vet(model, record=judgment(verdict=given, item=item, order=list(names)))
        assert (result.status, result.failure.kind) == (Status.FAILED, FailureKind.NO_EVIDENCE)
        assert "rejudge compares two responses" in result.failure.message
        assert model.requests == []

    async def test_two_of_three_responses_are_rejudged_alone(self):
        item = {"id": "i", "question": "q", "responses": {"A": "4", "B": "no", "C": "5"}}
        model = says("A>>B", "B>>A")
        result = await vet(model, record=judgment(verdict="A>C", item=item, order=["C", "A"]))
        assert result.final_score == 5.0
        assert {shown_texts(request) for request in model.requests} == {("4", "5"), ("5", "4")}


class TestPanel:
    def test_what_makes_another_panel_and_a_role_that_is_refused(self):
        model, binary = says("A>B", "B>A"), load_rubric("binary")
        one, other = panel(agent(model)), panel(agent(model, rubric=load_rubric("short")))
        assert (one.digest, one.rubric_digest) == (other.digest, None), "the rubric is no part of it"
        colder = agent(model, "b", rubric=binary, parameters=Parameters(temperature=0.0))
        built = panel(agent(model, rubric=binary), colder)
        assert [one.name for one in built.agents] == ["mini", "b"]
        assert built.digest != panel(agent(model, rubric=binary)).digest
        with pytest.raises(ConfigurationError, match="without a role, but mini has one"):
            panel(agent(model, role="critic"))
