"""The files beside a command's text: checked before the work, written after it."""

import json

import pytest

from metajudge.cli.outputs import Outputs
from metajudge.errors import InputError
from metajudge.report import Report


def page():
    return Report(title="Title", summary=("Line.",), sections=())


def test_what_cannot_be_written_is_refused_beforehand(tmp_path):
    for outputs, others in [
        (Outputs(tmp_path / "no" / "f.json"), ()),
        (Outputs(report=[tmp_path / "r.pdf"]), ()),
        (Outputs(), (tmp_path / "no" / "s.jsonl",)),
    ]:
        with pytest.raises(InputError):
            outputs.check(*others)
    Outputs(tmp_path / "f.json", [tmp_path / "r.md"]).check(None, tmp_path / "s.jsonl")


def test_every_file_is_written_and_named(tmp_path, capsys):
    outputs = Outputs(tmp_path / "f.json", [tmp_path / "r.md", tmp_path / "r.html"])
    outputs.write(lambda: "{}", page)
    assert json.loads((tmp_path / "f.json").read_text()) == {"version": 1}, "every document says its version"
    assert "Title" in (tmp_path / "r.md").read_text()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"Written: {tmp_path / name}" for name in ("f.json", "r.md", "r.html")]


def test_nothing_is_made_that_nobody_asked_for(capsys):
    def never():
        raise AssertionError

    Outputs().write(never, never)
    assert capsys.readouterr().out == ""


def test_json_is_all_that_is_printed_and_the_rest_goes_to_standard_error(tmp_path, capsys):
    outputs = Outputs(tmp_path / "f.json", as_json=True)
    outputs.tell("said")
    outputs.write(lambda: '{"n": 2}', page)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"version": 1, "n": 2} == json.loads((tmp_path / "f.json").read_text())
    assert shown.err.splitlines() == ["said", f"Written: {tmp_path / 'f.json'}"]
