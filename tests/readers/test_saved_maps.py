from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError
from metajudge.readers import FieldMap, open_judgments, parse_map
from metajudge.readers.saved_maps import FILE_NAME, save_map, saved_map

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
