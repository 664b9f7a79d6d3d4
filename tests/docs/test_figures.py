"""Figures in blocks are those that their commands print now; those that no test makes again stand in the list."""

import dataclasses
import json
import re
import types

import pytest

import metajudge
from tests.docs import figures
from tests.docs.layouts import LAYOUTS

BLOCKS = figures.blocks()
FAST = [block for block in BLOCKS if not block.run and not block.by_hand]


@pytest.mark.parametrize("block", FAST, ids=lambda block: f"{block.page.name}-{block.name}")
def test_a_block_shows_what_its_command_prints(block):
    if block.data_missing:
        pytest.skip("METAJUDGE_DATA names no folder of recorded data")
    text, _ = figures.laid_out(block)
    assert figures.difference(block, text) == "", "run: python -m tests.docs.figures"


def test_a_block_written_by_hand_has_a_date_and_every_layout_has_a_block():
    dated = re.compile(r"^recorded \S+$|^.*\n\d{4}-\d\d-\d\d$")
    assert [block for block in BLOCKS if block.by_hand and not dated.match(f"{block.made}\n{block.run}".strip())] == []
    assert set(LAYOUTS) - {block.name for block in BLOCKS} == set()
    made = {}
    for block in BLOCKS:
        assert made.setdefault(block.name, block.made) == block.made, f"two blocks {block.name!r}"


def test_every_start_of_a_block_has_an_end():
    for page in figures.PAGES:
        text = page.read_text("utf-8")
        assert len(figures.BLOCK.findall(text)) == text.count("<!-- figures ") == text.count("<!-- end figures"), page


def test_a_recorded_file_is_shown_or_referred_to_by_a_page():
    rows = list(figures.listed())
    assert [row for row in rows if not row["date"]] == []
    referred = {row["command"] for row in rows}
    recorded = {path.stem: json.loads(path.read_text("utf-8"))["command"] for path in figures.RESULTS.glob("*.json")}
    assert {name for name, command in recorded.items() if command not in referred} == set()


def test_a_figure_that_differs_is_found_written_and_found_no_more(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "Before.\n<!-- figures demo:\nmetajudge demo -->\n\n```\n40 of 41 right\n```\n\n<!-- end figures -->\nAfter.\n"
    )
    monkeypatch.setattr(figures, "PAGES", [page])
    monkeypatch.setattr("sys.argv", ["figures", "--check"])
    assert figures.main() == 1
    assert "+  kept          36 of 40 right  90.0 %" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["figures"])
    assert figures.main() == 0
    assert page.read_text().startswith("Before.\n<!-- figures demo:\nmetajudge demo -->\n\n```\n96 recorded")
    assert page.read_text().endswith("```\n\n<!-- end figures -->\nAfter.\n")
    monkeypatch.setattr("sys.argv", ["figures", "--check"])
    assert figures.main() == 0
    figures.write(figures.blocks()[0], "\n40 of 41\n\n", "2026-11-26, 95 s of CPU")
    assert figures.main() == 0, "a slow block is made only by its name"
    (listed,) = figures.listed()
    assert (listed["command"], listed["date"], listed["seconds"]) == ("metajudge demo", "2026-11-26", "95")
    monkeypatch.setattr("sys.argv", ["figures", "--check", "demo"])
    assert figures.main() == 1


def test_a_command_that_fails_writes_nothing():
    block = dataclasses.replace(FAST[0], name="kept", made="metajudge bench file nowhere.jsonl --json")
    with pytest.raises(RuntimeError, match=r"bench file nowhere.jsonl --json: exit code 1: .*No such file"):
        figures.laid_out(block)


def test_the_pages_name_the_tasks_that_are_functions_and_no_others():
    tasks = {
        name
        for name in metajudge.__all__
        if isinstance(getattr(metajudge, name), types.FunctionType)
        and not name.startswith(("from_", "to_", "load_", "open_", "count"))
    }
    readme = (figures.ROOT / "README.md").read_text("utf-8")
    (sentence,) = re.findall(r"^Seven tasks are also one function each in Python: ([^(]+)\(", readme, re.M)
    assert set(re.findall(r"`(\w+)`", sentence)) == tasks
    page = (figures.ROOT / "docs" / "python.md").read_text("utf-8")
    assert set(re.findall(r"^\| \[`(\w+)`\]\(python-", page, re.M)) == tasks
    assert len(tasks) == 7, "README.md, docs/index.md and docs/python.md say seven"
