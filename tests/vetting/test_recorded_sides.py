"""Sides of a comparison: files, runs in a store, and stores of one panel."""

import json
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.store import RunRecord, open_store
from metajudge.store.run_results import RunResult
from metajudge.types import Assessment, Judgment
from metajudge.vetting.comparison import Labelled
from metajudge.vetting.recorded_sides import labelled_by, load_side, load_sides
from tests.doubles.judgments import judgment


def assessment(name, accepted, score=None, item=None, digest="d"):
    return Assessment.model_validate(
        {
            "judgment_id": name,
            "item_id": item or name,
            "judge": "j",
            "status": "unscored" if accepted is None else "assessed",
            "accepted": accepted,
            "final_score": score,
            "strategy": "single",
            "threshold": 4.5,
            "panel_digest": "p",
            "judgment_digest": f"{digest}-{name}",
            "metajudge_version": "0",
        }
    )


async def test_two_contents_of_one_id_in_a_file_cannot_be_paired(tmp_path):
    path = tmp_path / "out.jsonl"
    lines = [assessment("a", True), assessment("a", True, digest="other")]
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in lines))
    with pytest.raises(InputError, match="two different judgments"):
        await load_side(str(path), tmp_path / "none.duckdb")


@pytest.mark.parametrize(
    ("name", "said"), [("nobody", "there is no store"), (".", "is a folder"), ("x.jsonl", "no assessment")]
)
async def test_what_is_no_run_is_named(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text('{"id": "j"}\n')
    with pytest.raises(InputError, match=said):
        await load_side(name, Path("none.duckdb"))


async def kept(path, *runs):
    """A store with some runs, each of which kept one assessment by a panel of its own."""
    store = await open_store(path)
    for number, name in enumerate(runs):
        await store.start_run(RunRecord(name, "vet", float(number), "running", {"panel_digest": name}))
        one = judgment(f"j{number}")
        said = assessment(one.id, True).model_copy(update={"panel_digest": name, "judgment_digest": one.digest})
        await store.save_assessment(f"k{number}", one, said, name)
        await store.finish_run(name, "finished", float(number), {"judgments": 1})
    await store.close()


async def test_labels_given_later_count_and_other_contents_do_not(tmp_path):
    path = tmp_path / "out.jsonl"
    bare = judgment("j1", label=None)
    said = assessment("j1", True).model_copy(update={"judgment_digest": bare.digest})
    path.write_text(f"{said.model_dump_json()}\n")
    for given, there in ((judgment("j1"), True), (bare, False), (judgment("j1", verdict="B>A"), False)):
        side = await load_side(str(path), tmp_path / "none.duckdb")
        one, other = labelled_by((side, side), iter([given]))
        assert bool(one.labelled) is bool(other.labelled) is there


async def test_a_line_is_read_as_far_as_it_is_compared(tmp_path):
    path, known = tmp_path / "out.jsonl", assessment("a", True, 4.75).model_dump(mode="json")
    path.write_text(json.dumps(known | {"of a later version": 1}) + "\n")
    found = (await load_side(str(path), tmp_path / "none.duckdb")).results["a"]
    assert found == RunResult(0, 0, "a", "a", "d-a", "p", True, 4.75)
    path.write_text(json.dumps(known) + "\n" + json.dumps(known | {"accepted": "perhaps"}) + "\n")
    with pytest.raises(InputError, match=r"out.jsonl:2: no assessment: accepted: .*boolean"):
        await load_side(str(path), tmp_path / "none.duckdb")


async def test_a_run_is_found_by_the_beginning_of_its_id_where_that_is_enough(tmp_path):
    path = tmp_path / "store.duckdb"
    await kept(path, "aa1", "aa2", "b")
    assert list((await load_side("aa2", path)).results) == ["j1"]
    assert {name: one.truth.to_json() for name, one in (await load_side("b", path)).labelled.items()} == {"j2": "A>B"}
    with pytest.raises(InputError, match=r"2 runs in .* begin with 'aa'"):
        await load_side("aa", path)
    with pytest.raises(InputError, match=r"no run 'c' in .*the newest runs are: b \(vet\), aa2"):
        await load_side("c", path)
    with pytest.raises(InputError, match="by 3 panels: name a run"):
        await load_side(str(path), path)


async def test_labels_in_a_store_are_those_of_its_judgments(tmp_path):
    path = tmp_path / "store.duckdb"
    people = [{"value": value, "annotator": who} for who, value in (("a", "A>B"), ("b", "A=B"), ("c", "A>B"))]
    pair = judgment("people", label=None).model_dump(mode="json")
    graded = {"question": "How good?", "responses": {"A": "4"}, "scale": [1, 10], "label": 7}
    given = [
        judgment("own", verdict="B>>A"),
        judgment("none", label=None),
        judgment("silent", verdict=None, no_verdict="cut off"),
        Judgment.model_validate({**pair, "item": {**pair["item"], "labels": people}}),
        Judgment.model_validate({**pair, "id": "both", "item": {**pair["item"], "label": "B>A", "labels": people}}),
        Judgment.model_validate(
            {"id": "grade", "judge": "owl", "verdict": 6, "order": ["A"], "item": {"id": "g", **graded}}
        ),
    ]
    store = await open_store(path)
    await store.start_run(RunRecord("run", "vet", 1.0, "finished", {"panel_digest": "p"}))
    for number, one in enumerate(given):
        said = assessment(one.id, True, item=one.item.id).model_copy(update={"judgment_digest": one.digest})
        await store.save_assessment(f"k{number}", one, said, "run")
    await store.close()
    wanted = {one.id: Labelled.of(one) for one in given}
    for side in await load_sides("run", str(path), path):
        assert dict(side.labelled) == {name: one for name, one in wanted.items() if one is not None}
        assert set(side.labelled) == {"own", "people", "both", "grade"}
        assert list(side.results) == [one.id for one in given]
