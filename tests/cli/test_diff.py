"""``metajudge diff``: two runs paired by judgment."""

import json
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.store import RunRecord, open_store
from metajudge.types import Assessment
from metajudge.vetting.comparison import Side, compare
from metajudge.vetting.recorded_sides import load_side
from tests.doubles.judgments import judgment

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"


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


def side(name, *given, correct=None):
    return Side(name, {one.judgment_id: one for one in given}, correct or {})


def test_what_is_gained_and_lost_and_left_out():
    first = side(
        "one", *(assessment(f"j{n}", n < 4) for n in range(8)), assessment("only", True), assessment("u", None)
    )
    second = side("two", *(assessment(f"j{n}", n < 2 or n > 5) for n in range(8)), assessment("u", True))
    found = compare(first, second)
    assert (found.paired, found.only_first, found.only_second, found.undecided) == (9, 1, 0, (1, 0))
    assert (found.both_kept, found.neither_kept) == (2, 2)
    assert (found.gained, found.lost) == (("j6", "j7"), ("j2", "j3"))
    assert found.kept.value == 0
    assert found.kept.p_value == 1


def test_the_order_of_the_runs_only_turns_the_signs():
    first = side("one", *(assessment(f"j{n}", n % 3 == 0, 1.0 + n % 4) for n in range(30)))
    second = side("two", *(assessment(f"j{n}", n % 2 == 0, 2.0 + n % 3) for n in range(30)))
    there, back = compare(first, second), compare(second, first)
    assert there.kept.value == pytest.approx(-back.kept.value)
    assert there.score.value == pytest.approx(-back.score.value)
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert there.kept.p_value == back.kept.p_value
    assert there.kept.low <= there.kept.value <= there.kept.high


def test_mcnemar_is_left_out_where_judgments_of_one_item_hang_together():
    first = side("one", *(assessment(f"j{n}", True, item=f"i{n // 2}") for n in range(20)))
    second = side("two", *(assessment(f"j{n}", n % 4 > 1, item=f"i{n // 2}") for n in range(20)))
    found = compare(first, second)
    assert found.kept.p_value is None
    assert (found.kept.n, found.kept.items) == (20, 10)
    assert compare(side("one", *map(_alone, first.assessments.values())), second).kept.p_value is not None


def _alone(one):
    return one.model_copy(update={"item_id": one.judgment_id})


def test_precision_is_of_the_labelled_judgments_kept():
    correct = {f"j{n}": n % 2 == 0 for n in range(10)}
    first = side("one", *(assessment(f"j{n}", True) for n in range(12)), correct=correct)
    second = side("two", *(assessment(f"j{n}", n % 2 == 0) for n in range(12)))
    found = compare(first, second)
    assert (found.precision.first, found.precision.second, found.precision.n) == (0.5, 1.0, 10)
    assert found.right_lost == (0, 5)


def test_absent_figures_say_why_and_are_no_zeros():
    first = side("one", *(assessment(f"j{n}", True) for n in range(3)), correct={"j0": True})
    second = side("two", *(assessment(f"j{n}", False) for n in range(3)))
    found = compare(first, second)
    assert found.score.to_json().keys() == {"n", "items", "why_absent"}
    assert "no-early-exit" in found.score.why_absent
    assert "the second keeps none" in found.precision.why_absent
    assert (
        "no label"
        in compare(side("one", assessment("a", True)), side("two", assessment("a", True))).precision.why_absent
    )


def test_one_item_has_no_interval():
    found = compare(side("one", assessment("a", True, 3.0)), side("two", assessment("a", False, 5.0)))
    assert (found.score.value, found.score.low) == (2.0, None)
    assert "one item" in found.score.why_absent


def test_the_same_id_with_another_content_is_not_paired():
    first = side("one", assessment("a", True), assessment("b", True))
    second = side("two", assessment("a", False, digest="other"), assessment("b", True))
    assert (compare(first, second).paired, compare(first, second).changed_content) == (1, 1)
    with pytest.raises(InputError, match="1 share an id"):
        compare(first, side("two", assessment("a", False, digest="other")))


def test_nothing_in_common_is_an_error():
    with pytest.raises(InputError, match="no judgment in common"):
        compare(side("one", assessment("a", True)), side("two", assessment("b", True)))


async def test_two_contents_of_one_id_in_a_file_cannot_be_paired(tmp_path):
    path = tmp_path / "out.jsonl"
    lines = [assessment("a", True), assessment("a", True, digest="other")]
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in lines))
    with pytest.raises(InputError, match="two different judgments"):
        await load_side(str(path), tmp_path / "none.duckdb", {})


@pytest.mark.parametrize(
    ("name", "said"), [("nobody", "there is no store"), (".", "is a folder"), ("x.jsonl", "no assessment")]
)
async def test_what_is_no_run_is_named(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text('{"id": "j"}\n')
    with pytest.raises(InputError, match=said):
        await load_side(name, Path("none.duckdb"), {})


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


async def test_a_run_is_found_by_the_beginning_of_its_id_where_that_is_enough(tmp_path):
    path = tmp_path / "store.duckdb"
    await kept(path, "aa1", "aa2", "b")
    assert list((await load_side("aa2", path, {})).assessments) == ["j1"]
    assert (await load_side("b", path, {})).correct == {"j2": True}
    with pytest.raises(InputError, match=r"2 runs in .* begin with 'aa'"):
        await load_side("aa", path, {})
    with pytest.raises(InputError, match=r"no run 'c' in .*the newest runs are: b \(vet\), aa2"):
        await load_side("c", path, {})
    with pytest.raises(InputError, match="by 3 panels: name a run"):
        await load_side(str(path), path, {})


@pytest.mark.slow
def test_runs_in_a_store_and_their_files_say_the_same(metajudge):
    metajudge("vet", SAMPLE, "--threshold", "3.5", "--out", "low.jsonl")
    metajudge("vet", SAMPLE, "--out", "high.jsonl")
    metajudge("vet", SAMPLE)  # asks nothing: all is known, and read as the results of the panel
    again, _, low = (run["run_id"] for run in json.loads(metajudge("runs", "--json").stdout))
    by_run, code = metajudge.json("diff", low, again)
    by_file = metajudge("diff", "low.jsonl", "high.jsonl", "--labels", SAMPLE)
    assert code == 0
    assert by_run["paired"] == 96
    assert by_run["gained"] == []
    assert len(by_run["lost"]) == by_run["right_lost"][1] == 24
    assert "took 96 results from earlier runs" in by_run["notes"][0]
    assert "only by the first 24" in by_file.stdout
    assert f"difference {100 * by_run['precision']['value']:+.1f}" in by_file.stdout
    assert f"difference {100 * by_run['kept']['value']:+.1f}" in by_file.stdout
    assert "--json has all" in by_file.stdout
