"""Rubrics and their files."""

import json
import math
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from metajudge.errors import RubricError
from metajudge.rubric import BUILTIN_RUBRICS, Rubric, Scale, list_rubrics, load_rubric, validate_rubric_text
from tests.rubric.documents import FOLDER, SCHEMA, SEVEN, criterion, document, read

SHORT_WEIGHTS = (0.20, 0.20, 0.15, 0.10, 0.15, 0.10, 0.10)


LONG_WEIGHTS = (0.25, 0.20, 0.15, 0.10, 0.15, 0.10, 0.05)


def as_json(data):
    """What a YAML editor validates: keys are strings."""
    return json.loads(json.dumps(data))


def test_every_yaml_rubric_is_listed_and_named_after_its_file():
    stems = {entry.name.removesuffix(".yaml") for entry in FOLDER.iterdir() if entry.name.endswith(".yaml")}
    assert stems == set(BUILTIN_RUBRICS)
    assert [rubric.name for rubric in list_rubrics()] == list(BUILTIN_RUBRICS)


def test_a_built_in_rubric_belongs_to_a_prompt_set_numbered_from_one():
    for name in BUILTIN_RUBRICS:
        first, second = load_rubric(name, prompt_set=1), load_rubric(name, prompt_set=2)
        assert first.digest != second.digest
        assert load_rubric(name) == load_rubric(name, prompt_set=3) == second
        assert first.scored_names == second.scored_names
        assert first.weights == second.weights
    assert load_rubric("risk_analysis", prompt_set=1) == load_rubric("risk_analysis")
    assert [rubric.digest for rubric in list_rubrics(prompt_set=1)] == [
        load_rubric(name, prompt_set=1).digest for name in BUILTIN_RUBRICS
    ]
    with pytest.raises(RubricError, match="prompt_set must be 1 or more, not 0"):
        load_rubric("short", prompt_set=0)


def test_a_rubric_of_your_own_is_the_same_for_every_prompt_set(tmp_path):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(document()))
    assert load_rubric(tmp_path / "mine.yaml", prompt_set=1) == load_rubric(tmp_path / "mine.yaml")


@pytest.mark.parametrize("name", [*BUILTIN_RUBRICS, *(f"v1/{name}" for name in BUILTIN_RUBRICS)])
def test_shipped_file_satisfies_the_json_schema(name):
    data = as_json(yaml.safe_load(FOLDER.joinpath(f"{name}.yaml").read_text("utf-8")))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)


@pytest.mark.parametrize(("name", "own"), [("short", SHORT_WEIGHTS), ("binary", SHORT_WEIGHTS), ("long", LONG_WEIGHTS)])
def test_weights_of_the_seven_criteria(name, own):
    assert load_rubric(name).weights == pytest.approx(dict(zip(SEVEN, own, strict=True)))
    assert tuple(load_rubric(name).weights) == SEVEN
    assert load_rubric(name, "short").weights == pytest.approx(dict(zip(SEVEN, SHORT_WEIGHTS, strict=True)))
    assert load_rubric(name, "long").weights == pytest.approx(dict(zip(SEVEN, LONG_WEIGHTS, strict=True)))
    for weights in ("short", "long", None):
        assert math.fsum(load_rubric(name, weights).weights.values()) == pytest.approx(1.0, abs=1e-12)


def test_a_fine_scale_needs_levels_at_its_ends_only_and_json_may_write_keys_as_strings():
    fine = {"low": 0, "high": 10}
    ends = criterion("first", levels={0: "worst", 10: "best", 5: "middling"})
    assert read(document(scale=fine, criteria=[ends])).criteria[0].levels[10] == "best"
    with pytest.raises(RubricError, match=r"criteria\[0\]\.levels: no description for 10"):
        read(document(scale=fine, criteria=[criterion("first", levels={0: "worst"})]))
    rubric = validate_rubric_text(json.dumps(as_json(document())), "mine.json")
    assert rubric == read(document())


