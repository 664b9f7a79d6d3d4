"""The files beside a command's text: checked before the work, written after it."""

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
    assert (tmp_path / "f.json").read_text() == "{}"
    assert "Title" in (tmp_path / "r.md").read_text()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"Written: {tmp_path / name}" for name in ("f.json", "r.md", "r.html")]


def test_nothing_is_made_that_nobody_asked_for(capsys):
    def never():
        raise AssertionError

    Outputs().write(never, never)
    assert capsys.readouterr().out == ""
