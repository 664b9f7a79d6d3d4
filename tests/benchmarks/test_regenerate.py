import json
from pathlib import Path

import pytest
from metajudge.benchmarks import regenerate, results_page
from metajudge.benchmarks.regenerate import FIGURES, FigureScript, NotGivenError, Places

from metajudge.report.document import Table


@pytest.fixture
def places(tmp_path):
    return Places(None, None, tmp_path)


def result(name, figures):
    machine = {"cpus": 2, "architecture": "x86_64", "system": "Linux", "load_at_the_end": 0.1}
    versions = {"python": "3.11.7", "metajudge-vet": "0.1.0"}
    about = {"command": "python -m x", "exit_code": 0, "date": "2026-11-21", "seconds": 1.0}
    return {"name": name, **about, "machine": machine, "versions": versions, "figures": figures}


def test_every_figure_is_a_script_of_this_folder():
    folder = Path(regenerate.__file__).parent
    paths = {figure.name: folder / figure.script.replace(".", "/") for figure in FIGURES}
    known = {
        name for name, path in paths.items() if path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    }
    assert set(paths) == known
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


@pytest.mark.parametrize("argument", ["{data}/judgebench", "{postgres}"])
def test_what_is_not_given_is_said_and_nothing_is_made(argument, places, tmp_path):
    with pytest.raises(NotGivenError, match="give --"):
        regenerate.make(FigureScript("x", "voting", (argument,)), places, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_script_that_fails_leaves_the_earlier_figure(places, tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(RuntimeError, match="wrote nothing"):
        regenerate.make(FigureScript("x", "no_such_script"), Places(None, None, tmp_path / "scratch"), tmp_path)
    assert (tmp_path / "x.json").read_text() == "{}"


@pytest.mark.slow
def test_a_figure_holds_where_and_when_it_was_made(tmp_path):
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir(), out.mkdir()
    regenerate.make(FigureScript("fuzz", "fuzz_replies", ("--replies", "600")), Places(None, None, scratch), out)
    found = json.loads((out / "fuzz.json").read_text())
    assert found["figures"]["replies"] == 600
    assert found["command"] == "python -m metajudge.benchmarks.fuzz_replies --replies 600"
    assert {"date", "machine", "versions", "seconds"} <= set(found)
    assert "fuzz" in results_page.write_page(out).read_text()


def test_every_number_is_on_the_page():
    page = results_page.page_of([result("a", {"x": {"y": 1.23456}, "rows": [{"p": 1, "q": None}, {"p": 2, "r": "z"}]})])
    scalars, rows = page.sections[0].blocks
    assert scalars.rows == (("x.y", "1.235"),)
    assert isinstance(rows, Table)
    assert [column.title for column in rows.columns] == ["p", "q", "r"]


def test_no_place_of_this_machine_is_in_a_figure(tmp_path):
    (tmp_path / "scratch").mkdir()
    places = Places(tmp_path / "recorded", None, tmp_path / "scratch")
    told = regenerate.without_places(
        f'{{"in": "{tmp_path}/recorded/llmbar", "out": "{tmp_path}/scratch/a.json"}}', places
    )
    assert told == '{"in": "DATA/llmbar", "out": "SCRATCH/a.json"}'


def test_the_page_of_documentation_names_every_figure():
    page = (Path(regenerate.__file__).parent.parent / "docs" / "benchmarks.md").read_text("utf-8")
    assert [figure.name for figure in FIGURES if f"| `{figure.name}` |" not in page] == []
