"""Files of cases: one object, a list, or one a line."""

import json

import pytest

from metajudge.cases.panel import CasePanel
from metajudge.cases.reading import read_cases
from metajudge.decision import case_rubric
from metajudge.errors import InputError
from tests.cases.panels import RISK
from tests.doubles.cases import flood

PANEL = CasePanel((), RISK, case_rubric(RISK))


def data(*args, **changes):
    return json.loads(flood(*args, **changes).model_dump_json())


def read(tmp_path, text, name="cases.jsonl", **options):
    path = tmp_path / name
    path.write_text(text)
    return read_cases([str(path)], PANEL, **options)


@pytest.mark.parametrize("form", ["lines", "list", "object"])
def test_every_form_is_read(tmp_path, form):
    ids = ["a"] if form == "object" else ["a", "b"]
    cases = [data(one) for one in ids]
    texts = {
        "lines": "".join(json.dumps(one) + "\n" for one in cases),
        "list": json.dumps(cases, indent=1),
        "object": "\ufeff" + json.dumps(cases[0], indent=1),
    }
    found = read(tmp_path, texts[form], name="cases.json" if form != "lines" else "cases.jsonl")
    assert [one.id for one in found.cases] == ids
    assert found.rejects == []


def test_what_cannot_be_judged_is_left_out_with_place_and_reason(tmp_path):
    lines = [data("a"), {"id": "x", "type": "climate"}, data("b", type="unheard of")]
    found = read(tmp_path, "".join(json.dumps(one) + "\n" for one in lines) + "no json\n")
    assert [one.id for one in found.cases] == ["a"]
    assert [one.line for one in found.rejects] == [2, 3, 4]
    assert "stages" in found.rejects[0].reason
    assert "unheard of" in found.rejects[1].reason


def test_the_same_case_twice_is_one_and_another_of_its_id_an_error(tmp_path):
    again = "".join(json.dumps(data("a")) + "\n" for _ in range(2))
    found = read(tmp_path, again)
    assert (len(found.cases), found.duplicates) == (1, 1)
    with pytest.raises(InputError, match=r"case 'a' has one content at .*:1 and another at .*:3"):
        read(tmp_path, again + json.dumps(data("a", type="regulatory")) + "\n")


def test_the_first_n(tmp_path):
    text = "".join(json.dumps(data(one)) + "\n" for one in "abc")
    assert [one.id for one in read(tmp_path, text, limit=2).cases] == ["a", "b"]


def test_no_file_no_case_and_broken_json_are_errors(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_cases([str(tmp_path / "none.jsonl")], PANEL)
    with pytest.raises(InputError, match="contains no case that can be judged: "):
        read(tmp_path, "[1]", name="cases.json")
    with pytest.raises(InputError, match="not one JSON document"):
        read(tmp_path, "{", name="cases.json")
