"""One file with values that may mean several things, through every command that reads it: asked, refused or counted."""

import json

import pytest

from metajudge.auditing import audit_judgments

TRUTH = [1 + n % 5 for n in range(24)]


def single(name, verdicts, labels):
    rows = [
        f"{n},Question {n}?,Answer {n},j1,{said},{label}"
        for n, (said, label) in enumerate(zip(verdicts, labels, strict=True))
    ]
    return "\n".join([f"item_id,question,response,judge,{name},human_{name}", *rows]) + "\n"


def pairs(winners, labels):
    rows = [
        f"{n},Prompt {n},first {n},second {n},claude,{one},{label}"
        for n, (one, label) in enumerate(zip(winners, labels, strict=True))
    ]
    return "\n".join(["id,prompt,response_a,response_b,judge,winner,human_winner", *rows]) + "\n"


SIDES = ["A" if n % 3 else "B" for n in range(24)]
INDEX = [("B" if side == "A" else "A") if n % 6 == 0 else side for n, side in enumerate(SIDES)]
"""Winners of a judge that is right 20 of 24 times."""
PASSES = ["pass" if n % 2 else "fail" for n in range(24)]
FAILING = ["ERROR", "parse_error", "timeout", "failed", "#N/A", "[ERROR] 429"]
FILES = {
    "zero_one.csv": pairs(["AB".index(one) for one in INDEX], SIDES),
    "one_two.csv": pairs([1 + "AB".index(one) for one in INDEX], SIDES),
    "labels.csv": pairs(INDEX, ["AB".index(one) for one in SIDES]),
    "ternary.csv": single("score", [(-1, 0, 1)[n % 3] for n in range(24)], [(0, 1)[n % 2] for n in range(24)]),
    "errors.csv": single("verdict", [FAILING[n // 4] if n % 4 == 0 else PASSES[n] for n in range(24)], PASSES),
    "unsure.csv": single(
        "verdict",
        PASSES,
        [("unsure", "skip", "?", "can't tell")[n // 6] if n % 6 == 0 else PASSES[n] for n in range(24)],
    ),
    "codes.csv": single(
        "score",
        [-1 if n % 4 == 0 else one for n, one in enumerate(TRUTH)],
        [99 if n % 4 == 1 else one for n, one in enumerate(TRUTH)],
    ),
    "tens.csv": single("score", [2 * one for one in TRUTH], TRUTH),
}


@pytest.fixture
def ask(in_process, tmp_path):
    """A command on one of the files."""

    def _ask(command, file, *more):
        (tmp_path / file).write_text(FILES[file])
        words = command.split()
        return in_process(*words, *([] if "--data" in words or file in words else [file]), *more)

    return _ask


def card(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["judges"][0]


@pytest.mark.parametrize("file", ["zero_one.csv", "one_two.csv", "labels.csv", "ternary.csv"])
@pytest.mark.parametrize(
    "command", ["audit", "vet", "bench file", "calibrate fit --out c.json --data", "import --yes", "inspect"]
)
def test_no_meaning_is_guessed(ask, command, file):
    words = (*command.split(), file) if "--data" in command else (command,)
    done = ask(" ".join(words), file)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 or command == "inspect"
    if file == "ternary.csv" and command in ("vet", "bench file", "calibrate fit --out c.json --data"):
        return  # they say that the columns are to be named, before they look at values
    for value in {"zero_one.csv": "01", "one_two.csv": "12", "labels.csv": "01"}.get(file, ["-1"]):
        assert f"'{value}'" in said
        assert f"{value}=MEANING" in said or command == "inspect"


@pytest.mark.parametrize(
    ("file", "values", "accuracy"),
    [
        ("zero_one.csv", "0=A,1=B", 20 / 24),
        ("zero_one.csv", "0=B,1=A", 4 / 24),
        ("one_two.csv", "verdict:1=A,verdict:2=B", 20 / 24),
        ("labels.csv", "label:0=A,label:1=B", 20 / 24),
        ("tens.csv", "label:1=2,label:2=4,label:3=6,label:4=8,label:5=10", 1.0),
        ("errors.csv", "ERROR=fail,parse_error=fail,timeout=fail,failed=fail,#N/A=fail,[ERROR] 429=fail", 1.0),
    ],
)
def test_what_the_user_maps_counts(ask, file, values, accuracy):
    assert card(ask("audit --json", file, "--map-values", values))["accuracy"] == pytest.approx(accuracy)


def test_words_for_no_answer_are_no_verdict_and_no_label(ask):
    found = card(ask("audit --json", "errors.csv"))
    assert (found["accuracy"], found["n_labelled"], found["n_no_verdict"]) == (1.0, 18, 6)
    found = card(ask("audit --json", "unsure.csv"))
    assert (found["accuracy"], found["n_labelled"], found["n_no_verdict"]) == (1.0, 20, 0)
    told = " ".join(ask("audit", "unsure.csv").stdout.split())
    assert "No labels but words for none, in column 'human_verdict': 'unsure' (1), 'skip' (1)" in told


def test_numbers_outside_the_scale_are_no_grade(ask):
    found = card(ask("audit --json", "codes.csv"))
    assert (found["accuracy"], found["n_labelled"], found["n_no_verdict"]) == (1.0, 12, 6)
    assert found["figures"]["mean"]["estimate"] == pytest.approx(sum(one for n, one in enumerate(TRUTH) if n % 4) / 18)
    assert found["figures"]["label_mean"]["n"] == 12


def test_two_scales_give_a_sentence_and_no_figure(ask):
    done = ask("audit --json", "tens.csv")
    found = card(done)
    assert (found["accuracy"], found["n_labelled"], found["kappa"]) == (None, 0, None)
    assert [one["name"] for one in found["checks"] if one["reference"] == "labels"] == []
    notes = " ".join(json.loads(done.stdout)["notices"])
    assert "j1 grades from 2 to 10, people from 1 to 5" in notes
    assert "Spearman's rank correlation of j1 and people: 1.000 (n = 24)." in notes
    assert card(ask("audit --json", "tens.csv", "--map", "scale:=1..10"))["accuracy"] == 0.0
    ask("import --yes", "tens.csv")
    for command in ("bench file", "calibrate fit --out c.json --data tens.csv"):
        refused = ask(command, "tens.csv")
        assert refused.returncode != 0
        assert "j1 grades from 2 to 10, people from 1 to 5" in refused.stderr
    vetted = ask("vet --json", "tens.csv")
    assert "j1 grades from 2 to 10, people from 1 to 5" in vetted.stderr


def test_judges_on_two_scales_are_no_peers(in_process, tmp_path):
    rows = [
        f"{n},Q {n}?,R {n},{judge},{factor * one}"
        for n, one in enumerate(TRUTH)
        for judge, factor in zip("abc", (1, 20, 1), strict=True)
    ]
    (tmp_path / "two.csv").write_text("item_id,question,response,judge,score\n" + "\n".join(rows) + "\n")
    done = in_process("audit", "two.csv", "--json")
    found = {one["judge"]: one["figures"].get("peer_agreement") for one in json.loads(done.stdout)["judges"]}
    assert (found["a"]["estimate"], found["b"], found["c"]["estimate"]) == (1.0, None, 1.0)
    in_process("import", "two.csv", "--yes")
    in_process("vet", "two.csv", "--out", "o.jsonl")
    peers = {}
    for line in (tmp_path / "o.jsonl").read_text().splitlines():
        one = json.loads(line)
        peers.setdefault(one["judge"], set()).add(one["signals"]["peers"]["state"])
    assert peers == {"a": {"for"}, "b": {"no_peers"}, "c": {"for"}}


def test_a_column_called_item_makes_no_record_of_our_own(in_process, tmp_path):
    text = FILES["errors.csv"].replace("item_id,", "item,")
    (tmp_path / "t.csv").write_text(text)
    assert card(in_process("audit", "t.csv", "--json"))["n_labelled"] == 18


def record(number, verdict, label):
    item = {"id": f"i{number}", "question": f"q{number}", "responses": {"A": f"a{number}"}, "label": label}
    return {"id": f"j{number}", "item": item, "judge": "j1", "verdict": verdict}


@pytest.mark.parametrize(
    ("verdicts", "labels", "expected"),
    [
        ([FAILING[n // 4] if n % 4 == 0 else PASSES[n] for n in range(24)], PASSES, (1.0, 18, 6)),
        ([-1 if n % 4 == 0 else one for n, one in enumerate(TRUTH)], TRUTH, (1.0, 18, 6)),
        ([2 * one for one in TRUTH], TRUTH, (None, 0, 0)),
    ],
)
def test_records_of_our_own_are_read_alike(in_process, tmp_path, verdicts, labels, expected):
    given = [record(n, *one) for n, one in enumerate(zip(verdicts, labels, strict=True))]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))
    for found in (
        card(in_process("audit", "r.jsonl", "--json")),
        audit_judgments(given).judges[0].model_dump(mode="json"),
    ):
        assert (found["accuracy"], found["n_labelled"], found["n_no_verdict"]) == expected


def test_a_record_whose_word_may_be_either_is_refused(in_process, tmp_path):
    given = [record(n, "error" if n % 2 else "correct", "correct") for n in range(4)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))
    done = in_process("audit", "r.jsonl")
    assert done.returncode != 0
    assert "'error' (2) may be an answer or stand for none: write null" in done.stderr
