import pytest

from metajudge.errors import RubricError
from metajudge.rubric import load_rubric, validate_rubric_text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("- a\n- b\n", "a rubric is a mapping with name"),
        ("just words", "(found 'just words')"),
        ("name: [unclosed", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
        ("name: a\ntitle: b\nname: c\n", "line 3: key 'name' was already given on line 1"),
        ("criteria:\n- {name: a, weight: 1, weight: 2}\n", "line 2: key 'weight' was already given on line 2"),
        ("criteria:\n- levels:\n    1: a\n    1: b\n", "line 4: key '1' was already given on line 3"),
        ("name: !!python/object/apply:os.system ['true']\n", "not valid YAML: could not determine a constructor"),
        ("? [a, b]\n: 1\n", "mine.yaml: "),
        ("a: &x [*x]\n", "mine.yaml: "),
        ("[" * 3000, "mine.yaml: "),
        ("name: 2024-99-99\n", "mine.yaml: "),
        ("name: \x00\n", "not valid YAML"),
    ],
)
def test_text_that_is_no_rubric_is_refused(text, message):
    with pytest.raises(RubricError) as raised:
        validate_rubric_text(text, "mine.yaml")
    assert message in str(raised.value)
    assert len(str(raised.value)) < 2000


def test_nested_aliases_do_not_blow_up_the_message():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    with pytest.raises(RubricError) as raised:
        validate_rubric_text("\n".join([*lines, "name: *a11", "title: *a11"]), "bomb.yaml")
    assert len(str(raised.value)) < 5000


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(RubricError, match=r"none\.yaml: cannot read the rubric: No such file"):
        load_rubric(tmp_path / "none.yaml")
    with pytest.raises(RubricError, match="cannot read the rubric"):
        load_rubric(tmp_path)
    with pytest.raises(RubricError, match="cannot read the rubric"):
        load_rubric("a\0b.yaml")


def test_a_file_that_is_not_utf8_is_named_with_the_byte(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("name: caf\u00e9".encode("latin-1"))
    with pytest.raises(RubricError, match=r"latin\.yaml: not UTF-8 \(byte 9\)"):
        load_rubric(path)


def test_a_huge_file_is_refused(tmp_path):
    path = tmp_path / "huge.yaml"
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(RubricError, match="more than 1,000,000 bytes"):
        load_rubric(path)