WRONG = [
    (document(name=None), "mine.yaml: top level: required field 'name' is missing"),
    (document(title=3), "mine.yaml: title: should be a valid string (found 3)"),
    (document(description="  "), "mine.yaml: description: "),
    (document(name="Mine"), "mine.yaml: name: "),
    (document(version=2), "mine.yaml: version: should be 1 (found 2)"),
    (document(kind="ordinal"), "mine.yaml: kind: should be 'criteria', 'holistic' or 'binary' (found 'ordinal')"),
    (document(kriteria=[]), "mine.yaml: kriteria: unknown field; accepted: version, name, "),
    (document(kriteria=[]), "did you mean criteria?"),
    (document(criteria=[]), "mine.yaml: criteria: a rubric of kind 'criteria' needs at least one"),
    (document(criteria=None), "mine.yaml: criteria: a rubric of kind 'criteria' needs at least one"),
    (document(criteria={"a": 1}), "mine.yaml: criteria: must be a list of criteria, not dict"),
    (document(criteria=["first"]), "mine.yaml: criteria[0]: "),
    (document(kind="holistic"), "mine.yaml: criteria: a holistic rubric has none"),
    (document(kind="binary"), "mine.yaml: criteria[0]: in a binary rubric a criterion is guidance"),
    (document(scale={"low": 5, "high": 5}), "mine.yaml: scale: low (5) must be below high (5)"),
    (document(scale={"low": 1, "high": 3, "step": 0.7}), "mine.yaml: scale: step (0.7) does not divide 1..3"),
    (document(scale={"low": 1, "high": 3, "step": 5}), "mine.yaml: scale: step (5) does not divide 1..3"),
    (
        document(scale={"low": 1, "high": 3, "step": 0}),
        "mine.yaml: scale.step: must be a finite number above 0 (found 0)",
    ),
    (document(scale={"low": "1", "high": 3}), "mine.yaml: scale.low: must be a finite number (found '1')"),
    (document(scale={"low": 1, "high": math.inf}), "mine.yaml: scale.high: must be a finite number (found inf)"),
    (document(scale={"low": 0, "high": 1000000}), "mine.yaml: scale: a scale has at most 101 points"),
    (
        document(scale={"low": 1, "high": 3, "steps": 1}),
        "mine.yaml: scale.steps: unknown field; accepted: low, high, step",
    ),
    (
        document(criteria=[criterion("a"), criterion("b"), criterion("a")]),
        "mine.yaml: criteria[2].name: 'a' is already",
    ),
    *(
        (
            document(criteria=[criterion("a"), criterion("b"), criterion("c", weight=weight)]),
            f"mine.yaml: criteria[2].weight: must be a finite number above 0 (found {found})",
        )
        for weight, found in [
            (0, "0"),
            (-1, "-1"),
            ("0.2", "'0.2'"),
            (math.nan, "nan"),
            (math.inf, "inf"),
            (True, "True"),
            ([1], "[1]"),
        ]
    ),
    *(
        (document(criteria=[criterion(name)]), "mine.yaml: criteria[0].name: ")
        for name in ("A", "1a", "a-b", "", "a b")
    ),
    (
        document(criteria=[criterion("a", levels={1: "x", 2: "y"})]),
        "mine.yaml: criteria[0].levels: no description for 3",
    ),
    (document(criteria=[criterion("a", levels=None)]), "mine.yaml: criteria[0].levels: no description for 1, 2, 3"),
    (
        document(criteria=[criterion("a", levels={1: "x", 2: "y", 3: "z", 4: "?"})]),
        "mine.yaml: criteria[0].levels: 4 not on the scale; accepted: 1, 2 or 3",
    ),
    (document(criteria=[criterion("a", levels={"low": "x"})]), "mine.yaml: criteria[0].levels.low: must be a point"),
    (document(criteria=[criterion("a", levels={True: "x"})]), "criteria[0].levels"),
    (document(criteria=[criterion("a", levels={1: "", 2: "y", 3: "z"})]), "mine.yaml: criteria[0].levels"),
    (document(criteria=[criterion("a", title=None)]), "mine.yaml: criteria[0]: required field 'title' is missing"),
    (
        document(criteria=[criterion("a", wieght=1)]),
        "mine.yaml: criteria[0].wieght: unknown field; accepted: name, title, description, weight, levels, optional, "
        "judges_rationale; did you mean weight?",
    ),
    (document(criteria=[criterion("a", optional="maybe")]), "mine.yaml: criteria[0].optional: "),
    (document(criteria=[criterion("a", judges_rationale="yes")]), "mine.yaml: criteria[0].judges_rationale: "),
    (
        document(subject="case", criteria=[criterion("a", judges_rationale=True)]),
        "mine.yaml: criteria: a case has no rationale to judge; leave out judges_rationale",
    ),
    (document(weight_sets={"x": {"first": 1}}), "mine.yaml: weight_sets.x: no weight for second"),
    (
        document(weight_sets={"x": {"first": 1, "second": 0}}),
        "mine.yaml: weight_sets.x.second: must be a finite number",
    ),
    (
        document(weight_sets={"x": {"first": 1, "secnd": 1}}),
        "mine.yaml: weight_sets.x: no criterion is called 'secnd'; the rubric has first, second; did you mean second?",
    ),
]


