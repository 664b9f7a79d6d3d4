"""``metajudge calibrate`` as a user runs it: promises, kinds, labels of reviews, and what it cannot use."""

import json

import pytest

from metajudge import Engine
from metajudge.reading import write_jsonl
from metajudge.reviews.review import HumanDecision, PolicyUsed, ReviewOrigin
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd
from tests.doubles.judgments import review_on
from tests.reviewables.planted import in_store


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


@pytest.mark.slow
def test_one_judgment_id_with_two_contents_is_left_out_and_said_with_its_place(calibrate):
    done = calibrate("fit", "--data", "two-contents.jsonl", "--signals", "order", "--out", "two.json")
    assert done.returncode == 0
    assert "1 bad line was left out, the first at two-contents.jsonl:2" in done.stderr


@pytest.mark.slow
def test_a_calibration_for_another_judge_is_refused_unless_told_to(calibrate):
    asked = (
        "threshold",
        "--calibration",
        "cal.json",
        "--data",
        "ok.jsonl",
        "--target",
        "0.55",
        "--judge",
        "wren",
        "--labels-drawn",
        "random",
    )
    message = refusal(calibrate(*asked))
    assert "judgments by wren, but it was fitted on owl" in message
    assert "--allow-other-calibration" in message
    told = calibrate(*asked, "--allow-other-calibration", "--out", "other.json")
    assert "outside the calibration's domain, where no guarantee applies" in refusal(told)


@pytest.mark.slow
def test_a_threshold_without_labels_is_none_and_with_too_few_it_promises_less(calibrate, folder):
    before = json.loads((folder / "cal.json").read_bytes())
    asked = ("threshold", "--labels-drawn", "random", "--calibration", "cal.json", "--judge", "owl", "--target", "0.99")
    asked = (*asked, "--data")
    assert "no labelled judgment" in refusal(calibrate(*asked, "unlabelled.jsonl"))
    done = calibrate(*asked, "ok.jsonl")
    assert "99 % is not reached" in done.stdout + done.stderr
    assert "The next look is tested at a level of 0.0125" in done.stdout
    after = json.loads((folder / "cal.json").read_bytes())
    looks, (promise,) = after.pop("looks"), after.pop("guarantees")
    assert promise["target"] < 0.99
    assert before.pop("guarantees") == []
    assert after == before, "the look and the lower promise alone are stored"
    assert len(looks["entries"]) == 1


USED = PolicyUsed(name="careful", digest="p1")
RECORDS = crowd(60)
UNLABELLED = [one.model_copy(update={"item": one.item.model_copy(update={"label": None})}) for one in RECORDS]


def fill(path, *, audited, decided=slice(None)):
    """A store in which people decided the judgments by their true labels."""

    how = {"action": "APPROVE", "origin": ReviewOrigin.AUDIT, "inclusion": 0.5} if audited else {}

    async def main(store):
        async with Engine(store=store) as engine:
            await engine.vet_all(UNLABELLED)
        opened = [review_on(one, policy=USED, verdict=one.verdict, judge=None, **how) for one in UNLABELLED[decided]]
        await store.reviews.open(opened)
        said = {one.id: "approve" if one.correct else "reject" for one in RECORDS[decided]}
        await store.reviews.import_decisions(
            [HumanDecision(review_id=name, reviewer="ada", outcome=one, decided_at=2.0) for name, one in said.items()]
        )

    in_store(path, main)


def fit(metajudge, *arguments):
    return metajudge("calibrate", "fit", "--reviews", "--signals", "peers", "--out", "cal.json", *arguments)


@pytest.mark.slow
def test_labels_of_people_give_the_fit_of_true_labels(metajudge):
    fill(metajudge.folder / "metajudge.db", audited=False)
    done = fit(metajudge)
    assert done.returncode == 0, done.stderr
    assert "360 human reviews of what a policy found doubtful" in done.stdout
    assert "biased there" in done.stdout
    write_jsonl(metajudge.folder / "labelled.jsonl", RECORDS)
    metajudge("calibrate", "fit", "--data", "labelled.jsonl", "--signals", "peers", "--out", "true.json")
    mine, true = (json.loads((metajudge.folder / name).read_text()) for name in ("cal.json", "true.json"))
    stored = [
        {k: v for one in each["provenance"]["questions"].values() for k, v in one.items()} for each in (mine, true)
    ]
    assert stored[0] == pytest.approx(stored[1], abs=1e-6)
    assert "selection" in mine["provenance"]
    assert "selection" not in true["provenance"]


@pytest.mark.slow
def test_an_audited_share_is_weighted_and_said(metajudge):
    fill(metajudge.folder / "metajudge.db", audited=True)
    done = fit(metajudge)
    assert done.returncode == 0, done.stderr
    assert "360 of them a random share" in done.stdout


@pytest.mark.slow
def test_without_labels_it_says_where_to_get_them(metajudge):
    fill(metajudge.folder / "metajudge.db", audited=False, decided=slice(0))
    done = fit(metajudge)
    assert done.returncode == 2
    assert "metajudge review next" in done.stderr
