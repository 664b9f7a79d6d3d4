"""Files of items and of questions."""

import json
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.reading import parse_map, write_jsonl
from metajudge.reading.items import open_items
from metajudge.reading.questions import Question, as_questions, open_questions, read_questions
from tests.doubles.judging import item
from tests.doubles.judgments import judgment


def plain(one):
    return one.model_dump(mode="json", exclude_none=True)


def test_items_of_an_items_file(write):
    given = [item("a", label="A>B", models={"A": "gpt-x"}), item("b", reference="4", category="math")]
    source = open_items([str(write("x", *map(plain, given)))])
    assert list(source) == given
    assert list(source) == given, "it can be read again"
    assert (source.items, source.rejects) == (2, [])


def test_items_of_judgments_each_once(tmp_path):
    path = tmp_path / "judgments.jsonl"
    records = [judgment("j1", item_id="i", question="q"), judgment("j2", item_id="i", question="q", judge="cat")]
    write_jsonl(path, [*records, judgment("j3")])
    assert [one.id for one in open_items([str(path)])] == ["i", "item-j3"]


def test_the_same_item_in_two_inputs_is_given_once(write):
    one, two = (str(write(name, *map(plain, map(item, name)))) for name in ("a", "ab"))
    assert [found.id for found in open_items([one, one, two])] == ["a", "b"]


def test_one_id_with_two_contents_is_an_error_that_names_both_places(write):
    path = write("items.jsonl", plain(item("a")), plain(item("b")), plain(item("a", first="three")))
    with pytest.raises(
        InputError, match=r"item 'a' has one content at .*items\.jsonl:1 and another at .*items\.jsonl:3"
    ):
        list(open_items([str(path)]))


def test_of_an_item_of_judgments_the_content_of_most_is_taken(tmp_path):
    path, other = tmp_path / "judgments.jsonl", tmp_path / "other.jsonl"
    write_jsonl(path, [judgment(f"j{n}", item_id="i", question=asked) for n, asked in enumerate("abb")])
    source = open_items([str(path)])
    assert [one.question for one in source] == ["b"]
    assert [one.line for one in source.rejects] == [1]
    write_jsonl(other, [judgment("j9", item_id="i", question="c")])
    with pytest.raises(InputError, match="item 'i' has one content at"):
        list(open_items([str(path), str(other)]))


def test_bad_lines_and_items_of_another_size_are_rejected_and_the_rest_is_read(write):
    three = {**plain(item("c")), "responses": {"A": "1", "B": "2", "C": "3"}}
    rows = [plain(item("a")), "nonsense", {"id": "x", "question": "q", "responses": {}}, three, plain(item("b"))]
    path = str(write("items.jsonl", *rows))
    source = open_items([path], responses=2)
    assert [one.id for one in source] == ["a", "b"]
    assert [reject.line for reject in source.rejects] == [2, 3, 4]
    assert "item 'c' has 3 responses, 2 are needed" in source.rejects[2].reason
    assert len(list(open_items([path]))) == 3, "without a number of responses any will do"


def test_a_limit_counts_items(write):
    path = str(write("x", *map(plain, map(item, "abc"))))
    assert [one.id for one in open_items([path], limit=2)] == ["a", "b"]


@pytest.mark.parametrize("content", [["nonsense"], [{"id": "x", "text": "?"}], []])
def test_a_file_of_neither_items_nor_judgments_says_what_is_expected(write, content):
    with pytest.raises(InputError, match="or items: one object a line with id, question and responses"):
        open_items([str(write("x", *content))])


def test_a_missing_file_and_no_file(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nothing"):
        open_items([str(tmp_path / "nothing")])
    with pytest.raises(InputError, match="no input given"):
        open_items([])


@pytest.fixture
def csv(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda text: write("items.csv", text).name


def test_a_table_without_verdicts_is_items_by_the_names_of_its_columns(csv):
    name = csv("item_id,question,responses.A,responses.B,category\ni1,2+2?,4,5,math\ni2,,x,y,\n")
    source = open_items([name])
    found = list(source)
    assert [(one.id, one.question, one.responses, one.category) for one in found] == [
        ("i1", "2+2?", {"A": "4", "B": "5"}, "math"),
        ("i2", "", {"A": "x", "B": "y"}, None),
    ]
    assert source.formats == {name: "CSV, mapped"}


def test_a_table_of_other_names_is_items_by_a_mapping_and_bad_rows_are_rejects(csv):
    name = csv("qid,prompt,x,y\n7,2+2?,4,5\n8,only three cells,1\n")
    mapping = parse_map(["id=qid,question=prompt,responses.A=x,responses.B=y"])
    source = open_items([name], mapping=mapping)
    assert [one.id for one in source] == ["7"], "the row's id names the item"
    assert "the row has 3 cells" in source.rejects[0].reason


def test_a_kept_mapping_without_a_verdict_is_for_items(csv):
    from metajudge.reading.saved_maps import save_map

    name = csv("prompt,x,y\n2+2?,4,5\n")
    save_map(name, parse_map(["question=prompt,responses.A=x,responses.B=y"]))
    (one,) = open_items([name])
    assert one.responses == {"A": "4", "B": "5"}
    assert one.id.startswith("item-")


def test_parquet_and_nested_responses_are_items_too(tmp_path):
    import duckdb

    flat, nested = tmp_path / "flat.parquet", tmp_path / "nested.parquet"
    duckdb.execute(f"""COPY (SELECT '2+2?' AS question, '4' AS "responses.A", '5' AS "responses.B") TO '{flat}'""")
    duckdb.execute(f"""COPY (SELECT 'i' AS id, 'q' AS question, {{'A': '4', 'B': '5'}} AS responses) TO '{nested}'""")
    assert [one.question for one in open_items([str(flat), str(nested)])] == ["2+2?", "q"]
    listed = tmp_path / "items.json"
    listed.write_text(json.dumps([plain(item("a")), plain(item("b"))]))
    assert [one.id for one in open_items([str(listed)])] == ["a", "b"]


def test_a_table_that_needs_a_mapping_is_refused_with_one_for_items(csv):
    name = csv("prompt,output_1,output_2\n2+2?,4,5\n")
    with pytest.raises(InputError, match=r"--map responses\.A=output_1,responses\.B=output_2,question=prompt"):
        open_items([name])
    with pytest.raises(InputError, match=r"no column 'promt', mapped to question\. Did you mean question=prompt"):
        open_items([name], mapping=parse_map(["question=promt,responses.A=output_1,responses.B=output_2"]))


def test_a_table_with_verdicts_gives_its_items_as_ever(csv):
    name = csv("verdict,judge,question,responses.A,responses.B\nA,owl,2+2?,4,5\nB,crow,2+2?,4,5\n")
    assert [one.question for one in open_items([name])] == ["2+2?"]


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
