import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import JudgmentSource, Reject, open_judgments, parse_map
from tests.readers.conftest import Write

MAP = "verdict=winner,question=prompt,responses.A=output_1,responses.B=output_2,judge=who"


def row(**changes: Any) -> dict[str, Any]:
    return {"prompt": "2+2?", "output_1": "4", "output_2": "5", "winner": "A", "who": "gpt", **changes}


def opened(path: Path, maps: str = MAP, *values: str, **options: Any) -> JudgmentSource:
    return open_judgments([path], mapping=parse_map([maps], values), **options)


def test_rows_become_judgments_with_ids_from_file_and_row(write: Write) -> None:
    source = opened(write("votes.2026.jsonl", row(), row(winner="tie", prompt="?")))
    first, second = source
    assert source.formats.popitem()[1] == "JSONL, mapped"
    assert (first.id, second.id, first.judge) == ("votes:1", "votes:2", "gpt")
    assert (first.item.question, first.item.responses, str(first.verdict)) == ("2+2?", {"A": "4", "B": "5"}, "A>B")
    assert str(second.verdict) == "A=B"


def test_the_same_question_and_answers_are_one_item_whoever_judges(write: Write) -> None:
    a, b, c = opened(write("x.jsonl", row(), row(who="claude", winner="B"), row(output_1="four")))
    assert a.item == b.item
    assert a.item.id != c.item.id


def test_every_field_is_read(write: Write) -> None:
    full = row(
        key="j1", q="q1", why="Because.", cat="math", gold="B", ref="4", said="Compare.", m1="x", m2="y", extra={"k": 1}
    )
    more = "id=key,item_id=q,rationale=why,category=cat,label=gold,reference=ref,instruction=said"
    (one,) = opened(write("x.jsonl", full), f"{MAP},{more},models.A=m1,models.B=m2,meta=extra,meta.source=who")
    assert (one.id, one.item.id, one.rationale, one.instruction) == ("j1", "q1", "Because.", "Compare.")
    assert (one.item.category, str(one.item.label), one.item.reference) == ("math", "B>A", "4")
    assert one.item.models == {"A": "x", "B": "y"}
    assert one.meta == {"k": 1, "source": "gpt"}


def test_a_winner_given_as_a_models_name_is_resolved_row_by_row(write: Write) -> None:
    rows = [row(winner="llama", m1="gpt", m2="llama"), row(winner="llama", m1="llama", m2="gpt")]
    source = opened(write("x.jsonl", *rows), f"{MAP},models.A=m1,models.B=m2")
    assert [str(one.verdict) for one in source] == ["B>A", "A>B"]


def test_models_may_be_the_same_for_all_rows_or_name_the_columns(write: Write) -> None:
    plain = {"prompt": "?", "gpt-4o": "x", "llama": "y", "who": "g"}
    path = write("x.jsonl", plain | {"winner": "llama"}, plain | {"winner": "gpt-4o"})
    maps = "verdict=winner,question=prompt,responses.A=gpt-4o,responses.B=llama,judge=who"
    assert [str(one.verdict) for one in opened(path, maps)] == ["B>A", "A>B"]
    named = list(opened(path, f"{maps},models.A:=gpt-4o,models.B:=llama"))
    assert [str(one.verdict) for one in named] == ["B>A", "A>B"]
    assert named[0].item.models == {"A": "gpt-4o", "B": "llama"}


def test_a_winner_given_as_a_models_name_without_the_models_says_what_to_map(write: Write) -> None:
    with pytest.raises(InputError) as caught:
        opened(write("x.jsonl", row(winner="gpt-4o"), row(winner="gpt-4o"), row()))
    assert "'gpt-4o' (2) in column 'winner' are no verdicts here, first at" in str(caught.value)
    assert "map the columns that name the models: --map models.A=COLUMN,models.B=COLUMN" in str(caught.value)


