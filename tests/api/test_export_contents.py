"""What of several contents and panels an export over HTTP takes."""

import io
import zipfile

from tests.api.conftest import panel_of
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import score_answer


def judgment_record(**changes):
    return judgment(**changes).model_dump(mode="json")


def test_an_export_takes_the_last_of_several_contents_and_panels_under_one_id(serve, models, tmp_path):
    server = models(answer=score_answer(5))
    client = serve(panels={"a": panel_of(server, "a"), "b": panel_of(server, "b")}, store=tmp_path / "s.duckdb")
    for panel, rationale in [("a", "The first."), ("b", "The first."), ("a", "The second.")]:
        client.post("/v1/vet", json={"judgment": judgment_record(id="same", rationale=rationale), "panel": panel})
    answer = client.post("/v1/export/preferences", json={"selection": {"rule": "all"}, "format": "jsonl"})
    assert answer.status_code == 200
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    rows = [line for name in archive.namelist() if name.endswith(".jsonl") for line in archive.read(name).splitlines()]
    assert len(rows) == 1