@pytest.mark.parametrize(
    ("data", "message"), WRONG, ids=[message.removeprefix("mine.yaml: ")[:60] for _, message in WRONG]
)
def test_a_wrong_rubric_is_refused_with_its_place(data, message):
    with pytest.raises(RubricError) as raised:
        read(data)
    assert message in str(raised.value)


def test_all_problems_are_reported_at_once_and_an_unknown_name_lists_close_matches():
    with pytest.raises(RubricError) as raised:
        read(document(title=3, criteria=[criterion("A", weight=0)]))
    lines = str(raised.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["title", "criteria[0].name", "criteria[0].weight"]
    with pytest.raises(RubricError, match=r"unknown rubric 'shrot'; built in are short, long, .*did you mean short\?"):
        load_rubric("shrot")


def test_a_path_is_taken_as_one_even_where_a_built_in_rubric_has_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("short").write_text(yaml.safe_dump(document()), "utf-8")
    assert load_rubric("short").name == "short"
    assert load_rubric(Path("short")).name == load_rubric("./short").name == "mine"


NOT_EXPRESSIBLE = (
    "'a' is already",
    "not on the scale",
    "no description",
    "below high",
    "does not divide",
    "at most 101",
    "no weight for",
    "no criterion is called",
    "found nan",
    "found inf",
)


EXPRESSIBLE = [
    pytest.param(data, id=message.removeprefix("mine.yaml: ")[:60])
    for data, message in WRONG
    if not any(words in message for words in NOT_EXPRESSIBLE)
]


@pytest.mark.parametrize("data", EXPRESSIBLE)
def test_the_schema_refuses_what_the_loader_refuses(data):
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(as_json(data))


def test_the_schema_accepts_what_the_loader_accepts_and_the_rubric_in_the_readme_is_valid():
    for data in (
        document(),
        document(kind="holistic", criteria=None),
        document(kind="binary", criteria=[criterion("a", levels=None)]),
        document(kind="binary", criteria=None),
        document(weight_sets={"x": {"first": 1, "second": 2.5}}, version=1),
        document(scale={"low": 0, "high": 10}, criteria=[criterion("a", optional=True, levels={0: "x", 10: "y"})]),
    ):
        assert isinstance(read(data), Rubric)
        jsonschema.Draft202012Validator(SCHEMA).validate(as_json(data))
    text = FOLDER.joinpath("README.md").read_text("utf-8")
    example = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert [validate_rubric_text(one, "README.md").name for one in example] == ["my_rubric"]


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


def test_digest_changes_with_content_and_weights_in_force_but_not_with_unused_sets():
    base = read(document())
    assert len({rubric.digest for rubric in list_rubrics()}) == len(BUILTIN_RUBRICS)
    assert base.digest == read(document()).digest
    assert base.digest == read(document(weight_sets={"other": {"first": 3, "second": 1}})).digest
    assert base.digest != read(document(description="Another.")).digest
    assert base.digest != read(document(scale={"low": 1, "high": 3, "step": 0.1})).digest
    assert base.digest != base.with_weights({"first": 3, "second": 1}).digest


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("short", "4eb959e65059829dd0a141863ff8cee2"),
        ("long", "66feb7b6e8dd9f0aa8f281cf06b5f5e7"),
        ("binary", "4e4c49b85292ebd6096961184bc25a74"),
        ("baseline", "2256a77be76924bd0c376f48ba01f023"),
    ],
)
def test_digests_of_stored_results_stay_as_they_are(name, digest):
    """A field added to rubrics must not give the rubrics of earlier results another identity."""
    assert load_rubric(name, prompt_set=1).digest == digest


