"""What surrounds the routes: health, limits, keys, errors, the document."""

import importlib

import pytest

from tests.api.conftest import app_module, panel_of, running
from tests.doubles.judgments import judgment

keys = importlib.import_module("metajudge.api.keys")
server = importlib.import_module("metajudge.api.server")
KEY = "mj_7Qm3vXr0pLwZt5Yh9Ke2Ds8Ua1"


class TestKeys:
    def test_a_made_key_is_no_placeholder(self, monkeypatch):
        drawn = iter(["GEw81yxxXxOUDfZa96", "a-Sample-of-chance-0", "fine-0123456789-abc"])
        monkeypatch.setattr(server.secrets, "token_urlsafe", lambda size: next(drawn))
        key, lines = server.new_key_lines("ci", [])
        assert server.checked_key(key, "0.0.0.0") == key == "mj_fine-0123456789-abc"
        assert keys.hashed(key) in lines


def test_documented_examples_are_accepted(serve):
    client = serve()
    examples = client.get("/openapi.json").json()["paths"]["/v1/vet"]["post"]["requestBody"]["content"][
        "application/json"
    ]["examples"]
    for example in examples.values():
        assert client.post("/v1/vet", json=example["value"]).status_code == 200


class TestDocumentToRead:
    def test_every_operation_is_on_it_and_nothing_comes_from_elsewhere(self, serve):
        client = serve(api_key=KEY)
        answer = client.get("/docs")
        assert answer.status_code == 200
        for path, methods in client.get("/openapi.json").json()["paths"].items():
            assert f"<code>{path}</code>" in answer.text
            assert all(f">{method.upper()}</span>" in answer.text for method in methods)
        assert "9.11" in answer.text, "there are examples"
        for foreign in ("http://", "https://", "<script", "src="):
            assert foreign not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]

    def test_what_stands_in_the_document_is_text(self):
        page = importlib.import_module("metajudge.api.pages.document").page
        schema = {
            "info": {"title": "<b>", "version": "1", "description": "<script>alert(1)</script>"},
            "paths": {"/<i>": {"get": {"summary": "<img>", "responses": {"200": {"description": "<u>"}}}}},
        }
        html = page(schema)
        assert not any(f"<{tag}>" in html for tag in ("b", "script", "i", "img", "u"))


@pytest.mark.slow
def test_the_day_s_dollars_are_kept_in_a_file_and_a_refusal_says_when_they_begin_anew(models, tmp_path):
    panels = {"one": panel_of(models(), "a")}
    options = app_module.ServiceOptions(panels=panels, store=tmp_path / "s.duckdb", budget_usd=0.008)
    with running(options) as client:
        records = [judgment(f"j{n}").model_dump(mode="json") for n in range(12)]
        answered = [client.post("/v1/vet", json=one) for one in records]
        spent = sum(one.json()["cost_usd"] for one in answered if one.status_code == 200)
        refused = [one for one in answered if one.status_code == 429]
        assert len({one.status_code for one in answered[:-1]}) == 2
        assert 0 < int(refused[0].headers["retry-after"]) <= 86_400
        assert refused[0].json()["detail"].startswith("the service's budget of the day is reached: $0.00")
        told = dict(line.split() for line in client.get("/metrics").text.splitlines() if "_budget_" in line[:20])
        assert float(told["metajudge_budget_usd"]) == 0.008
        assert float(told["metajudge_budget_spent_usd"]) == pytest.approx(spent)
        assert float(told["metajudge_budget_held_usd"]) == 0
        assert client.post("/v1/vet", json=records[0]).status_code == 200, "what is stored costs nothing"
    with running(options) as client:
        assert client.post("/v1/vet", json=records[-1]).status_code == 429
