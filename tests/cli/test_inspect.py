"""``metajudge inspect``, and foreign tables in the commands that take judgments."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from metajudge.cli import main
from metajudge.cli.inputs import Labelling, Reading
from metajudge.readers import open_judgments
from metajudge.types import Grade

Run = Callable[..., SimpleNamespace]

TABLE = """qid,prompt,output_1,output_2,model_1,model_2,winner,why
1,What is 2+2?,4,5,gpt-4o,llama,gpt-4o,"four, of course"
2,Capital of France?,Paris,Lyon,gpt-4o,llama,tie,
3,Say hi,"hi
there",hello,gpt-4o,llama,llama,b
4,Say ho,yo,ho,gpt-4o,llama,Tie,b
"""
MAP = "verdict=winner,question=prompt,responses.A=output_1,responses.B=output_2,models.A=model_1,models.B=model_2,judge:=me"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in this process (a new one costs a second) and in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("METAJUDGE_STORE", raising=False)

    def _run(*arguments: str, stdin: str = "") -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["metajudge", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=out, stderr=err)

    return _run


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(TABLE)
    return path


def test_a_guess_is_shown_with_reasons_three_records_and_the_command(run: Run, votes: Path) -> None:
    found = run("inspect", "votes.csv")
    assert found.returncode == 1, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == "votes.csv: CSV, 4 rows, 8 columns"
    assert any(line.startswith("  verdict      = winner") and "gpt-4o, tie, llama, Tie" in line for line in lines)
    assert [line for line in lines if line[:2] in ("1.", "2.", "3.", "4.")] == [
        "1. votes:2",
        "2. votes:3",
        "3. votes:4",
    ]
    assert "  no column names the judge: --map judge=COLUMN, or judge:=NAME for one judge" in lines
    assert lines[-1] == "To be asked about each column, and save the answers: metajudge import votes.csv"
    assert lines[-2].startswith("To read it like this: metajudge vet votes.csv --map verdict=winner,")
    assert lines[-2].endswith("--map judge:=NAME")


def test_the_guess_with_a_judge_is_complete_and_kept_on_request(run: Run, votes: Path, tmp_path: Path) -> None:
    found = run("inspect", "votes.csv", "--judge", "me", "--save")
    assert found.returncode == 0, found.stderr
    assert "votes.csv: CSV, mapped, 4 judgments" in found.stdout
    assert "Verdicts: A=B 2, A>B 1, B>A 1" in found.stdout
    assert "the mapping of votes.csv is saved in metajudge-inputs.toml" in found.stderr
    vetted = run("vet", "votes.csv", "--json")
    assert vetted.returncode == 0, vetted.stderr
    assert json.loads(vetted.stdout)["judgments"] == 4
    again = run("inspect", "votes.csv")
    assert "Read by the mapping saved in metajudge-inputs.toml:" in again.stdout


def test_json_has_the_mapping_with_its_reasons_and_null_for_what_is_not_counted(run: Run, votes: Path) -> None:
    data = json.loads(run("inspect", "votes.csv", "--json").stdout)
    assert data["mapping"]["columns"]["responses.B"] == "output_2"
    assert data["missing"] == ["judge"]
    assert (data["judgments"], data["rejects"], data["rows"], data["complete"]) == (None, None, 4, False)
    assert {one["confidence"] for one in data["guess"]} <= {"high", "medium", "low"}
    assert [one["verdict"] for one in data["records"]] == ["A>B", "A=B", "B>A"]


def test_known_formats_need_no_mapping(run: Run, tmp_path: Path) -> None:
    item = {"id": "q", "question": "?", "responses": {"A": "x", "B": "y"}}
    rows = [{"id": f"j{n}", "item": item, "judge": "g", "verdict": "A>B"} for n in range(5)] + ["bad"]
    (tmp_path / "own.jsonl").write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    assert run("inspect", "own.jsonl", "--strict").returncode == 1
    found = run("inspect", "own.jsonl", "--save", "--records", "1")
    assert found.returncode == 0
    assert found.stdout.startswith(
        "own.jsonl: metajudge JSONL, 5 judgments, 1 records that cannot be read\nJudges: g 5\n"
    )
    assert "own.jsonl:6: not JSON: the line starts with 'bad'" in found.stdout
    assert "needs no mapping" in found.stderr
    assert not (tmp_path / "metajudge-inputs.toml").exists()


@pytest.mark.parametrize("command", ["inspect", "vet"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--map", "verdict=winer"),
            "votes.csv has no column 'winer', mapped to verdict. Did you mean verdict=winner?",
        ),
        (("--map", "verdit=winner"), "is not FIELD=COLUMN"),
        (("--map-values", "tie"), "'tie' is not VALUE=MEANING"),
    ],
)
def test_a_wrong_mapping_is_a_users_error(
    run: Run, votes: Path, command: str, arguments: tuple[str], message: str
) -> None:
    found = run(command, "votes.csv", *arguments)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_what_is_not_there_or_no_table_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("a,b\n")
    (tmp_path / "notes.txt").write_text("Hello.\n")
    for name in ("missing.csv", "empty.csv", "notes.txt"):
        found = run("inspect", name)
        assert (found.returncode, found.stdout) == (2, ""), name
        assert name in found.stderr


def test_vet_keeps_a_mapping_and_needs_none_the_second_time(run: Run, votes: Path, tmp_path: Path) -> None:
    first = run("vet", "votes.csv", "--map", MAP, "--json")
    assert first.returncode == 0, first.stderr
    assert "the next run needs no --map" in first.stderr
    second = run("vet", "votes.csv", "--json")
    assert second.returncode == 0, second.stderr
    assert "needs no --map" not in second.stderr
    assert json.loads(second.stdout)["judgments"] == 4


def test_vet_stops_at_words_it_does_not_know_and_learns_them(run: Run, votes: Path) -> None:
    votes.write_text(TABLE + "5,Say he,he,ho,gpt-4o,llama,C,\n6,Say he,he,hu,gpt-4o,llama,0.5,\n")
    found = run("vet", "votes.csv", "--map", MAP)
    assert found.returncode == 2
    assert "'C' (1), '0.5' (1) in column 'winner' are no verdicts here, first at votes.csv:7" in found.stderr
    told = run("vet", "votes.csv", "--map", MAP, "--map-values", "C=tie,0.5=tie", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(run("vet", "votes.csv", "--json").stdout)["judgments"] == 6


def test_files_with_the_same_ids_are_told_apart_on_request(run: Run, tmp_path: Path) -> None:
    for name, winner in (("a.csv", "gpt-4o"), ("b.csv", "llama")):
        row = f"1,What is 2+2?,4,5,gpt-4o,llama,{winner},\n"
        (tmp_path / name).write_text(TABLE.splitlines()[0] + "\n" + row)
    clash = run("vet", "a.csv", "b.csv", "--map", f"{MAP},id=qid", "--out", "o.jsonl")
    assert clash.returncode == 0
    (reject,) = (tmp_path / "o.jsonl.rejects.jsonl").read_text().splitlines()
    assert json.loads(reject)["reason"] == (
        "id '1' is already used for another judgment at a.csv:2; --prefix-ids puts each file's name before its ids"
    )
    told = run("vet", "a.csv", "b.csv", "--prefix-ids", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["judgments"] == 2


def test_standard_input_can_be_a_table(run: Run) -> None:
    found = run("vet", "-", "--map", MAP, "--json", stdin=TABLE)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["judgments"] == 4


@pytest.mark.parametrize(
    "command",
    [
        ("calibrate", "fit", "--data", "votes.csv", "--signals", "strength", "--out", "cal.json"),
        ("export", "preferences", "--out", "pairs", "--all", "--assessments", "a.jsonl", "--judgments", "votes.csv"),
        ("judge", "votes.csv", "--judge", "openai:x", "--out", "j.jsonl", "--dry-run"),
        ("vet", "votes.csv", "--dry-run"),
    ],
)
def test_every_command_that_takes_judgments_reads_a_kept_table(run: Run, votes: Path, command: tuple[str, ...]) -> None:
    assert run("vet", "votes.csv", "--map", MAP, "--out", "a.jsonl").returncode == 0
    found = run(*command)
    said = found.stdout + found.stderr
    assert "no known format" not in said
    if command[0] == "calibrate":
        assert "label" in said  # it was read; the table has no labels to learn from
    else:
        assert found.returncode == 0, said


GRADES = """id,question_id,model,question,response,judge,judge_score
g1,q1,m1,2+2?,4,gpt,5
g2,q1,m2,2+2?,5,gpt,1
g3,q2,m1,3+3?,6,gpt,4
g4,q2,m2,3+3?,7,gpt,2
"""
PEOPLE = """question_id,model,human_score,annotator
q1,m1,5,anna
q1,m1,4,ben
q1,m2,1,anna
q9,m1,4,anna
"""


def test_kinds_people_and_the_rule_are_shown_for_two_files_without_a_mapping(run: Run, tmp_path: Path) -> None:
    (tmp_path / "grades.csv").write_text(GRADES)
    (tmp_path / "people.csv").write_text(PEOPLE)
    found = run("inspect", "grades.csv", "--labels", "people.csv", "--save")
    assert found.returncode == 0, found.stderr
    assert "Kind: 4 grades from 1 to 5; right: equal" in found.stdout
    assert "Labels by people: 3 on 2 of 4 items (labels an item: 1 on 1, 2 on 1), by anna 2, ben 1" in found.stdout
    assert "3 of 4 labels joined by the item's id and the response (column 'question_id' and 'model')" in found.stdout
    assert "1 label without a judgment, the first: q9/m1 at people.csv:5." in found.stdout
    data = json.loads(run("inspect", "grades.csv", "--labels", "people.csv", "--right", "within:1", "--json").stdout)
    assert (data["kinds"], data["right"], data["grades"]) == ({"grade": 4}, {"grade": "within:1"}, [1.0, 5.0])
    assert data["labels"]["per_item"] == {"1": 1, "2": 1}
    assert (data["joined"]["on"], data["joined"]["matched"]) == ("item+response", 3)
    vetted = run(
        "vet", "grades.csv", "--labels", "people.csv", "--strategy", "signals", "--json", "--right", "within:1"
    )
    assert vetted.returncode == 0, vetted.stderr
    assert any(one.startswith("3 of 4 labels joined") for one in json.loads(vetted.stdout)["notices"])


def test_labels_that_cannot_be_joined_stop_with_both_sides_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "grades.csv").write_text(GRADES)
    (tmp_path / "other.csv").write_text("item_id,label\nx,1\n")
    found = run("inspect", "grades.csv", "--labels", "other.csv")
    assert found.returncode != 0
    assert "no label matches a judgment: the first label has item_id='x'" in found.stderr
    assert "--labels" in run("inspect", "grades.csv", "--on", "item").stderr
    assert "--right 'best' is no rule" in run("inspect", "grades.csv", "--right", "best").stderr


def test_meanings_saved_for_the_verdicts_hold_for_the_labels(run: Run, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("id,question,response,judge,verdict\n1,?,x,g,pass\n2,?,y,g,fail\n")
    (tmp_path / "p.csv").write_text("id,human\n1,pass\n2,pass\n")
    mapping = "id=id,question=question,responses.A=response,judge=judge,verdict=verdict"
    first = run("vet", "w.csv", "--map", mapping, "--map-values", "pass=1,fail=0", "--strategy", "signals", "--json")
    assert first.returncode == 0, first.stderr
    again = run("vet", "w.csv", "--labels", "p.csv", "--strategy", "signals", "--json")
    assert "2 of 2 labels joined by the judgment's id" in again.stdout
    source = open_judgments([tmp_path / "w.csv"])
    assert [one.verdict for one in source] == [Grade(1.0), Grade(0.0)]
    joined = Reading().open(["w.csv"], labelling=Labelling(labels=[tmp_path / "p.csv"]))
    assert [one.item.truth for one in joined] == [Grade(1.0), Grade(1.0)]


def test_words_are_said_to_be_categories(run: Run, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("question,response,judge,verdict,gold\n?,x,g,pass,fail\n?,y,g,fail,fail\n")
    found = run("inspect", "w.csv")
    assert "Kind: 2 categories (words: pass, fail); right: equal" in found.stdout
    assert "Labels by people: 2 on 2 of 2 items" in found.stdout
