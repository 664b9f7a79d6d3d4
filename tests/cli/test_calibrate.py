"""``metajudge calibrate`` as a user runs it: promises, kinds, labels of reviews, and what it cannot use."""

import json

import pytest

from metajudge import Engine
from metajudge.readers import write_jsonl
from metajudge.reviews.review import HumanDecision, PolicyUsed, ReviewOrigin
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded
from tests.doubles.judgments import review_on
from tests.reviewables.planted import in_store

SKILLS = {"owl": 0.92, "wren": 0.9, "jay": 0.5}


def without_label(one):
    return one.model_copy(update={"item": one.item.model_copy(update={"label": None})})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A calibration; labelled data of other questions."""
    folder = tmp_path_factory.mktemp("threshold")
    write_jsonl(folder / "fit.jsonl", crowd(100, seed=1, skills=SKILLS))
    write_jsonl(folder / "new.jsonl", crowd(160, seed=2, skills=SKILLS, prefix="n"))
    done = Command(folder)("calibrate", "fit", "--data", "fit.jsonl", "--share", "1", "--out", "cal.json")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def ask(made, tmp_path):
    (tmp_path / "cal.json").write_bytes((made / "cal.json").read_bytes())
    command = Command(tmp_path)

    def threshold(data, *more):
        return command(*("calibrate", "threshold", "--calibration", "cal.json", "--data", str(made / data)), *more)

    return threshold


def stored(tmp_path):
    return json.loads((tmp_path / "cal.json").read_text())


@pytest.mark.slow
def test_what_can_be_promised_is_one_look_over_targets_and_the_highest_is_stored(ask, tmp_path):
    done = ask("new.jsonl", "--target", "0.99", "--or-lower")
    assert done.returncode == 0, done.stderr
    (stamp,) = stored(tmp_path)["guarantees"]
    (entry,) = stored(tmp_path)["looks"]["entries"]
    assert 0.6 < stamp["target"] < 0.99
    assert (stamp["level"], stamp["look"], entry["target"]) == (pytest.approx(0.075), 1, 0.99)
    assert f"at least {100 * stamp['target']:g} % of all of them are right" in done.stdout
    assert f"level 0.075 of delta 0.1: passed at {stamp['target']:g}." in done.stdout
    assert ask("new.jsonl", "--target", "0.99", "--or-lower").stdout.startswith("The same look again")
    assert len(stored(tmp_path)["looks"]["entries"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("new.jsonl", ["--procedure", "graphical"], "leave it out for the default, `ranks`"),
        ("new.jsonl", ["--by", "judge", "--schedule", "anytime"], "declare another schedule"),
        ("new.jsonl", ["--by", "judge", "--or-lower"], "leave out --by or --or-lower"),
        ("new.jsonl", ["--procedure", "e_process", "--or-lower"], "leave out the lower targets"),
    ],
)
def test_what_cannot_be_promised_is_refused_and_spends_nothing(ask, tmp_path, data, more, message):
    done = ask(data, "--target", "0.8", *more)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "looks" not in stored(tmp_path)


@pytest.mark.slow
def test_thresholds_lie_in_ranks_of_the_unlabelled_questions_where_they_are_more_than_the_fits(ask, made, tmp_path):
    rest = crowd(130, seed=6, skills=SKILLS, prefix="u")
    write_jsonl(made / "more.jsonl", [*crowd(80, seed=3, skills=SKILLS, prefix="s"), *map(without_label, rest)])
    asked = {"more.jsonl": (), "new.jsonl": (), "more.jsonl by bets": ("--procedure", "e_process")}
    origins = []
    for data, more in asked.items():
        done = ask(data.split()[0], "--target", "0.8", "--judge", "owl", *more, "--json")
        assert done.returncode == 0, done.stderr
        origins += [one["procedure"]["origin"] for one in stored(tmp_path)["guarantees"]]
    assert origins[0] == "ranks of 260 scores without labels of 130 other questions"
    # Nothing without a label; and bets, whose thresholds stay the same while labels are added: the questions of the fit.
    assert origins[1] == origins[2] == "ranks of 600 scores without labels of 600 other questions"


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
    asked = ("threshold", "--calibration", "cal.json", "--data", "ok.jsonl", "--target", "0.55", "--judge", "wren")
    message = refusal(calibrate(*asked))
    assert "judgments by wren, but it was fitted on owl" in message
    assert "--allow-other-calibration" in message
    told = calibrate(*asked, "--allow-other-calibration", "--out", "other.json")
    assert "outside the calibration's domain, where no guarantee applies" in refusal(told)


@pytest.mark.slow
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


def test_labels_under_one_instruction_are_fitted_and_promised_by_item(tmp_path):
    given = [
        one.model_copy(update={"item": one.item.model_copy(update={"question": "Is it good?"}), "meta": {"day": "x"}})
        for one in graded(120)
    ]
    write_jsonl(tmp_path / "labels.jsonl", given)
    command = Command(tmp_path)
    done = command(
        "calibrate", "fit", "--data", "labels.jsonl", "--signals", "peers", "--share", ".5", "--out", "c.json"
    )
    assert done.returncode == 0, done.stderr
    assert "One text covers 120 of 120 items" in done.stderr
    assert " judgments of 60 questions by" in done.stdout
    made = json.loads((tmp_path / "c.json").read_text())
    assert (made["recipe"], len(made["provenance"]["questions"])) == ({"unit": "item", "fit": 1}, 60)
    options = ("calibrate", "threshold", "--calibration", "c.json", "--data", "labels.jsonl", "--target", ".6")
    done = command(*options)
    assert done.returncode == 0, done.stderr
    assert "on new items like the 60 the threshold was set on" in done.stdout
    refused = command(*options, "--unit", "question")
    assert refused.returncode == 2
    assert (
        "this calibration was fitted by item: give `--unit item`, or fit it again: `metajudge calibrate fit --unit "
        in (refused.stderr)
    )
    done = command("vet", "labels.jsonl", "--calibration", "c.json", "--out", "o.jsonl", "--store", "s.db")
    lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    fitted = {name for names in made["provenance"]["questions"].values() for name in names}
    assert {one["judgment_id"] for one in lines if "seen" in str(one["probability_marks"])} >= fitted
    assert ", 120 questions)" in done.stdout
    assert (
        "1 text covers all 120 items" in command("vet", "labels.jsonl", "--unit", "question", "--store", "t.db").stdout
    )
    done = command("calibrate", "fit", "--data", "labels.jsonl", "--unit", "day", "--out", "d.json")
    assert done.returncode == 2
    assert "there are 1 questions for 5 folds" in done.stderr
