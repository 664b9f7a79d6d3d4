import pytest
from metajudge.benchmarks.grid_run import Ledger

from metajudge.panels.config import AgentConfig, Discussion, PanelConfig
from metajudge.report.document import Absent
from metajudge.types import AgentResult, Assessment, Status

AGENTS = (AgentConfig(model="openai:a"), AgentConfig(model="openai:b"))
VOTE = PanelConfig(agents=AGENTS)
PANEL = PanelConfig(agents=AGENTS, strategy="panel_discussion", discussion=Discussion(summariser=AGENTS[0]))


def result(key, cost, *, stored=0, calls=1, **changes):
    return AgentResult(
        agent="a", model="a", weight=1.0, prompt_digest=key, calls=calls, cached_calls=stored, cost_usd=cost, **changes
    )


def assessment(*agents, summariser=None):
    return Assessment(
        judgment_id="j", item_id="i", judge="owl", status=Status.ASSESSED, strategy="single", threshold=4.5, panel_digest="p", judgment_digest="d", metajudge_version="0",
        agents=agents, summariser=summariser,
    )  # fmt: skip


def stored(key):
    return result(key, 0.0, stored=1, calls=0)


def test_a_reply_that_an_earlier_row_paid_costs_what_it_cost_there():
    ledger = Ledger()
    ledger.row(VOTE, [assessment(result("x", 0.5))], {})
    cost = ledger.row(VOTE, [assessment(stored("x"), result("y", 0.25))], {})
    assert (cost.cost_usd, cost.calls) == (0.75, 2)
    assert (cost.paid_usd, cost.paid_calls) == (0.25, 1)
    assert (cost.formula, cost.once_usd) == ("sum", 0.75)


def test_a_discussion_costs_its_openings_once_its_revisions_and_its_summary():
    opening = result("x", 1.0)
    revised = result("x2", 1.0 + 1.25, calls=2, opening=opening)
    cost = Ledger().row(PANEL, [assessment(revised, summariser=result("s", 0.5))], {})
    assert (cost.formula, cost.calls) == ("2 sum + summariser", 3)
    assert (cost.once_usd, cost.cost_usd, cost.paid_usd) == (1.0, 2.75, 2.75)


def test_replies_of_an_earlier_run_are_priced_from_the_store_else_the_cost_is_absent_and_not_too_low():
    row = [assessment(stored("x"), result("y", 0.25))]
    assert Ledger().row(VOTE, row, {"x": 0.5}).cost_usd == 0.75
    unknown = Ledger().row(VOTE, row, {})
    assert isinstance(unknown.cost_usd, Absent)
    assert unknown.paid_usd == 0.25


@pytest.mark.parametrize("row", [[assessment(result("x", None))], [assessment(result("x", 0.5), result("y", None))]])
def test_an_unknown_price_makes_the_sum_absent(row):
    cost = Ledger().row(VOTE, row, {})
    assert isinstance(cost.cost_usd, Absent)
    assert isinstance(cost.paid_usd, Absent)
