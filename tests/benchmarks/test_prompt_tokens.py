"""The table of prompt tokens."""

import json

import typer
from metajudge.benchmarks.prompt_tokens import counter, rows, run, sample_judgment
from typer.testing import CliRunner

from metajudge.prompts.meta_judge import render_request
from metajudge.rubric import BUILTIN_RUBRICS

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(run)


def characters():
    return {row.part: row for row in rows(len, sample_judgment())}


def test_every_rubric_is_counted_in_every_form():
    found = characters()
    for name in BUILTIN_RUBRICS:
        plain = found[f"system, {name}"]
        thinking = found[f"system, {name}, with analysis"]
        assert found[f"system, {name}, scores alone"].newest < plain.newest < thinking.newest
        assert thinking.first is None


def test_the_newest_set_is_shorter_in_each_part():
    assert [part for part, row in characters().items() if row.first is not None and row.newest > row.first] == []


def test_the_fences_and_frames_are_counted_without_the_texts_in_them():
    found, judgment = characters(), sample_judgment()
    longer = judgment.model_copy(update={"rationale": judgment.rationale + " It is long." * 50})
    assert {row.part: row for row in rows(len, longer)} == found
    fences, lines = found["fences of one judgment"], render_request(judgment).count("⟦")
    assert lines >= 10
    assert fences.first - fences.newest == 8 * lines


def test_it_prints_a_table_and_writes_json(tmp_path):
    done = CliRunner().invoke(app, ["--json", str(tmp_path / "out.json")])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"| tokens ({counter()[1]}) | set 1 | set 2 |\n")
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["unit"] == counter()[1]
    assert len(written["rows"]) == len(done.stdout.splitlines()) - 2
