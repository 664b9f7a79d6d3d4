import copy
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.reading import alike, open_judgments, write_jsonl
from metajudge.reading.containers.lines import Reject, Source
from metajudge.reading.jsonl import JudgmentLines, SharedItems
from metajudge.reading.reader import FoundJudgment, why
from metajudge.types import Category, Grade, Judgment
from tests.reading.conftest import Record, Write

FULL = {
    "version": 1,
    "id": "q1/gpt/BA",
    "item": {
        "id": "q1",
        "question": 'Ünïcode \u2028 and "quotes" \': x',
        "responses": {"m.1": "", "m-2": "text\nwith lines"},
        "category": "Math",
        "label": "m.1>>m-2",
        "reference": "4",
        "models": {"m.1": "gpt"},
    },
    "judge": "gpt",
    "verdict": "m-2=m.1",
    "rationale": "r",
    "order": ["m-2", "m.1"],
    "labels": ["1", "2"],
    "instruction": "judge",
    "meta": {"a": [1, None, {"b": 1.5}]},
}
OTHERS: list[dict[str, Any]] = [
    {
        "id": "none",
        "verdict": None,
        "no_verdict": "silent",
        "item": {"id": "q", "question": "", "responses": {"A": "x"}},
    },
    {"id": "grade", "verdict": 7.25, "item": {"id": "q", "question": "", "responses": {"A": "x"}}},
    {
        "id": "ranking",
        "verdict": [["c"], ["a", "b"]],
        "item": {"id": "r", "question": "", "responses": {"a": "", "b": "", "c": ""}},
    },
]


@pytest.fixture
def judgments() -> list[Judgment]:
    return [Judgment.model_validate(FULL), *(Judgment.model_validate({**data, "judge": "j"}) for data in OTHERS)]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_what_is_written_reads_back_equal(tmp_path: Path, judgments: list[Judgment], name: str) -> None:
    path = tmp_path / name
    assert write_jsonl(path, judgments) == 4
    back = list(open_judgments([path]))
    assert back == judgments
    assert [judgment.digest for judgment in back] == [judgment.digest for judgment in judgments]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_the_same_judgments_give_the_same_bytes(tmp_path: Path, judgments: list[Judgment]) -> None:
    write_jsonl(tmp_path / "a.gz", judgments)
    write_jsonl(tmp_path / "b.gz", judgments)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path: Path, judgments: list[Judgment]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("old")

    def broken() -> Iterator[Judgment]:
        yield judgments[0]
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_jsonl(path, broken())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_where_no_folder_is_says_so(tmp_path: Path, judgments: list[Judgment]) -> None:
    with pytest.raises(InputError, match=r"cannot write .*missing.*No such file"):
        write_jsonl(tmp_path / "missing" / "x.jsonl", judgments)


def test_a_judgment_that_json_cannot_hold_is_named(tmp_path: Path) -> None:
    odd = Judgment.model_validate({**FULL, "meta": {"x": object()}})
    with pytest.raises(InputError, match="judgment 'q1/gpt/BA' cannot be written"):
        write_jsonl(tmp_path / "x", [odd])
    assert list(tmp_path.iterdir()) == []


def test_bad_records_are_rejected_with_line_and_text_and_the_rest_is_read(write: Write, record: Record) -> None:
    bad = record("j2", verdict="C>A")
    path = write("x.txt", record("j1"), bad, "no json", record("j3"))
    found = list(JudgmentLines(Source(path, "x.txt")).read())
    assert [entry.judgment.id for entry in found if isinstance(entry, FoundJudgment)] == ["j1", "j3"]
    first, second = (entry for entry in found if isinstance(entry, Reject))
    assert str(first) == "x.txt:2: verdict names 'C', but the item's responses are A, B"
    assert json.loads(first.text) == bad
    assert (second.line, second.text) == (3, "no json")


def test_an_empty_response_is_legal_and_no_response_is_not(write: Write, record: Record) -> None:
    item = {"id": "q", "question": "", "responses": {"A": "", "B": ""}}
    path = write("x", record("j1", item=item), record("j2", item={**item, "responses": {}}))
    source = open_judgments([path])
    assert [judgment.id for judgment in source] == ["j1"]
    assert source.rejects == 1


ITEM = '{"id":"q","question":"Which?","responses":{"A":"é \\\\ \\"item\\":","B":"y"},"category":null}'


def line(number: int, item: str = ITEM, more: str = "", blank: str = "") -> str:
    return (
        f'{{"id":"j{number}","item":{blank}{item},"judge":"m","verdict":"A>B","rationale":"r{number}"'
        f',"order":["A","B"]{more}}}'
    )


