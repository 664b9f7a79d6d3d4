"""Exports over HTTP: what is refused."""

import pytest


class TestExport:
    @pytest.mark.slow
    def test_nothing_to_export(self, serve, tmp_path):
        client = serve(store=tmp_path / "s.duckdb")
        assert client.post("/v1/export/preferences", json={}).status_code == 422
        assert client.get("/v1/changes").json() == []

    def test_what_is_no_export(self, client):
        for wrong in ({"format": "paper"}, {"split": [0.5]}, {"judgments": "/etc/passwd"}, {"out": "/tmp/x"}):
            assert client.post("/v1/export/preferences", json=wrong).status_code == 422


@pytest.mark.parametrize("field", ["shard_rows", "ngram", "max_length", "seed"])
def test_a_number_that_no_file_can_hold_is_refused(client, field):
    answer = client.post("/v1/export/preferences", json={field: 10**20})
    assert (answer.status_code, field in answer.json()["detail"]) == (422, True)
