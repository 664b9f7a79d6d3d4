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
    """Labelled judgments, the same without labels and with an id used twice, and a calibration."""
    folder = tmp_path_factory.mktemp("refusals")
    records = crowd(40)
    plain = [one.model_dump(mode="json") for one in records]
    write_jsonl(folder / "ok.jsonl", records)
    write_lines(folder / "unlabelled.jsonl", [changed(one, label=None) for one in records])
    write_lines(folder / "two-contents.jsonl", [plain[0], {**plain[7], "id": plain[0]["id"]}, *plain[1:]])
    command = Command(folder)
    arguments = ("--signals", "peers", "--judge", "owl", "--share", "0.5", "--out", "cal.json")
    done = command("calibrate", "fit", "--data", "ok.jsonl", *arguments)
    assert done.returncode == 0, done.stderr
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


def test_one_judgment_id_with_two_contents_is_left_out_and_said_with_its_place(calibrate):
    done = calibrate("fit", "--data", "two-contents.jsonl", "--signals", "order", "--out", "two.json")
    assert done.returncode == 0
    assert "1 bad line was left out, the first at two-contents.jsonl:2" in done.stderr


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
