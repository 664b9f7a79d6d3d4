"""The panels of a service, as tasks other than vetting ask them."""

import pytest

from metajudge.panels.config import panel_config
from tests.api.nouns import record

ITEM = {**record()["item"], "label": None}


def panel(server, **options):
    return panel_config({"agents": [{"name": "a", "model": f"openai:a@{server.url}"}], **options})


@pytest.mark.parametrize(("chosen", "seed"), [(None, 7), ("seeded", 7), ("other", 9), ("unseeded", None)])
def test_each_panel_is_asked_with_its_own_seed(serve, models, chosen, seed):
    server = models()
    panels = {"seeded": panel(server, seed=7), "other": panel(server, seed=9), "unseeded": panel(server)}
    answer = serve(panels=panels).post("/v1/judge", json={"item": ITEM, "panel": chosen, "orders": "given"})
    assert answer.status_code == 200
    assert [body.get("seed") for body in server.bodies] == [seed]


def test_weights_are_used_where_votes_are_weighed_and_named_where_not(serve, models):
    agents = [{"name": name, "model": f"openai:{name}@{models().url}", "weight": 2} for name in "abc"]
    client = serve(panels={"default": panel_config({"agents": agents})})
    notices = client.post("/v1/judge", json={"item": ITEM}).json()["notices"]
    assert [one.rpartition(":")[0] for one in notices] == [f"agent {name}: weight dropped" for name in "abc"]
    clash = client.post("/v1/clash", json={"item": ITEM}).json()
    assert not [one for one in clash["notices"] if "dropped" in one]
    assert {vote["weight"] for vote in clash["votes"]} == {2.0}
