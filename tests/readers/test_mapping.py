"""Mappings of columns: given, kept, of scales, and of verdicts in several columns."""

from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.readers import FieldMap, Reject, open_judgments, parse_map
from metajudge.readers.inspection import inspect_input
from metajudge.readers.lines import BadLine
from metajudge.readers.mapping import check_columns, check_fields
from metajudge.readers.saved_maps import FILE_NAME, save_map, saved_map
from metajudge.readers.scales import on_scale, parse_scale, scale_text
from metajudge.types import Category, Grade
from metajudge.types.judgment import Scale


def test_a_mapping_is_read_as_one_text_or_several() -> None:
    one = parse_map(["verdict=winner,question=prompt,responses.A=output_1,responses.B=output_2,judge:=gpt-4o"])
    several = parse_map(
        ["verdict=winner", "question=prompt,responses.A=output_1", "responses.B=output_2", "judge:=gpt-4o"]
    )
    assert one == several
    assert one.constants == {"judge": "gpt-4o"}
    assert one.response_ids == ("A", "B")


def test_columns_may_hold_commas_equals_signs_and_spaces() -> None:
    found = parse_map(["verdict=who won, really,question=a=b , rationale=why so?"])
    assert found.columns == {"verdict": "who won, really", "question": "a=b", "rationale": "why so?"}


def test_values_hold_verdicts_with_equals_signs() -> None:
    assert parse_map([], ["C=tie,0.5=A=B", "1=A>>B"]).values == {"C": "tie", "0.5": "A=B", "1": "A>>B"}


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


def test_a_missing_column_names_the_nearest_and_all_there_are() -> None:
    with pytest.raises(InputError) as caught:
        check_columns(parse_map(["verdict=winer"]), ["id", "winner", "prompt"], "x.csv")
    assert str(caught.value) == (
        "x.csv has no column 'winer', mapped to verdict. Did you mean verdict=winner? Its columns: id, winner, prompt."
    )
    with pytest.raises(InputError, match=r"has no column 'zzz', mapped to judge\. Its columns: none\."):
        check_columns(parse_map(["judge=zzz"]), [], "x.csv")
    with pytest.raises(InputError, match=r"models\.B is mapped, but responses\.B is not"):
        check_columns(parse_map(["responses.A=a,models.B=b"]), ["a", "b"], "x.csv")


def test_fields_left_out_are_named_with_the_way_to_give_them() -> None:
    with pytest.raises(InputError, match=r"no column is mapped to question, judge, responses\.A; judge:=NAME gives"):
        check_fields(parse_map(["verdict=w"]), ["w"], "x.csv")


def test_a_mapping_written_as_flags_reads_back() -> None:
    mapping = FieldMap(
        columns={"verdict": "who won, really", "responses.A": "it's"}, constants={"judge": "a b"}, values={"C": "tie"}
    )
    import shlex

    flags = shlex.split(mapping.to_flags())
    assert parse_map([flags[1]], [flags[3]]) == mapping


MAPPING = FieldMap(
    columns={"verdict": 'a "quoted" column\\', "responses.A": "x", "question": "ünï\n"},
    constants={"judge": "me"},
    values={"C": "tie", "0.5": "A=B"},
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_mapping_is_kept_and_found_by_any_spelling_of_the_path(tmp_path: Path) -> None:
    assert saved_map("votes.csv") is None
    save_map("runs/../votes.csv", MAPPING)
    assert saved_map("votes.csv") == saved_map(tmp_path / "votes.csv") == saved_map("./votes.csv") == MAPPING


def test_other_files_keep_theirs_and_a_second_save_replaces(tmp_path: Path) -> None:
    save_map("a.csv", MAPPING)
    save_map("b.csv", FieldMap(constants={"judge": "b"}))
    save_map("a.csv", FieldMap(constants={"judge": "a"}))
    assert saved_map("a.csv") == FieldMap(constants={"judge": "a"})
    assert saved_map("b.csv") == FieldMap(constants={"judge": "b"})
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE_NAME]


def test_a_pattern_stands_for_many_files_and_an_exact_name_goes_first() -> None:
    Path(FILE_NAME).write_text(
        '[inputs."runs/*.csv".constants]\njudge = "p"\n[inputs."runs/a.csv".constants]\njudge = "a"\n'
    )
    kept = [saved_map(f"runs/{name}.csv") for name in ("a", "b")]
    assert [one.constants["judge"] for one in kept if one] == ["a", "p"]
    assert saved_map("other/b.csv") is None


def test_a_mapping_beside_the_file_is_found_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_map("votes.csv", MAPPING)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert saved_map("../votes.csv") == MAPPING


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
    Path("v.csv").write_text("p,x,y,w\n?,a,b,C\n")
    save_map("v.csv", parse_map(["question=p,responses.A=x,responses.B=y,verdict=w,judge:=me"], ["C=tie"]))
    assert [str(one.verdict) for one in open_judgments(["v.csv"])] == ["A=B"]
    # Meanings given alone take precedence over those that are kept.
    assert [str(one.verdict) for one in open_judgments(["v.csv"], mapping=parse_map([], ["C=B"]))] == ["B>A"]
    other = parse_map(["question=p,responses.A=x,responses.B=y,verdict=w,judge:=you"], ["C=A"])
    assert [one.judge for one in open_judgments(["v.csv"], mapping=other)] == ["you"]


