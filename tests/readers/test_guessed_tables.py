import pytest

from metajudge.readers.inspection import guess_table, guess_tables

HEAD = "item_id,question,response,judge,grade,timestamp,model_version\n"
ROWS = "".join(f"q{n},What is {n}?,{n}.,owl,{n % 5},2026-01-0{1 + n % 9},v1\n" for n in range(20))


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_usual_names_are_read_with_time_and_version_beside(table):
    mapping = guess_table(table("a.csv", HEAD + ROWS))
    assert mapping.columns["verdict"] == "grade"
    assert mapping.columns["meta.time"] == "timestamp"
    assert mapping.columns["meta.judge_version"] == "model_version"
    assert mapping.constants == {}


def test_one_judge_without_a_column_is_named_after_the_file(table):
    text = "".join(line.replace(",owl,", ",").replace(",judge,", ",") + "\n" for line in (HEAD + ROWS).splitlines())
    assert guess_table(table("gpt-4o.csv", text)).constants == {"judge": "gpt-4o"}


def test_a_guess_that_leaves_many_rows_unread_is_none(table):
    bad = "".join(f"x{n},,,,perhaps,,\n" for n in range(10))
    assert guess_table(table("a.csv", HEAD + ROWS + bad)) is None


def test_known_formats_and_unlike_tables_need_or_get_no_guess(table):
    other = table("b.csv", "qid,prompt,output_1,output_2,judge,winner\n1,x,y,z,owl,A\n")
    assert guess_tables([table("a.csv", HEAD + ROWS), other]) is None
    assert guess_tables(["-"]) is None
    assert guess_tables(["missing.csv"]) is None