@pytest.mark.parametrize(
    "odd",
    [
        line(7),
        line(7, blank=" "),
        line(7, ITEM.replace("Which?", "Which one?").replace('"q"', '"p"')),
        line(7, more=f',"meta":{{"item":{ITEM}}}'),
        f'{{"meta":{{"item":{ITEM}}},{line(7)[1:]}',
        f'{{"meta":{{"item":{ITEM}}},{line(7, "null")[1:]}',
        line(7, more=f',"item":{ITEM}'),
        line(7, more=',"judge":"n"'),
        line(7, more=',"meta":{"a":1,"a":2}'),
        line(7, more=',"unknown":1'),
        line(7, more=',"meta":{"x":NaN}'),
        line(7)[:-3],
        line(7).replace("r7", "\\ud800"),
        line(7).replace('"A>B"', '"C>B"'),
        line(7).replace('["A","B"]', '["A","A"]'),
        line(7).replace("\n", "") + "x",
        line(7).replace('"item":', '"item" :'),
        # The same item in other bytes, and other items that begin like it.
        line(7, ITEM.replace(",", ", ")),
        line(7, ITEM.replace("{", "{ ").replace("}", " }")),
        line(7, ITEM.replace("é", "\\u00e9")),
        line(7, ITEM.replace("Which?", "\\u0057hich?")),
        line(7, ITEM.replace(',"category":null', "")),
        line(7, '{"id":"q","question":"Which?","responses":{"B":"y","A":"é \\\\ \\"item\\":"},"category":null}'),
        line(7, '{"category":null,' + ITEM[1:].replace(',"category":null', "")),
        line(7, ITEM.replace('"y"', '"z"')),
        line(7, ITEM.replace('"category":null', '"category":"c"')),
        line(7, ITEM.replace("null}", 'null,"label":"A>B"}')),
        line(7, ITEM.replace("null}", 'null,"label":1}')),
        line(7, ITEM.replace("null}", 'null,"label":true}')),
        line(7, ITEM.replace("null}", 'null,"label":"C>A"}')),
        line(7, ITEM.replace("null}", 'null,"scale":[1,5]}')),
        line(7, ITEM.replace("null}", 'null,"category":null}')),
        line(7, '{"id":"p","question":"?","responses":{"B":"y","A":"x"}}'),
        line(7, '{"id":"p","question":"?","responses":{"B":"y"}}'),
        line(7, '{"id":"p","question":"?","responses":{}}'),
        line(7, '{"id":"p","question":"?","responses":{"A":1,"B":"y"}}'),
        line(7, '{"id":" ","question":"?","responses":{"A":"x","B":"y"},"unknown":1}'),
        line(7, '{"id":"p","question":null}'),
        line(7, "[1]"),
        line(7, "1"),
        line(7, '"item"'),
        line(7, "[" * 120 + "]" * 120),
        # Fields in another order, missing, of other types, and values that other lines do not have.
        f'{{"order":["A","B"],"rationale":"r","verdict":"A>B","judge":"m","item":{ITEM},"id":"j7"}}',
        f'{{"item":{ITEM},"judge":"m","verdict":"A>B","id":"j7"}}',
        *(line(7).replace(f'"{name}":', f'"{name}_":') for name in ("id", "item", "judge", "verdict", "order")),
        line(7).replace('"rationale":', '"rationale":null,"meta":'),
        *(
            line(7).replace('"A>B"', value)
            for value in ("null", "1", "true", '"A>>B"', '"A > B"', '[["A"],["B"]]', "[]")
        ),
        *(line(7).replace('"A>B"', value) for value in ('"A=A"', '""', '" "', '"good"', '{"category":"a=b"}', '"a>b"')),
        line(7).replace('"A>B"', 'null,"no_verdict":"cut off"'),
        line(7).replace('"A>B"', '"A>B","no_verdict":"cut off"'),
        *(
            line(7).replace('["A","B"]', value)
            for value in ('["B","A"]', '["A"]', "[]", "null", "[1,2]", '["A",["B"]]')
        ),
        *(line(7).replace('["A","B"]', value) for value in ('"AB"', '{"A":1}', '["A","C"]', '["A","B","A"]')),
        *(line(7).replace('"j7"', value) for value in ("7", '""', '" "', '"\\u00a0"', '"é"', '"~"', "null")),
        *(line(7).replace('"m"', value) for value in ("7", '""', '"\\t"', '"\\u007f"', '"🙂"', "[]")),
        *(
            line(7).replace('"r7"', value)
            for value in ("7", "null", '""', '"\\u0000\\u2028 \\"item\\": {}"', '"é [[A]] [[B]]"')
        ),
        line(7, more=f',"meta":{{"x":{10**30},"y":1e400}}'),
        line(7, more=f',"meta":{{"x":{2**63},"y":-0.0,"z":[[],{{}}]}}'),
        line(7, more=',"meta":{"confidence":0.5,"text_verdict":"B>A","judge_model":"g"}'),
        line(7, more=',"instruction":"Be brief.","labels":["x","y"]'),
        line(7, more=',"labels":["x","x"]'),
        line(7, more=',"version":2'),
        line(7, more=',"order":["B","A"]'),
        line(7, more=',"order" :["B","A"]'),
        line(7)[:-1] + "\0}",
        " " + line(7) + " \t",
        line(7)[1:],
        f"[{line(7)}]",
    ],
)
@pytest.mark.parametrize("blank", ["", " \t"])
def test_a_line_reads_the_same_after_others_of_its_item(tmp_path: Path, odd: str, blank: str) -> None:
    def read(*lines: str) -> FoundJudgment | Reject:
        path = tmp_path / "input.jsonl"
        path.write_text("\n".join(lines) + "\n")
        *_, last = JudgmentLines(Source(path, str(path))).read()
        return last

    alone = read(odd)
    own, other = [line(n, blank=blank) for n in range(5)], ITEM.replace("Which?", "Which one?").replace('"q"', '"p"')
    for before in (own, [line(n, other, blank=blank) for n in range(5)], [line(0, other), *own[:2]], own[:1]):
        after = read(*before, odd)
        if isinstance(alone, Reject):
            assert after.reason == alone.reason
            assert after.text == alone.text
        else:
            assert isinstance(after, FoundJudgment)
            assert after.judgment == alone.judgment
            assert after.judgment.model_dump_json() == alone.judgment.model_dump_json()
            assert after.judgment.digests == Judgment.model_validate_json(odd.replace("NaN", "null")).digests
        assert read(*before, odd, line(9)) == replace(read(line(9)), line=len(before) + 2)


