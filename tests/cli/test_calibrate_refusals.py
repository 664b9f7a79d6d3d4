"""``metajudge calibrate`` with what it cannot use: it says what, where and what to do, and never tracebacks."""

import json

import pytest

from metajudge.readers import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd

pytestmark = pytest.mark.slow  # a process each


def changed(record, **item):
    data = record.model_dump(mode="json")
    data["item"] |= item
    return data


def write_lines(path, records):
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Labelled judgments, the same spoilt in many ways, a calibration, and the same damaged in many ways."""
    folder = tmp_path_factory.mktemp("refusals")
    records = crowd(40)
    plain = [one.model_dump(mode="json") for one in records]
    write_jsonl(folder / "ok.jsonl", records)
    write_lines(folder / "unlabelled.jsonl", [changed(one, label=None) for one in records])
    write_lines(folder / "banana.jsonl", [changed(one, label="banana") for one in records])
    write_lines(folder / "stranger.jsonl", [changed(one, label="C>D") for one in records])
    write_lines(folder / "tied.jsonl", [changed(one, label="A=B") for one in records])
    write_lines(folder / "right.jsonl", [one.model_dump(mode="json") for one in records if one.correct])
    write_lines(folder / "silent.jsonl", [{**one, "rationale": ""} for one in plain])
    write_lines(folder / "two-contents.jsonl", [plain[0], {**plain[7], "id": plain[0]["id"]}, *plain[1:]])
    alone = [{**one, "verdict": one["verdict"].replace(">>", ">")} for one in plain if one["judge"] == "owl"]
    write_lines(folder / "alone.jsonl", [one for one in alone if one["order"] == ["A", "B"]])
    (folder / "empty.jsonl").touch()
    command = Command(folder)
    arguments = ("--signals", "peers", "--judge", "owl", "--share", "0.5", "--out", "cal.json")
    done = command("calibrate", "fit", "--data", "ok.jsonl", *arguments)
    assert done.returncode == 0, done.stderr
    text = (folder / "cal.json").read_text()
    good = json.loads(text)
    (folder / "truncated.json").write_text(text[: len(text) // 2])
    (folder / "nothing.json").touch()
    (folder / "binary.json").write_bytes(bytes(range(256)))
    (folder / "list.json").write_text("[1]")
    (folder / "foreign.json").write_text('{"a": 1}')
    (folder / "version.json").write_text(json.dumps({**good, "identity": {**good["identity"], "version": 99}}))
    (folder / "half.json").write_text(json.dumps({name: value for name, value in good.items() if name != "groups"}))
    for group in good["groups"]:
        for level in group["levels"]:
            level["design"]["features"].pop()
    (folder / "shape.json").write_text(json.dumps(good))
    return folder


@pytest.fixture
def calibrate(folder):
    command = Command(folder)
    return lambda *arguments: command("calibrate", *arguments)


def refusal(done):
    """What a refused command says on stderr."""
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("data", "signals", "said"),
    [
        ("unlabelled", "order", ("none of the 240 judgments has a label", "item.label")),
        ("banana", "order", ("banana.jsonl:1", "'banana'")),
        ("stranger", "order", ("label names 'C', 'D'", "stranger.jsonl:1")),
        ("tied", "order", ("none of the 240 judgments has a label that names a winner",)),
        ("right", "order", ("are right", "both right and wrong")),
        ("alone", "strength", ("strength is the same over the 40", "Add what varies", "`metajudge audit`")),
        ("silent", "order,rationale", ("the signal rationale is absent for every one of the 240 judgments",)),
        ("empty", "order", ("is empty",)),
        ("nowhere", "order", ("nowhere",)),
    ],
)
def test_data_that_cannot_be_fitted_on(calibrate, folder, data, signals, said):
    done = calibrate("fit", "--data", f"{data}.jsonl", "--signals", signals, "--out", "out.json")
    message = refusal(done)
    assert all(words in message for words in said), message
    assert not (folder / "out.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--folds", "41"), ("40 questions for 41 folds",)),
        (("--folds", "1"), ("--folds",)),
        (("--seed", "-1"), ("--seed",)),
        (("--share", "1.5"), ("1.5",)),
        (("--share", "nan"), ("strictly between 0 and 1",)),
        (("--signals", ""), ("no signal is named",)),
        (("--judge", "nobody"), ("the judges here are jay, owl, wren",)),
        (("--signals", "order,strength,peers"), ("beside peers order and strength change nothing for pairs",)),
        (("--per-judge",), ("--per-judge was removed: one model serves all judges",)),
        (("--signals", "peers,share"), ("no signal of a fit",)),
        (("--prior", "mine"), ("there is one prior, shipped",)),
    ],
)
def test_options_that_cannot_be_met(calibrate, arguments, said):
    message = refusal(calibrate("fit", "--data", "ok.jsonl", "--out", "out.json", *arguments))
    assert all(words in message for words in said), message


def test_one_judgment_id_with_two_contents_is_left_out_and_said_with_its_place(calibrate):
    done = calibrate("fit", "--data", "two-contents.jsonl", "--signals", "order", "--out", "two.json")
    assert done.returncode == 0
    assert "1 bad line was left out, the first at two-contents.jsonl:2" in done.stderr


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("truncated", "not valid JSON"),
        ("nothing", "not valid JSON"),
        ("binary", "not valid JSON"),
        ("list", "is no calibration"),
        ("foreign", "metajudge calibrate fit"),
        ("version", "version 99, this metajudge reads version 1"),
        ("half", "damaged calibration: groups"),
        ("shape", "damaged calibration: groups.0.levels.0"),
        ("nowhere", "cannot read nowhere.json"),
    ],
)
def test_files_that_are_no_calibration(calibrate, file, said):
    done = calibrate("threshold", "--calibration", f"{file}.json", "--data", "ok.jsonl", "--target", "0.7")
    assert said in refusal(done)


@pytest.mark.parametrize("target", ["1.0", "0", "-0.5", "85", "nan", "inf", "high"])
def test_targets_nobody_can_meet(calibrate, target):
    done = calibrate("threshold", "--calibration", "cal.json", "--data", "ok.jsonl", "--target", target)
    assert "target" in refusal(done)


@pytest.mark.parametrize("delta", ["0", "1", "-1", "2", "nan"])
def test_deltas_that_are_no_risk_or_all_of_it(calibrate, delta):
    done = calibrate(
        "threshold", "--calibration", "cal.json", "--data", "ok.jsonl", "--target", "0.7", "--delta", delta
    )
    assert "delta must lie strictly between 0 and 1" in refusal(done)


def test_a_calibration_for_another_judge_is_refused_unless_told_to(calibrate):
    asked = ("threshold", "--calibration", "cal.json", "--data", "ok.jsonl", "--target", "0.55", "--judge", "wren")
    message = refusal(calibrate(*asked))
    assert "judgments by wren, but it was fitted on owl" in message
    assert "--allow-other-calibration" in message
    told = calibrate(*asked, "--allow-other-calibration", "--out", "other.json")
    assert "outside the calibration's domain, where no guarantee applies" in refusal(told)


def test_a_threshold_without_labels_or_with_too_few_is_no_threshold(calibrate, folder):
    before = json.loads((folder / "cal.json").read_bytes())
    asked = ("threshold", "--calibration", "cal.json", "--target", "0.99", "--data")
    assert "no labelled judgment" in refusal(calibrate(*asked, "unlabelled.jsonl"))
    done = calibrate(*asked, "ok.jsonl")
    assert done.returncode == 1
    assert "not reachable" in done.stdout
    assert "The next look is tested at a level of 0.0125" in done.stdout
    after = json.loads((folder / "cal.json").read_bytes())
    looks = after.pop("looks")
    assert after == before, "the look alone is stored"
    assert len(looks["entries"]) == 1
