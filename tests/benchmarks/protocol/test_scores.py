"""Entries: what can be wrong with one, and that all of it is said."""

import json

import jsonschema
import pytest
from metajudge.benchmarks.protocol.scores import MOST_SHOWN, check_entry
from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.errors import InputError

ASKED = frozenset({"a", "b", "c"})
KNOWN = frozenset({"a", "b", "c", "no-verdict"})


def line(judgment_id, **changes):
    return {"vetter": "v", "vetter_version": "1", "judgment_id": judgment_id, "probability": 0.5, **changes}


@pytest.fixture
def check(tmp_path):
    def checked(*lines):
        path = tmp_path / "scores.jsonl"
        path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
        return check_entry(path, ASKED, KNOWN)

    return checked


def test_a_whole_file_holds_and_lines_beside_it_are_counted(check):
    found = check(*map(line, "abc"), "", line("no-verdict"))
    assert found.problems == ()
    assert (found.entry.title, len(found.entry.scores), found.entry.beside) == ("v 1", 3, 1)


@pytest.mark.parametrize(
    ("faulty", "kind", "words"),
    [
        (line("c", probability=1.2), "out of range", "probabilities lie in"),
        (line("c", probability=-0.1), "out of range", "probabilities lie in"),
        (json.dumps(line("c", probability=float("nan"))), "not finite", "NaN is no number of JSON"),
        (json.dumps(line("c", probability=None, score=float("inf"))), "not finite", "Infinity is no number"),
        (line("c", probability=None, score="1e999"), "not finite", "finite number"),
        (line("c", score=3.0), "not in the format", "a probability or a score, not both"),
        (line("c", probability=None), "not in the format", "say why in reason"),
        (line("c", probability="high"), "not in the format", "valid number"),
        (line("c", more=1), "not in the format", "more: Extra inputs"),
        (line("c", vetter=" "), "not in the format", "vetter"),
        (line("c", vetter_version="2"), "other vetter", "one file has one vetter"),
        (line("b"), "duplicate", "b is scored in line 2, too"),
        (line("z"), "unknown", "there is no judgment z"),
        (line("c", probability=None, score=3.0), "mixed", "2 lines have a probability and 1 a score"),
        ("{", "not JSON", "not a line of JSON"),
        ("[" * 100_000, "not JSON", "nested too deeply"),
        ("[1]", "not in the format", "valid dictionary"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(check, faulty, kind, words):
    found = check(line("a"), line("b"), faulty)
    assert found.entry is None
    kinds = [one.kind for one in found.problems]
    assert kind in kinds
    problem = next(one for one in found.problems if one.kind == kind)
    assert words in problem.what
    assert problem.where in ("line 3", "the file")
    assert ("missing" in kinds) is (kind in ("duplicate", "unknown", "not JSON") or faulty == "[1]")


def test_missing_judgments_are_all_counted_and_named_up_to_a_number(tmp_path, check):
    found = check(line("a"))
    assert [one.where for one in found.problems] == ["b", "c"]
    asked = frozenset(f"j{number}" for number in range(50))
    (tmp_path / "empty.jsonl").write_text("")
    said = list(check_entry(tmp_path / "empty.jsonl", asked, asked).lines())
    assert said[0] == "Not scored: 50 missing."
    assert said[-1] == f"  and {50 - MOST_SHOWN} more"


def test_a_file_without_a_line_is_no_entry_even_where_nothing_is_asked(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert check_entry(tmp_path / "empty.jsonl", frozenset(), frozenset()).entry is None


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 text"):
        check_entry(tmp_path / "binary", ASKED, KNOWN)
    with pytest.raises(InputError, match="cannot be read"):
        check_entry(tmp_path / "none", ASKED, KNOWN)


def test_the_published_schema_takes_what_is_taken():
    printed = CliRunner().invoke(app, ["schema", "vetter_score"])
    schema = json.loads(printed.output)
    assert schema["title"] == "VetterScore"
    jsonschema.validate(line("a"), schema)
    jsonschema.validate(line("a", probability=None, reason="no evidence"), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(line("a", probability=2), schema)
