import io
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metajudge.files.tables import csv_rows, csv_writer, escaped, is_own, unescaped, write_table

FORMULAS = [
    *('=WEBSERVICE("http://evil")', "+1", "-1", "- a point", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\tx", "\rx"),
    *(" =1", "'=1", '"=1"', "\ufeff=1", "\u200b-1", "\0=1", "\u3000=1", "' \" \ufeff=1", "\uff1d1", "''=1", "' '-"),
]
PLAIN = ["", "A>B", "1-2", "a=b", "'tis", "''", "\u2212 5", "x\r=1", '"quoted" text', "'"]
COLUMNS = ("item_id", "label", "annotator", "question_text", "'text=")


def there_and_back(*texts):
    stream = io.StringIO(newline="")
    csv_writer(stream, COLUMNS)(dict(zip(COLUMNS, texts, strict=False)))
    (_, header), (_, row) = csv_rows(io.StringIO(stream.getvalue(), newline=""))
    assert tuple(header) == COLUMNS
    return list(row.values())[: len(texts)]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_stands_behind_an_apostrophe(text):
    assert escaped(text) == f"'{text}"
    assert there_and_back(text, text) == [text, text]


@pytest.mark.parametrize("text", PLAIN)
def test_all_else_stays_as_it_is(text):
    assert escaped(text) == text == unescaped(text)


def test_numbers_of_ours_stay_numbers_and_data_is_json():
    assert [escaped(one) for one in (-1.5, -2, None, True, {"a": -1}, ["=1"])] == [
        *(-1.5, -2, None, True),
        *('{"a":-1}', '["=1"]'),
    ]
    assert there_and_back(-1.5, -2, None) == ["-1.5", "-2", ""]


@given(st.text(st.one_of(st.sampled_from("'\"=-+@ \t\r\n\0\ufeff,"), st.characters(exclude_categories=["Cs"]))))
@example("'" * 300 + "=")
def test_every_text_comes_back(text):
    assert unescaped(escaped(text)) == text
    assert there_and_back("x", text) == ["x", text]
    assert not re.match(r"[=+\-@\t\r]", str(escaped(text)))


def test_a_cell_of_more_than_the_modules_limit_comes_back():
    assert there_and_back("x" * 200_000) == ["x" * 200_000]


def test_both_endings_write_every_record(tmp_path):
    for name, text in (("r.csv", "event_id,subject_id,outcome,reviewers\r\n'=1,,,\r\n"), ("r.jsonl", '{"n":"=1"}\n')):
        columns = ("event_id", "subject_id", "outcome", "reviewers")
        count = write_table(["=1"], tmp_path / name, columns, lambda one: {"event_id": one}, lambda _: b'{"n":"=1"}')
        assert (count, (tmp_path / name).read_bytes().decode()) == (1, text)


def test_tables_of_others_are_not_ours():
    assert not is_own(("item_id", "label", "annotator"))
    assert is_own(COLUMNS)


def test_no_other_module_writes_csv():
    root = Path(__file__).parents[2]
    writers = {
        str(path.relative_to(root))
        for folder in ("metajudge", "api", "benchmarks")
        for path in (root / folder).rglob("*.py")
        if re.search(r"csv\.(writer|DictWriter)|to_csv\(|FORMAT csv", path.read_text("utf-8"))
    }
    assert writers == {"metajudge/files/tables.py"}