def test_a_mapping_kept_for_a_folder_holds_for_the_files_in_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mapping = FieldMap(columns={"verdict": "winner"})
    (tmp_path / "runs").mkdir()
    save_map("runs", mapping)
    assert saved_map("runs/votes.csv") == mapping
    assert saved_map(tmp_path / "runs" / "more" / "votes.csv") == mapping
    assert saved_map("runs-of-others.csv") is None
    save_map(".", FieldMap(columns={"verdict": "best"}))
    assert saved_map("other.csv") == FieldMap(columns={"verdict": "best"})


HEADER = "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
ROWS = {
    "A": "1,0,0",
    "B": "0,1,0",
    "tie": "0,0,1",
    "none": "0,0,0",
    "two": "1,1,0",
    "tie and A": "1,0,1",
    "odd": "0.7,0,0",
}
TEXTS = "question=prompt,responses.A=response_a,responses.B=response_b,judge:=people"
MAP = f"{TEXTS},verdict=onehot:winner_model_a,winner_model_b,winner_tie"


def written(tmp_path: Path, *names: str) -> str:
    path = tmp_path / "train.csv"
    path.write_text(HEADER + "".join(f"{n},gpt,llama,2+2?,4,5,{ROWS[name]}\n" for n, name in enumerate(names)))
    return str(path)


def read(path: str, mapping: str = MAP, values: str = "") -> list[str]:
    found = open_judgments([path], mapping=parse_map([mapping], [values] if values else [])).scan()
    return [one.reason if isinstance(one, Reject) else str(one.verdict) for one in found]


def test_each_column_is_its_side(tmp_path: Path) -> None:
    assert read(written(tmp_path, "A", "B", "tie")) == ["A>B", "B>A", "A=B"]
    swapped = MAP.replace("winner_model_a,winner_model_b", "winner_model_b,winner_model_a")
    assert read(written(tmp_path, "A", "B", "tie"), swapped) == ["B>A", "A>B", "A=B"]


def test_none_or_several_are_rejects_and_never_b(tmp_path: Path) -> None:
    found = read(written(tmp_path, "A", "none", "two", "tie and A", "odd"))
    assert found[0] == "A>B"
    assert found[1].startswith("verdict: none of the columns is 1")
    assert found[2].startswith("verdict: 2 of the columns are 1")
    assert found[3].startswith("verdict: 2 of the columns are 1")
    assert "'0.7', which is neither 1 nor 0" in found[4]


def test_without_a_column_for_ties_a_tie_is_a_reject(tmp_path: Path) -> None:
    found = read(written(tmp_path, "A", "B", "tie"), MAP.replace(",winner_tie", ""))
    assert found[:2] == ["A>B", "B>A"]
    assert "none of the columns" in found[2]


def test_zero_as_b_is_refused_where_another_column_says_tie(tmp_path: Path) -> None:
    path = written(tmp_path, "A", "B", "tie")
    with pytest.raises(InputError, match="winner_tie") as refused:
        read(path, f"{TEXTS},verdict=winner_model_a", "1=A,0=B")
    assert "verdict=onehot:winner_model_a," in str(refused.value)


def test_zero_as_b_is_read_where_no_column_says_tie(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("prompt,response_a,response_b,a_won\n?,x,y,1\n?,x,z,0\n")
    assert read(str(path), f"{TEXTS},verdict=a_won", "1=A,0=B") == ["A>B", "B>A"]


def test_inspect_guesses_the_columns_and_their_use(tmp_path: Path) -> None:
    found = inspect_input(written(tmp_path, "A", "B", "tie"), parse_map(["judge:=people"]))
    assert found.mapping.columns["verdict"] == "onehot:winner_model_a,winner_model_b,winner_tie"
    assert found.complete
    assert dict(found.verdicts) == {"A>B": 1, "B>A": 1, "A=B": 1}
    assert not {"winner_tie", "prompt"} - found.mapping.used_columns


def test_columns_that_do_not_fit_the_responses_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "A")
    for columns in ("winner_model_a", "winner_model_a,winner_model_a", "winner_model_a,winner_model_b,winner_tie,id"):
        with pytest.raises(InputError, match="one column for each"):
            read(path, f"{TEXTS},verdict=onehot:{columns}")
    with pytest.raises(InputError, match="no column 'winner_c'"):
        read(path, f"{TEXTS},verdict=onehot:winner_model_a,winner_c")
    with pytest.raises(InputError, match="not category"):
        read(path, f"{MAP},category=onehot:winner_model_a,winner_model_b")


def test_a_label_may_be_one_hot_too(tmp_path: Path) -> None:
    mapping = parse_map([f"{TEXTS},verdict:=A,label=onehot:winner_model_a,winner_model_b,winner_tie"])
    (found,) = open_judgments([written(tmp_path, "B")], mapping=mapping)
    assert str(found.item.label) == "B>A"


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
    if scale is not None:
        assert parse_scale(scale_text(scale)) == scale


@pytest.mark.parametrize("given", ["5..1", "good", "a<a", "a<", 5, ["a"], [1, 2, 3], "[1", [1, "a"]])
def test_what_is_no_scale_is_refused(given: Any) -> None:
    with pytest.raises(BadLine, match="is no scale: give the lowest and the highest grade"):
        parse_scale(given)


def test_a_category_takes_the_spelling_of_its_scale() -> None:
    assert on_scale(Category("GOOD"), ("poor", "good")) == Category("good")
    assert on_scale(Category("other"), ("poor", "good")) == Category("other")
    assert on_scale(Grade(1.0), (0.0, 1.0)) == Grade(1.0)
