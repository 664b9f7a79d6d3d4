"""Exports over HTTP: the archive, what of several contents and panels it takes, and what is refused."""

import io
import zipfile

import pytest

from tests.api.conftest import panel_of
from tests.api.nouns import changes, record
from tests.doubles.crowds import crowd
from tests.doubles.llm_server import score_answer


@pytest.mark.slow
def test_an_export_takes_the_last_of_several_contents_and_panels_under_one_id(serve, models, tmp_path):
    server = models(answer=score_answer(5))
    client = serve(panels={"a": panel_of(server, "a"), "b": panel_of(server, "b")}, store=tmp_path / "s.duckdb")
    for panel, rationale in [("a", "The first."), ("b", "The first."), ("a", "The second.")]:
        client.post("/v1/vet", json={"judgment": record(id="same", rationale=rationale), "panel": panel})
    answer = client.post("/v1/export/preferences", json={"selection": {"rule": "all"}, "format": "jsonl"})
    assert answer.status_code == 200
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    rows = [line for name in archive.namelist() if name.endswith(".jsonl") for line in archive.read(name).splitlines()]
    assert len(rows) == 1


class TestExport:
    @pytest.mark.slow
    def test_the_folder_as_a_zip_and_on_record(self, client):
        for one in crowd(6, seed=3):
            client.post("/v1/vet", json=one.model_dump(mode="json"))
        answer = client.post("/v1/export/preferences", json={"selection": {"rule": "all"}})
        assert answer.headers["content-type"] == "application/zip"
        names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
        assert any(name.endswith("README.md") for name in names)
        assert [one["action"] for one in changes(client, "preferences")] == ["export.preferences"]

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
