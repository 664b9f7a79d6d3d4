"""--map, --map-values and --prefix-ids: the same options wherever judgments are read."""

import pytest

from metajudge.errors import InputError

COLUMNS = "question=prompt,responses.A=x,responses.B=y"
MAP = f"verdict=winner,judge=grader,{COLUMNS}"
ROWS = ("2+2?,4,5,A,owl", "3+3?,7,6,C,owl", "4+4?,8,9,A,crow")


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "votes.csv").write_text("prompt,x,y,winner,grader\n" + "".join(f"{row}\n" for row in ROWS))
    (tmp_path / "items.csv").write_text("prompt,x,y\n2+2?,4,5\n3+3?,7,6\n")


def test_an_export_reads_a_table_by_a_mapping_and_keeps_it(run, tmp_path):
    flags = ("--judgments", "votes.csv", "--all")
    with pytest.raises(InputError, match="Say what each means"):
        run("export", "preferences", *flags, "--out", "pairs", "--map", MAP)
    done = run("export", "preferences", *flags, "--out", "pairs", "--map", MAP, "--map-values", "C=tie")
    assert done.exit_code == 0, done.output
    assert "pairs: train 2 rows" in done.output
    again = run("export", "preferences", *flags, "--out", "again")
    assert "again: train 2 rows" in again.output


def test_ids_that_vetting_prefixed_are_found_again_by_an_export(run, tmp_path):
    (tmp_path / "more.csv").write_text("id,prompt,x,y,winner,grader\n1,6+6?,12,13,A,owl\n")
    (tmp_path / "most.csv").write_text("id,prompt,x,y,winner,grader\n1,7+7?,14,15,A,owl\n")
    both = ("more.csv", "most.csv", "--map", f"id=id,{MAP}", "--prefix-ids")
    assert run("vet", *both, "--out", "a.jsonl").exit_code == 0
    flags = ("--assessments", "a.jsonl", "--judgments", "more.csv", "--judgments", "most.csv", "--min-probability", "0")
    with pytest.raises(InputError, match=r"assessments have no judgment in the input, the first 'more\.csv/1'"):
        run("export", "preferences", *flags, "--out", "pairs")
    with pytest.raises(InputError, match="has a calibrated probability"):  # the ids were found
        run("export", "preferences", *flags, "--prefix-ids", "--out", "pairs")


def test_an_export_into_a_folder_that_is_read_is_refused(run, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "votes.csv").rename(tmp_path / "runs" / "votes.csv")
    with pytest.raises(InputError, match="lies in the folder runs, which is read"):
        run("export", "preferences", "--judgments", "runs", "--all", "--out", "runs/pairs", "--map", MAP)


def test_judge_takes_a_table_of_questions_and_responses(run):
    flags = ("--judge", "openai:gpt-4o-mini", "--out", "o.jsonl", "--dry-run")
    with pytest.raises(InputError, match="or a table with --map question=COLUMN"):
        run("judge", "items.csv", *flags)
    done = run("judge", "items.csv", *flags, "--map", COLUMNS)
    assert "2 items, 4 judgments" in done.output
    assert "is saved in metajudge-inputs.toml" in done.output
    assert "2 items, 4 judgments" in run("judge", "items.csv", *flags).output


def test_labels_and_calibrations_are_read_by_a_mapping(run):
    values = ("--map-values", "C=tie")
    done = run("vet", "votes.csv", "--map", MAP, *values, "--out", "a.jsonl")
    assert done.exit_code == 0, done.output
    labelled = f"label=winner,{MAP}"
    done = run("diff", "a.jsonl", "a.jsonl", "--labels", "votes.csv", "--map", labelled, *values)
    assert "No decision differs" in done.output
    with pytest.raises(InputError, match="labelled judgments are right"):
        run("calibrate", "fit", "--data", "votes.csv", "--map", labelled, *values, "--out", "c.json")
