"""Output files: checked before the work, replaced whole or not at all, and secrets kept."""

import csv
import io
import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metajudge.errors import InputError
from metajudge.files.output import check_apart, write_text
from metajudge.files.replacing import replacing, sync
from metajudge.files.secrets import HIDDEN, data_without_secrets, without_secrets
from metajudge.files.tables import csv_writer, escaped, is_own, unescaped, write_table


def test_the_file_is_replaced_at_the_end_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_missing_or_in_the_place_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "no" / "a.txt"):
        raise AssertionError("nothing to write to")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError), replacing(tmp_path / "folder") as part:
        part.write_text("new")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_two_writers_at_once_do_not_share_a_part(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first", "the one that ended last"


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o640)])
def test_who_may_read_it(tmp_path, private, mode):
    earlier = os.umask(0o027)
    try:
        with replacing(tmp_path / "a.txt", private=private) as part:
            part.write_text("new")
    finally:
        os.umask(earlier)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_durable_means_content_before_name_before_return(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(
        "metajudge.files.replacing.sync", lambda path: done.append((path.name, (tmp_path / "a").exists()))
    )
    with replacing(tmp_path / "a", durable=True) as part:
        part.write_text("new")
    assert [exists for _, exists in done] == [False, True]
    assert done[1][0] == tmp_path.name


def test_sync_takes_files_and_folders(tmp_path):
    (tmp_path / "a").touch()
    sync(tmp_path / "a")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "b")


# Output files: checked before the work, written in one step.
def test_a_file_that_is_read_is_never_written_over_by_any_of_its_names(tmp_path):
    (tmp_path / "in.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "in.jsonl")
    for name in ("in.jsonl", "link.jsonl", "./in.jsonl"):
        with pytest.raises(InputError, match="would be overwritten"):
            check_apart([tmp_path / "in.jsonl"], [None, tmp_path / name])
    with pytest.raises(InputError, match="two outputs"):
        check_apart([], [tmp_path / "out.json", tmp_path / "." / "out.json"])
    assert check_apart([tmp_path / "in.jsonl"], [tmp_path / "out.json", None]) is None


def test_a_writer_that_breaks_off_leaves_the_old_file(tmp_path):
    path = tmp_path / "scores.jsonl"
    path.write_text("old\n")

    def lines():
        yield "new\n"
        raise InputError("broken")

    with pytest.raises(InputError):
        write_text(path, lines())
    assert path.read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["scores.jsonl"]


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "a1B2" * 8,
        "sk-" + "a1B2c3D4",  # the text was cut within the key
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "ghp_" + "x" * 36,
        "Bearer abcdefgh12345678",
        "password: hunter2hunter2",
        'api_key="abcdef123456"',
        "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 8,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE and all that follows",
    ],
)
def test_a_secret_is_hidden_and_the_text_before_it_stays(secret):
    found = without_secrets(f"It says {secret}")
    assert found.startswith("It says ")
    assert HIDDEN in found
    assert secret[-8:] not in found


@pytest.mark.parametrize("text", ["What is a password?", "The secret of success: work", "task-based", "Bearer of news"])
def test_other_texts_stay_as_they_are(text):
    assert without_secrets(text) == text


def test_data_without_keys_is_the_same_object_and_keys_are_hidden_by_their_names_too():
    plain = {"tokens": 12, "note": ["fine", {"author": "anna"}], "password": None}
    assert data_without_secrets(plain) is plain
    given = {"headers": {"Authorization": "short"}, "x-api-key": "k", "list": ["sk-" + "a1B2" * 8], "max_tokens": 5}
    assert data_without_secrets(given) == {
        "headers": {"Authorization": HIDDEN},
        "x-api-key": HIDDEN,
        "list": [HIDDEN],
        "max_tokens": 5,
    }


FORMULAS = [
    *('=WEBSERVICE("http://evil")', "+1", "-1", "- a point", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\tx", "\rx"),
    *(" =1", "'=1", '"=1"', "\ufeff=1", "\u200b-1", "\0=1", "\u3000=1", "' \" \ufeff=1", "\uff1d1", "''=1", "' '-"),
]
PLAIN = ["", "A>B", "1-2", "a=b", "'tis", "''", "\u2212 5", "x\r=1", '"quoted" text', "'"]
COLUMNS = ("item_id", "label", "annotator", "question_text", "'text=")


def there_and_back(*texts):
    stream = io.StringIO(newline="")
    csv_writer(stream, COLUMNS)(dict(zip(COLUMNS, texts, strict=False)))
    header, row = (list(map(unescaped, cells)) for cells in csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert tuple(header) == COLUMNS
    return row[: len(texts)]


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


def test_both_endings_write_every_record(tmp_path):
    for name, text in (("r.csv", "event_id,subject_id,outcome,reviewers\r\n'=1,,,\r\n"), ("r.jsonl", '{"n":"=1"}\n')):
        columns = ("event_id", "subject_id", "outcome", "reviewers")
        count = write_table(["=1"], tmp_path / name, columns, lambda one: {"event_id": one}, lambda _: b'{"n":"=1"}')
        assert (count, (tmp_path / name).read_bytes().decode()) == (1, text)


def test_tables_of_others_are_not_ours_and_no_other_module_writes_csv():
    assert not is_own(("item_id", "label", "annotator"))
    assert is_own(COLUMNS)
    root = Path(__file__).parents[2]
    writers = {
        str(path.relative_to(root))
        for folder in ("metajudge", "api", "benchmarks")
        for path in (root / folder).rglob("*.py")
        if re.search(r"csv\.(writer|DictWriter)|to_csv\(|FORMAT csv", path.read_text("utf-8"))
    }
    made_as_others_do = "benchmarks/perf/table_files.py"
    assert writers == {"metajudge/files/tables.py", made_as_others_do}
