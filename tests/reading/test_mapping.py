"""Mappings of columns: given, kept, of scales, and of verdicts in several columns."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.reading import FieldMap, Reject, open_judgments, parse_map
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.inspection import inspect_input
from metajudge.reading.mapping import check_columns, check_fields
from metajudge.reading.saved_maps import FILE_NAME, save_map, saved_map
from metajudge.reading.scales import on_scale, parse_scale, scale_text
from metajudge.types import Category, Grade
from metajudge.types.judgment import Scale
from tests.reading.conftest import Table

QUOTED = FieldMap(
    columns={"verdict": 'a "quoted" column\\', "responses.A": "x", "question": "ünï\n"},
    constants={"judge": "me"},
    values={"C": "tie", "0.5": "A=B"},
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("maps", "values", "found"),
    [
        *(
            (
                maps,
                [],
                FieldMap(columns={"verdict": "w", "responses.A": "x", "responses.B": "y"}, constants={"judge": "me"}),
            )
            for maps in (
                ["verdict=w,responses.A=x,responses.B=y,judge:=me"],
                ["verdict=w", "responses.A=x,responses.B=y", "judge:=me"],
            )
        ),
        # Columns may contain commas, equals signs and spaces; verdicts equals signs.
        (
            ["verdict=who won, really,question=a=b , rationale=why so?"],
            [],
            FieldMap(columns={"verdict": "who won, really", "question": "a=b", "rationale": "why so?"}),
        ),
        ([], ["C=tie,0.5=A=B", "1=A>>B"], FieldMap(values={"C": "tie", "0.5": "A=B", "1": "A>>B"})),
    ],
)
def test_a_mapping_is_read_and_its_flags_read_back(maps: list[str], values: list[str], found: FieldMap) -> None:
    assert parse_map(maps, values) == found
    flags = dict(zip(*[iter(shlex.split(found.to_flags()))] * 2, strict=True))
    assert parse_map([flags.get("--map", "")][: "--map" in flags], [flags.get("--map-values", "")]) == found


@pytest.mark.parametrize(
    ("maps", "values", "message"),
    [
        (["verdit=winner"], [], r"'verdit=winner' is not FIELD=COLUMN .* Did you mean verdict\?"),
        (["winner"], [], "is not FIELD=COLUMN"),
        (["verdict="], [], "is not FIELD=COLUMN"),
        (["responses=x"], [], r"Did you mean responses\.A\?"),
        (["verdict=a,verdict=b"], [], "gives verdict twice"),
        ([], ["tie"], "'tie' is not VALUE=MEANING"),
        ([], ["C=tie,C=A"], "gives 'C' two meanings: tie and A"),
    ],
)
def test_a_mistyped_mapping_says_what_is_wrong(maps: list[str], values: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_map(maps, values)


@pytest.mark.parametrize(
    ("mapping", "columns", "message"),
    [
        (
            "verdict=winer",
            ["id", "winner"],
            r"^x.csv has no column 'winer', mapped to verdict. Did you mean verdict=winner\? Its columns: id, winner.$",
        ),
        ("judge=zzz", [], r"has no column 'zzz', mapped to judge\. Its columns: none\."),
        ("responses.A=a,models.B=b", ["a", "b"], r"models\.B is mapped, but responses\.B is not"),
        ("verdict=w", ["w"], r"no column is mapped to question, judge, responses\.A; judge:=NAME gives"),
    ],
)
def test_a_column_that_is_missing_is_named_with_what_there_is(mapping: str, columns: list[str], message: str) -> None:
    check = check_fields if message.startswith("no column is") else check_columns
    with pytest.raises(InputError, match=message):
        check(parse_map([mapping]), columns, "x.csv")


def test_a_mapping_is_kept_and_found_by_any_spelling_of_the_path(tmp_path: Path, monkeypatch: Any) -> None:
    assert saved_map("votes.csv") is None
    save_map("votes.csv", FieldMap())
    save_map("runs/../votes.csv", QUOTED)
    save_map("b.csv", FieldMap(constants={"judge": "b"}))
    assert saved_map("votes.csv") == saved_map(tmp_path / "votes.csv") == saved_map("./votes.csv") == QUOTED
    assert saved_map("b.csv") == FieldMap(constants={"judge": "b"})
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE_NAME]
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert saved_map("../votes.csv") == QUOTED


def test_a_pattern_or_a_folder_stands_for_many_files_and_an_exact_name_goes_first(tmp_path: Path) -> None:
    a, p, below = (FieldMap(constants={"judge": name}) for name in ("a", "p", "below"))
    for name, mapping in (("runs/*.csv", p), ("runs/a.csv", a), ("more", below)):
        save_map(name, mapping)
    assert [saved_map(f"runs/{name}.csv") for name in ("a", "b")] == [a, p]
    assert saved_map(tmp_path / "more" / "of" / "votes.csv") == saved_map("more/votes.csv") == below
    assert saved_map("other/b.csv") is saved_map("more-of-others.csv") is None
    save_map(".", QUOTED)
    assert saved_map("other.csv") == QUOTED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[inputs", "cannot be read as TOML"),
        ("[input.a]\n", "input: extra inputs are not permitted"),
        ('[inputs."a".columns]\nverdict = 3\n', "inputs.a.columns.verdict: input should be a valid string"),
    ],
)
def test_a_damaged_file_is_named_with_the_place(text: str, message: str) -> None:
    Path(FILE_NAME).write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        saved_map("a")


def test_a_kept_mapping_reads_the_file_and_one_given_goes_first() -> None:
    columns = "question=p,responses.A=x,responses.B=y,verdict=w"
    Path("v.csv").write_text("p,x,y,w\n?,a,b,C\n")
    save_map("v.csv", parse_map([f"{columns},judge:=me"], ["C=tie"]))
    # Meanings given alone take precedence over those that are kept.
    given = None, parse_map([], ["C=B"]), parse_map([f"{columns},judge:=you"], ["C=A"])
    found = [one for mapping in given for one in open_judgments(["v.csv"], mapping=mapping)]
    assert [(str(one.verdict), one.judge) for one in found] == [("A=B", "me"), ("B>A", "me"), ("A>B", "you")]


HEAD = [
    "id",
    "model_a",
    "model_b",
    "prompt",
    "response_a",
    "response_b",
    "winner_model_a",
    "winner_model_b",
    "winner_tie",
]
TEXTS = "question=prompt,responses.A=response_a,responses.B=response_b,judge:=people"
ONE_HOT = f"{TEXTS},verdict=onehot:winner_model_a,winner_model_b,winner_tie"
SIDES = ["1,0,0", "0,1,0", "0,0,1"]


def written(table: Table, *winners: str) -> str:
    rows = ([n, "gpt", "llama", "2+2?", 4, 5, *winner.split(",")] for n, winner in enumerate(winners))
    return str(table(HEAD, *rows, name="train.csv"))


@pytest.mark.parametrize(
    ("winners", "mapping", "expected"),
    [
        (SIDES, ONE_HOT, ["A>B", "B>A", "A=B"]),
        (SIDES, f"{TEXTS},verdict=onehot:winner_model_b,winner_model_a,winner_tie", ["B>A", "A>B", "A=B"]),
        (SIDES, f"{TEXTS},verdict=onehot:winner_model_a,winner_model_b", ["A>B", "B>A", "none of the columns is 1"]),
        (["1,0,0", "0,0,0", "1,1,0"], ONE_HOT, ["A>B", "none of the columns is 1", "2 of the columns are 1"]),
        (["1,0,0", "1,0,1", "0.7,0,0"], ONE_HOT, ["A>B", "2 of the columns are 1", "'0.7', which is neither 1 nor 0"]),
    ],
)
def test_a_verdict_in_several_columns(table: Table, winners: list[str], mapping: str, expected: list[str]) -> None:
    source = open_judgments([written(table, *winners)], mapping=parse_map([mapping], ["1=A,0=B"]))
    found = [one.reason if isinstance(one, Reject) else str(one.verdict) for one in source.scan()]
    assert all(want in got for want, got in zip(expected, found, strict=True)), found


def test_zero_is_the_other_side_where_no_column_says_tie(table: Table) -> None:
    path = table(["prompt", "response_a", "response_b", "a_won"], ["?", "x", "y", 1], ["?", "x", "z", 0])
    found = open_judgments([path], mapping=parse_map([f"{TEXTS},verdict=a_won"], ["1=A,0=B"]))
    assert [str(one.verdict) for one in found] == ["A>B", "B>A"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("verdict=winner_model_a", "winner_tie'.* verdict=onehot:winner_model_a,"),
        ("verdict=onehot:winner_model_a", "one column for each"),
        ("verdict=onehot:winner_model_a,winner_model_a", "one column for each"),
        ("verdict=onehot:winner_model_a,winner_model_b,winner_tie,id", "one column for each"),
        ("verdict=onehot:winner_model_a,winner_c", "no column 'winner_c'"),
        ("verdict:=A,category=onehot:winner_model_a,winner_model_b", "not category"),
    ],
)
def test_columns_that_do_not_fit_the_responses_or_each_other_are_refused(table: Table, more: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_judgments([written(table, *SIDES)], mapping=parse_map([f"{TEXTS},{more}"], ["1=A,0=B"]))


def test_inspect_guesses_the_columns_and_a_label_may_be_in_several_too(table: Table) -> None:
    found = inspect_input(written(table, *SIDES), parse_map(["judge:=people"]))
    assert found.mapping.columns["verdict"] == "onehot:winner_model_a,winner_model_b,winner_tie"
    assert (found.complete, dict(found.verdicts)) == (True, {"A>B": 1, "B>A": 1, "A=B": 1})
    assert not {"winner_tie", "prompt"} - found.mapping.used_columns
    label = parse_map([ONE_HOT.replace("verdict=", "verdict:=A,label=")])
    assert [str(one.item.label) for one in open_judgments([written(table, SIDES[1])], mapping=label)] == ["B>A"]


@pytest.mark.parametrize(
    ("given", "scale"),
    [
        ("1..5", (1.0, 5.0)),
        ("-1.5 .. 1", (-1.5, 1.0)),
        ("0-10", (0.0, 10.0)),
        ([0, 1], (0.0, 1.0)),
        ("[0, 1]", (0.0, 1.0)),
        ("poor < fair<good", ("poor", "fair", "good")),
        (["a<b", "c"], ("a<b", "c")),
        ("", None),
        (None, None),
    ],
)
def test_ranges_and_ordered_categories(given: Any, scale: Scale | None) -> None:
    assert parse_scale(given) == scale
    assert scale is None or parse_scale(scale_text(scale)) == scale


@pytest.mark.parametrize("given", ["5..1", "good", "a<a", "a<", 5, ["a"], [1, 2, 3], "[1", [1, "a"]])
def test_what_is_no_scale_is_refused(given: Any) -> None:
    with pytest.raises(BadLine, match="is no scale: give the lowest and the highest grade"):
        parse_scale(given)


def test_a_category_takes_the_spelling_of_its_scale() -> None:
    assert on_scale(Category("GOOD"), ("poor", "good")) == Category("good")
    assert on_scale(Category("other"), ("poor", "good")) == Category("other")
    assert on_scale(Grade(1.0), (0.0, 1.0)) == Grade(1.0)
