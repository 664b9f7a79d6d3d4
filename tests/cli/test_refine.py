"""``metajudge rubric refine`` as a user runs it."""

import json

import pytest

from metajudge.rubric import load_rubric
from tests.doubles.llm_server import LLMServer
from tests.judging.test_rubric_refining import criterion, reply


@pytest.fixture
def notes(metajudge):
    (metajudge.folder / "reviews.md").write_text("- right verdict\n- quotes the code\n")
    return "reviews.md"


@pytest.mark.slow
def test_a_rubric_is_written_with_where_it_comes_from(metajudge, notes):
    answer = reply(criterion(notes=[1]), criterion("quotes", [2]))
    with LLMServer(answer=lambda _body: answer) as server:
        command = [
            "rubric",
            "refine",
            notes,
            "--model",
            f"openai:gpt-4o-mini@{server.url}",
            "--scenario",
            "code review",
        ]
        done = metajudge(*command, "--out", "reviews.yaml")
        again = metajudge(*command, "--out", "reviews.yaml")
        printed = metajudge(*command)
        assert server.count == 1  # the store keeps the reply
    assert done.returncode == 0, done.stderr
    path = metajudge.folder / "reviews.yaml"
    assert load_rubric(path).name == "reviews"
    text = path.read_text()
    assert text.startswith("# Refined from reviews.md (digest ")
    assert "# Scenario: code review" in text
    assert "2 criteria from 2 notes" in done.stderr
    assert again.returncode == 2
    assert "give --force" in again.stderr
    assert printed.stdout == text


@pytest.mark.slow
def test_a_model_that_cannot_is_exit_code_1_with_the_kind_of_failure(metajudge, notes):
    with LLMServer(answer=lambda _body: json.dumps({"title": "x"})) as server:
        done = metajudge("rubric", "refine", notes, "--model", f"openai:m@{server.url}", "--out", "r.yaml")
    assert done.returncode == 1
    assert "no rubric (bad_reply)" in done.stderr
    assert not (metajudge.folder / "r.yaml").exists()


def test_what_is_no_text_is_the_users_mistake(metajudge):
    (metajudge.folder / "r.docx").write_bytes(b"PK\x03\x04\xff\xfe")
    done = metajudge("rubric", "refine", "r.docx", "--model", "openai:m")
    assert done.returncode == 2
    assert "is not UTF-8 text" in done.stderr