def test_mixed_vocabularies_stop_with_every_word_that_is_not_known(write: Write) -> None:
    path = write("x.jsonl", *(row(winner=word) for word in ("A", "tie", "Tie", "C", 0.5, "C", None)))
    with pytest.raises(InputError) as caught:
        opened(path)
    assert "'C' (2), '0.5' (1) in column 'winner' are no verdicts here, first at" in str(caught.value)
    assert "--map-values C=tie,0.5=tie, where a meaning is A, A>B, tie or none." in str(caught.value)
    source = opened(path, MAP, "C=tie,0.5=none")
    assert [str(one.verdict) for one in source] == ["A>B", "A=B", "A=B", "A=B", "None", "A=B", "None"]
    assert [one.no_verdict for one in source][4:] == [
        "the judge said '0.5', which stands for no verdict",
        None,
        "the verdict is empty",
    ]


def test_an_unknown_word_far_down_is_a_reject_with_the_advice(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metajudge.readers.mapped.SURVEYED_ROWS", 2)
    source = opened(write("x.jsonl", row(), row(), row(winner="C"), row()))
    (reject,) = (one for one in source.scan() if isinstance(one, Reject))
    assert (reject.line, source.judgments) == (3, 3)
    assert reject.reason.startswith("verdict: 'C' is no verdict here")
    assert "--map-values C=tie" in reject.reason
    assert json.loads(reject.text)["winner"] == "C"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row(prompt=None), "question: column 'prompt' is empty"),
        (row(who=""), "judge: column 'who' is empty"),
        (row(output_1=None, output_2=None), "responses: 'output_1', 'output_2' are all empty"),
        (row(order="A,C"), "order names 'C'"),
        (row(m="[1]"), "meta: column 'm' is no JSON object"),
        (row(m="{"), "meta: column 'm' is no JSON object: "),
        ("half", "not JSON"),
    ],
)
def test_a_bad_row_is_reported_with_its_field_and_the_others_go_on(write: Write, bad: Any, reason: str) -> None:
    path = write("x.jsonl", row(), bad, row(who="claude"), row(order="BA", m='{"a": 1}'))
    source = opened(path, f"{MAP},order=order,meta=m")
    (reject,) = (one for one in source.scan() if isinstance(one, Reject))
    assert (reject.file, reject.line) == (str(path), 2)
    assert reason in reject.reason
    assert source.judgments == 3
    with pytest.raises(InputError, match=":2: "):
        list(opened(path, f"{MAP},order=order,meta=m", strict=True))


def test_the_order_shown(write: Write) -> None:
    rows = [row(o="BA"), row(o="B, A"), row(o=["B", "A"]), row(o='["B", "A"]'), row(o=None), row(o="", s="true")]
    found = opened(write("x.jsonl", *rows), f"{MAP},order=o,swapped=s")
    assert [one.order[0] for one in found] == ["B", "B", "B", "B", "A", "B"]


def test_chats_numbers_and_objects_become_text(write: Write) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (one,) = opened(write("x.jsonl", row(prompt=chat[:1], output_1=chat, output_2={"a": 1}, who=7)))
    assert (one.item.question, one.item.responses, one.judge) == ("Hi", {"A": "Hello", "B": '{"a":1}'}, "7")


def test_a_single_response_takes_grades(write: Write) -> None:
    path = write("x.jsonl", row(winner=7.5), row(winner="pass"))
    maps = "verdict=winner,question=prompt,responses.A=output_1,judge:=me"
    found = list(opened(path, maps, "pass=1"))
    assert [one.verdict.to_json() for one in found if one.verdict] == [7.5, 1.0]
    assert found[0].judge == "me"


def test_a_csv_file_with_more_than_two_answers_leaves_out_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("q,a,b,c,w,order\nq,1,2,,A,\nq,1,,3,C,ABC\n")
    first, second = opened(path, "question=q,responses.A=a,responses.B=b,responses.C=c,verdict=w,judge:=j,order=order")
    assert first.item.responses == {"A": "1", "B": "2"}
    assert second.item.responses == {"A": "1", "B": "", "C": "3"}
    assert str(second.verdict) == "C > A = B"


def test_a_folder_of_tables_is_read_with_a_mapping(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, winner in (("a", "A"), ("b", "B")):
        (folder / f"{name}.csv").write_text(f"prompt,output_1,output_2,winner,who\n?,x,y,{winner},g\n")
    (folder / "README.md").write_text("# Notes\n")
    with pytest.raises(InputError, match=r"contains no file of judgments \(found: README.md, a.csv, b.csv\)"):
        open_judgments([folder])
    assert [one.id for one in opened(folder)] == ["a:2", "b:2"]
