"""Items from items files and from judgments: each once, contradictions refused, the rest rejected with reasons."""

import json

import pytest

from metajudge.errors import InputError
from metajudge.readers import write_jsonl
from metajudge.readers.items import open_items
from tests.doubles.judging import item
from tests.doubles.judgments import judgment


@pytest.fixture
def write(tmp_path):
    def lines(*records, name="items.jsonl"):
        path = tmp_path / name
        texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
        path.write_text("".join(f"{text}\n" for text in texts))
        return str(path)

    return lines


def plain(one):
    return one.model_dump(mode="json", exclude_none=True)


def test_items_of_an_items_file(write):
    given = [item("a", label="A>B", models={"A": "gpt-x"}), item("b", reference="4", category="math")]
    source = open_items([write(*map(plain, given))])
    assert list(source) == given
    assert list(source) == given, "it can be read again"
    assert (source.items, source.rejects) == (2, [])


def test_items_of_judgments_each_once(tmp_path):
    path = tmp_path / "judgments.jsonl"
    records = [judgment("j1", item_id="i", question="q"), judgment("j2", item_id="i", question="q", judge="cat")]
    write_jsonl(path, [*records, judgment("j3")])
    assert [one.id for one in open_items([str(path)])] == ["i", "item-j3"]


def test_the_same_item_in_two_inputs_is_given_once(write):
    one = write(plain(item("a")))
    assert [found.id for found in open_items([one, one, write(plain(item("a")), plain(item("b")), name="2")])] == [
        "a",
        "b",
    ]


def test_one_id_with_two_contents_is_an_error_that_names_both_places(write):
    path = write(plain(item("a")), plain(item("b")), plain(item("a", first="three")))
    with pytest.raises(
        InputError, match=r"item 'a' has one content at .*items\.jsonl:1 and another at .*items\.jsonl:3"
    ):
        list(open_items([path]))


def test_one_id_with_two_contents_across_judgments_too(tmp_path):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, [judgment("j1", item_id="i", question="q"), judgment("j2", item_id="i", question="another")])
    with pytest.raises(InputError, match="item 'i' has one content at"):
        list(open_items([str(path)]))


def test_bad_lines_and_items_of_another_size_are_rejected_and_the_rest_is_read(write):
    three = {**plain(item("c")), "responses": {"A": "1", "B": "2", "C": "3"}}
    path = write(plain(item("a")), "nonsense", {"id": "x", "question": "q", "responses": {}}, three, plain(item("b")))
    source = open_items([path], responses=2)
    assert [one.id for one in source] == ["a", "b"]
    assert [reject.line for reject in source.rejects] == [2, 3, 4]
    assert "item 'c' has 3 responses, 2 are needed" in source.rejects[2].reason
    assert len(list(open_items([path]))) == 3, "without a number of responses any will do"


def test_a_limit_counts_items(write):
    path = write(*(plain(item(name)) for name in "abc"))
    assert [one.id for one in open_items([path], limit=2)] == ["a", "b"]


@pytest.mark.parametrize("content", [["nonsense"], [{"id": "x", "text": "?"}], []])
def test_a_file_of_neither_items_nor_judgments_says_what_is_expected(write, content):
    with pytest.raises(InputError, match="or items, one object a line with id, question and responses"):
        open_items([write(*content)])


def test_a_missing_file_and_no_file(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nothing"):
        open_items([str(tmp_path / "nothing")])
    with pytest.raises(InputError, match="no input given"):
        open_items([])
