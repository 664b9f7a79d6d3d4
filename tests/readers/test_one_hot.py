"""Winners in several columns: a tie, or a row without a winner, is never read as B."""

from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments, parse_map
from metajudge.readers.inspection import inspect_input

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
    assert found.mapping is not None
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
