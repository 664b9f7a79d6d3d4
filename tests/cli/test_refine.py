"""``metajudge rubric refine`` where no rubric can be made."""

import json

import pytest

from tests.doubles.llm_server import LLMServer


@pytest.mark.slow
def test_a_model_that_cannot_is_exit_code_1_with_the_kind_of_failure(metajudge):
    (metajudge.folder / "reviews.md").write_text("- right verdict\n- quotes the code\n")
    with LLMServer(answer=lambda _body: json.dumps({"title": "x"})) as server:
        done = metajudge("rubric", "refine", "reviews.md", "--model", f"openai:m@{server.url}", "--out", "r.yaml")
    assert done.returncode == 1
    assert "no rubric (bad_reply)" in done.stderr
    assert not (metajudge.folder / "r.yaml").exists()
