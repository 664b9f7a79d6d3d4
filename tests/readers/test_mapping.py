import pytest

from metajudge.errors import InputError
from metajudge.readers import FieldMap, parse_map
from metajudge.readers.mapping import check_columns, check_fields


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