def read_lines(path: Path, *records: dict[str, Any]) -> list[Judgment]:
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records))
    found = list(JudgmentLines(Source(path, "x")).read())
    assert not [one for one in found if isinstance(one, Reject)]
    return [one.judgment for one in found if isinstance(one, FoundJudgment)]


def test_an_equal_item_of_another_type_in_meta_is_not_taken_for_the_item(tmp_path: Path) -> None:
    item = {"id": "q", "question": "Which?" * 20, "responses": {"A": "x"}}
    grade, category = {**item, "label": 1}, {**item, "label": True}
    rest = {"judge": "m", "verdict": 1, "order": ["A"]}
    first = {"id": "a", "meta": {"item": grade}, "item": category, "judge": "m", "verdict": True, "order": ["A"]}
    for before in (
        [],
        [{"id": name, "meta": {"item": {**item, "id": "p"}}, "item": {**item, "id": "p"}, **rest} for name in "yz"],
    ):
        read = read_lines(
            tmp_path / "x.jsonl", *before, first, *({"id": name, "item": grade, **rest} for name in "bcd")
        )
        assert [one.item.label for one in read[len(before) :]] == [Category(True), *[Grade(1.0)] * 3]


def test_records_with_names_of_their_own_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "MOST_KEPT", 3)
    items = SharedItems()
    for number in range(20):
        one, other = f"a{number}", f"b{number}"
        item = {"id": "q", "question": "?", "responses": {one: "x", other: "y"}}
        record = {"id": "j", "item": item, "judge": "m", "rationale": ""}
        for order in ([one, other], [other, one]):
            for verdict in (f"{one}>{other}", f"{one}>>{other}", f"{other}>{one}"):
                data = {**record, "verdict": verdict, "order": order}
                assert items.judgment(data) == Judgment.model_validate(data)
        assert len(items._alike._checked) <= 3


NAMES = {"one": ("A",), "two": ("A", "B"), "three": ("A", "B", "C")}
SCALES: list[Any] = [None, [1, 5], ["poor", "good"]]
VERDICTS: list[Any] = [
    *("A>B", "A=B", "A>C", "good", "bad", "", None, 4, 4.0, 0.0, -0.0, 9, True),
    *([["A"], ["B"]], [["B"], ["A"]], [["A", "B"]], [["A"], ["C"]], [["A"], ["A"]], [], {"category": "good"}),
]
ORDERS: list[Any] = [None, [], ["A"], ["B", "A"], ["A", "B"], ["A", "A"], ["A", 1], "AB"]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_records_that_share_what_was_checked_are_those_of_a_check_each(names: tuple[str, ...], scale: Any) -> None:
    """Whatever came before: verdicts and orders of all kinds, each twice, on two items."""
    shared = SharedItems()
    records = []
    for item, verdict, order in itertools.product(("q", "r"), VERDICTS, ORDERS):
        content = {"id": item, "question": item, "responses": dict.fromkeys(names, "x"), "scale": scale}
        said = {} if order is None else {"order": order}
        records.append({"id": "a", "item": content, "judge": "g", "verdict": verdict, "rationale": "", **said})
    for data in (*records, *records):
        assert outcome(shared.judgment, data) == outcome(Judgment.model_validate, data)


def outcome(read: Callable[[Any], Judgment], data: dict[str, Any]) -> tuple[Any, ...]:
    try:
        found = read(copy.deepcopy(data))
    except ValidationError as error:
        return (why(error),)
    return found.digest, found.vetting_digest, found
