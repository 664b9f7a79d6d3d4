"""What a clash reads: prompts, files of questions, items with responses."""

import json

import pytest

from metajudge.clashes.files import open_asked
from metajudge.errors import InputError

ITEM = {"id": "q1", "question": "Why?", "responses": {"a": "x", "b": "y"}, "category": "c", "label": "a>b"}


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(ITEM) + "\n" + json.dumps(ITEM | {"id": "q2"}) + "\nnonsense\n")
    return str(path)


def test_a_file_of_items_gives_questions_or_items_with_their_responses(items):
    asked, given = open_asked(items, given=False), open_asked(items, given=True)
    assert [(one.id, one.domain) for one in asked.items] == [("q1", "c"), ("q2", "c")]
    assert [(one.id, one.responses) for one in given.items] == [(name, ITEM["responses"]) for name in ("q1", "q2")]
    assert [one.line for one in asked.rejects] == [one.line for one in given.rejects] == [3]
    assert asked.from_file is given.from_file is True
    assert len(open_asked(items, given=True, limit=1).items) == 1


def test_given_responses_need_a_file_that_holds_some(tmp_path):
    with pytest.raises(InputError, match="takes the responses from a file of items"):
        open_asked("Why?", given=True)
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q", "question": "Why?"}\n')
    with pytest.raises(InputError):
        open_asked(str(path), given=True)