def test_criteria_that_judge_a_rationale_are_in_the_digest_and_left_out_for_a_verdict_alone():
    plain = read(document())
    unmarked = read(document(criteria=[criterion("first", judges_rationale=False), criterion("second")]))
    marked = read(document(criteria=[criterion("first", judges_rationale=True), criterion("second")]))
    assert plain.digest == unmarked.digest != marked.digest
    short = load_rubric("short")
    alone = short.for_verdict_alone()
    assert alone.scored_names == ("accuracy", "fairness", "relevance")
    assert alone.weights == pytest.approx({"accuracy": 4 / 9, "fairness": 2 / 9, "relevance": 3 / 9})
    assert alone.for_verdict_alone() is alone
    assert alone.digest != short.digest
    assert load_rubric("short", "long").for_verdict_alone().weights["accuracy"] == pytest.approx(0.5)
    assert load_rubric("binary").for_verdict_alone().scored_names == ("correct",)


@pytest.mark.parametrize("marked", [(), ("first", "second")])
def test_a_rubric_stays_the_same_where_no_criterion_or_every_one_judges_a_rationale(marked):
    rubric = read(document(criteria=[criterion(one, judges_rationale=one in marked) for one in ("first", "second")]))
    assert rubric.for_verdict_alone() is rubric


def test_digests_are_of_what_is_asked_for_and_no_copy_keeps_an_old_one():
    for rubric in (*list_rubrics(prompt_set=1), load_rubric("baseline"), load_rubric("risk_analysis")):
        assert rubric.for_verdict_alone() is rubric
    cases = load_rubric("risk_analysis")
    assert cases.subject == "case"
    assert cases.digest != cases.model_copy(update={"asks": ()}).digest
    with pytest.raises(RubricError, match="only a rubric with subject 'case' may ask"):
        read(document(asks=["confidence"]))
    base = read(document())
    assert base.with_weights({"first": 20, "second": 20}).digest == base.digest
    assert load_rubric("short", "short").digest == load_rubric("short").digest
    base = read(document())
    assert base.digest
    assert base.weights["first"] == 0.5
    other = base.model_copy(update={"criteria": (base.criteria[0],)})
    assert other.digest != base.digest
    assert other.weights == {"first": 1.0}


@pytest.mark.parametrize(
    ("scale", "points"),
    [
        (Scale(), (1, 2, 3, 4, 5)),
        (Scale(low=0, high=10), tuple(range(11))),
        (Scale(low=1, high=3, step=0.5), (1, 1.5, 2, 2.5, 3)),
        (Scale(low=0, high=1, step=0.1), (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)),
        (Scale(low=-2, high=2), (-2, -1, 0, 1, 2)),
    ],
)
def test_points_of_a_scale(scale, points):
    assert scale.points == points
    assert [type(point) for point in scale.points] == [type(point) for point in points]
    assert all(scale.contains(point) for point in points)


def test_contains_only_its_points():
    scale = Scale(low=0, high=1, step=0.1)
    assert scale.contains(0.1 + 0.2)
    assert not scale.contains(0.35)
    assert not Scale().contains(0)
    assert not Scale().contains(6)
    assert not Scale().contains(4.5)
    assert not Scale().contains(True)
    assert not Scale().contains(math.nan)
    assert not Scale().contains(math.inf)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("medium", "no weight set 'medium'; it has short, long"),
        ({"accuracy": 1}, "weights: no weight for logical_soundness"),
        ({**dict.fromkeys(SEVEN, 1), "acuracy": 1}, "no criterion is called 'acuracy'; .*did you mean accuracy"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": 0}, r"weights\.accuracy: must be .* above 0 \(found 0\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": -0.1}, r"weights\.accuracy: must be .* above 0 \(found -0\.1\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": "1"}, r"weights\.accuracy: .*\(found '1'\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": True}, r"weights\.accuracy: .*\(found True\)"),
        ({**dict.fromkeys(SEVEN, 1), "accuracy": math.nan}, r"weights\.accuracy: .*\(found nan\)"),
        ([1, 2], "must be the name of a set or a mapping"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(RubricError, match=message):
        load_rubric("short", weights)


def test_a_rubric_without_criteria_takes_no_weights():
    with pytest.raises(RubricError, match="no criteria, so there is nothing to weigh"):
        load_rubric("baseline", "short")
