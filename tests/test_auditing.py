"""Audits from Python: records or plain data, labels beside them, and what is refused."""

import json
import shlex

import pytest

from metajudge.auditing import audit_judgments
from metajudge.calibration.fit import why_no_calibration
from metajudge.errors import InputError
from tests.doubles.judgments import judgment
from tests.stored.commands import run

GIVEN = [judgment(id=f"j{n}", item_id=f"q{n}", label=None) for n in range(12)]
LABELS = [{"item_id": f"q{n}", "value": "A" if n < 9 else "B", "annotator": "ada"} for n in range(12)]


def test_records_plain_data_and_files_give_the_same(tmp_path):
    (tmp_path / "people.csv").write_text("item_id,label\n" + "".join(f"{o['item_id']},{o['value']}\n" for o in LABELS))
    one = audit_judgments(GIVEN, labels=LABELS)
    other = audit_judgments([record.model_dump(mode="json") for record in GIVEN], labels=tmp_path / "people.csv")
    assert one.judges[0].accuracy == other.judges[0].accuracy == 0.75
    assert one.holdings.annotators == 1


def test_labels_in_the_records_count_and_without_any_there_is_an_error():
    assert audit_judgments([judgment(id=f"j{n}", item_id=f"q{n}") for n in range(12)]).judges[0].accuracy == 1.0
    with pytest.raises(InputError, match="there is no label"):
        audit_judgments(GIVEN, labels=[])


@pytest.mark.parametrize(("labelled", "right"), [(0, 1), (8, 1), (8, 3), (40, 1), (40, 3), (60, 60)])
def test_what_is_advised_was_tried_and_runs_on_the_very_file(labelled, right, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("A>B", "B>A")
    given = [
        judgment(
            id=f"{judge}{n}",
            judge=judge,
            item_id=f"q{n}",
            question=f"Question {n}?",
            verdict=words[n % turn == 1],
            label=words[n % right == 1] if n < labelled else None,
        )
        for n in range(70)
        for judge, turn in (("owl", 4), ("wren", 5))
    ]
    (tmp_path / "my file.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in given))
    audited = json.loads(run("audit", "my file.jsonl", "--json").stdout)
    goals = [step["goal"] for step in audited["next"]]
    tried = why_no_calibration(given) is None
    assert ("calibrate" in goals, "guarantee" in goals, "vet" in goals) == (tried, tried, not tried)
    screen = run("audit", "my file.jsonl").stdout.split("\n\nWhat the file holds")[0]
    assert "  metajudge " in screen
    for step in audited["next"]:
        told = shlex.split(step["command"])[1:]
        if step["goal"] != "judge both orders" and told:
            done = run(*told)
            assert done.code in (0, 1), (told, done.stderr)
