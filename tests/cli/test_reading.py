"""Files of others in every command that reads them: asked, refused or counted, never guessed."""

import json
import os
import pty
import select
import sys
from pathlib import Path

import pytest

from metajudge.auditing import audit_judgments
from metajudge.cli.inputs import Labelling, Reading
from metajudge.reading import open_judgments
from metajudge.types import Grade

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
        assert f"{value} (" in said
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


TABLE = """qid,prompt,output_1,output_2,model_1,model_2,winner,why
1,What is 2+2?,4,5,gpt-4o,llama,gpt-4o,"four, of course"
2,Capital of France?,Paris,Lyon,gpt-4o,llama,tie,
3,Say hi,"hi
there",hello,gpt-4o,llama,llama,b
4,Say ho,yo,ho,gpt-4o,llama,Tie,b
"""
MAP = "verdict=winner,question=prompt,responses.A=output_1,responses.B=output_2,models.A=model_1,models.B=model_2,judge:=me"


def test_files_with_the_same_ids_are_told_apart_on_request(in_process, tmp_path):
    for name, winner in (("a.csv", "gpt-4o"), ("b.csv", "llama")):
        row = f"1,What is 2+2?,4,5,gpt-4o,llama,{winner},\n"
        (tmp_path / name).write_text(TABLE.splitlines()[0] + "\n" + row)
    clash = in_process("vet", "a.csv", "b.csv", "--map", f"{MAP},id=qid", "--out", "o.jsonl")
    assert clash.returncode == 0
    (reject,) = (tmp_path / "o.jsonl.rejects.jsonl").read_text().splitlines()
    assert json.loads(reject)["reason"] == (
        "id '1' is already used for another judgment at a.csv:2; --prefix-ids puts each file's name before its ids"
    )
    told = in_process("vet", "a.csv", "b.csv", "--prefix-ids", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["judgments"] == 2


def test_standard_input_can_be_a_table(in_process):
    found = in_process("vet", "-", "--map", MAP, "--json", stdin=TABLE)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["judgments"] == 4


def test_meanings_saved_for_the_verdicts_hold_for_the_labels(in_process, tmp_path):
    (tmp_path / "w.csv").write_text("id,question,response,judge,verdict\n1,?,x,g,pass\n2,?,y,g,fail\n")
    (tmp_path / "p.csv").write_text("id,human\n1,pass\n2,pass\n")
    mapping = "id=id,question=question,responses.A=response,judge=judge,verdict=verdict"
    first = in_process(
        "vet", "w.csv", "--map", mapping, "--map-values", "pass=1,fail=0", "--strategy", "signals", "--json"
    )
    assert first.returncode == 0, first.stderr
    again = in_process("vet", "w.csv", "--labels", "p.csv", "--strategy", "signals", "--json")
    assert "2 of 2 labels joined by the judgment's id" in again.stdout
    source = open_judgments([tmp_path / "w.csv"])
    assert [one.verdict for one in source] == [Grade(1.0), Grade(0.0)]
    joined = Reading().open(["w.csv"], labelling=Labelling(labels=[tmp_path / "p.csv"]))
    assert [one.item.truth for one in joined] == [Grade(1.0), Grade(1.0)]


UNNAMED = "xyz,foo,bar,baz\n" + "".join(f"Why {n}?,a{n},b{n},{'foo' if n % 2 else 'bar'}\n" for n in range(6))


@pytest.mark.slow
def test_a_conversation_ends_with_a_mapping_that_vet_uses(metajudge):
    folder = metajudge.folder
    (folder / "t.csv").write_text(UNNAMED)
    done = talk(folder, ["import", "t.csv"], ["gpt", ""])
    assert "Who judged: a column, or a name for all rows?" in done
    assert "baz  bar | foo" in done
    assert "Saved in metajudge-inputs.toml: 6 judgments" in done
    vetted = metajudge("vet", "t.csv", "--json")
    assert '"judgments":6' in vetted.stdout
    left = talk(folder, ["import", "t.csv"], ["q"])
    assert "Nothing was saved." in left


def talk(folder: Path, words: list[str], answers: list[str]) -> str:
    """What a terminal shows; each answer is given when a question stands at the end of the output."""
    child, screen = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "metajudge", *words])
    shown, waiting = "", list(answers)
    while True:
        select.select([screen], [], [], 60)
        try:
            piece = os.read(screen, 65536).decode()
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if waiting and shown.endswith(": "):
            os.write(screen, f"{waiting.pop(0)}\n".encode())
    os.waitpid(child, 0)
    os.close(screen)
    return shown


GRADES = "item_id,question,response,judge,grade\n" + "".join(
    f"q{n},What is {n} + {n}?,{2 * n}.,{judge},{1 + (n + shift) % 5}\n"
    for n in range(20)
    for judge, shift in (("owl", 0), ("wren", n % 2))
)
PEOPLE = "item_id,annotator,grade\n" + "".join(f"q{n},ada,{1 + n % 5}\n" for n in range(15))


@pytest.fixture
def files(tmp_path):
    """A table of grades and a table of people's labels."""
    (tmp_path / "my grades.csv").write_text(GRADES)
    (tmp_path / "people.csv").write_text(PEOPLE)


class TestOutputs:
    def test_an_input_in_the_folder_is_not_replaced(self, in_process, files, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "audit.json").write_text("[]")
        done = in_process("audit", "out/audit.json", "--out", "out")
        assert (done.returncode, "out/audit.json" in done.stderr) == (2, True)
        assert (tmp_path / "out" / "audit.json").read_text() == "[]"

    def test_a_file_in_place_of_the_folder_is_refused(self, in_process, files):
        done = in_process("audit", "my grades.csv", "--out", "people.csv")
        assert done.returncode == 2
        assert "people.csv" in done.stderr
