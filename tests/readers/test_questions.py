"""Questions for models: files of them, items, prompts, plain data."""

from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers.questions import Question, as_questions, open_questions, read_questions


def test_every_field_of_a_question_is_read(write):
    given = {"id": "q1", "question": "What is 2 + 2?", "domain": "math", "reference": "4"}
    assert read_questions(write("q.jsonl", given)).items == (Question(**given),)


def test_items_are_questions_with_their_category_as_domain(write):
    item = {"id": "i", "question": "?", "responses": {"A": "1"}, "category": "Math", "label": "A>B"}
    item["models"] = {"A": "x"}
    path = write("q.jsonl", item, item, {"id": "j", "question": "!"})
    found = read_questions(path)
    assert [(one.id, one.domain) for one in found.items] == [("i", "Math"), ("j", None)]
    assert (found.rejects, found.from_file) == ((), True)
    assert len(read_questions(path, 1).items) == 1


def test_bad_lines_are_returned_with_their_numbers(write):
    path = write(
        "q.jsonl", {"id": "a", "question": "?"}, {"id": "b"}, {"id": 3, "question": "?"}, {"id": "c", "text": "?"}
    )
    found = read_questions(path)
    assert [one.id for one in found.items] == ["a"]
    assert [one.line for one in found.rejects] == [2, 3, 4]


def test_a_prompt_is_a_question_with_an_id_of_its_own_text(tmp_path):
    (one,) = open_questions("Why is the sky blue?").items
    (same,) = open_questions("Why is the sky blue?").items
    (other,) = open_questions("Why?").items
    assert one == same != other
    assert one.id.startswith("prompt-")
    assert not open_questions("Why?").from_file
    (tmp_path / "p.md").write_text("Why is the sky blue?")
    assert read_questions(tmp_path / "p.md").items == (one,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no question: it is empty"),
        ('{"id": "a"}\n', "contains no question: .*question"),
        (
            '{"id": "a", "question": "x"}\n{"id": "a", "question": "y"}\n',
            "q.jsonl:2: the id 'a' is used for two questions",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path, text, message):
    (tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read_questions(tmp_path / "q.jsonl")


def test_a_file_that_is_not_there_is_not_taken_for_a_prompt():
    for name in ("missing.jsonl", "missing.txt"):
        with pytest.raises(InputError, match="no such file"):
            open_questions(name)
    with pytest.raises(InputError, match="no such file"):
        read_questions(Path("missing"))


def test_plain_data_and_texts():
    found = as_questions(["Why?", {"id": "q", "question": "How?", "category": "x"}, Question(id="r", question="!")])
    assert [(one.id, one.domain) for one in found[1:]] == [("q", "x"), ("r", None)]
    for given, message in (
        ([" "], "question 1 is empty"),
        (["Why?", {"id": "q"}], "question 2: "),
        ([{"id": "q", "question": "a"}, {"id": "q", "question": "b"}], "is used for two questions"),
    ):
        with pytest.raises(InputError, match=message):
            as_questions(given)
