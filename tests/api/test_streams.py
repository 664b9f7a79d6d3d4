"""Streams of one vet."""

import importlib

import pytest

from tests.doubles.judgments import judgment


@pytest.mark.parametrize(
    ("body", "status"), [({"judgment": {}}, 422), ({"judgment": None, "panel": "x"}, 422), ({"panel": "x"}, 422)]
)
def test_what_cannot_be_vetted_is_refused_before_the_stream(serve, body, status):
    answer = serve().post("/v1/vet/stream", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_policy_that_goes_while_it_is_waited_for_ends_the_stream_with_a_problem(serve, monkeypatch):
    async def known_by_now(self, choice):
        pass

    monkeypatch.setattr(importlib.import_module("metajudge.api.panels").Panels, "check", known_by_now)
    answer = serve().post("/v1/vet/stream", json={"judgment": judgment().model_dump(mode="json"), "policy": "nothing"})
    assert "event: error" in answer.text
    assert '"status":422' in answer.text.replace(" ", "")
