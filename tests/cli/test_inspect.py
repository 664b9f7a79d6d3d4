"""Foreign tables in ``metajudge inspect`` and ``vet``: mappings, words and labels that cannot be read or joined."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

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
def run(in_process: Run) -> Run:
    return in_process


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
