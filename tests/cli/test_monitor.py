"""``metajudge monitor`` as a user runs it."""

import os
import random

import pytest

from metajudge.readers import open_judgments, write_jsonl
from tests.doubles.crowds import crowd
from tests.doubles.promised import decide, guaranteed, vetted
from tests.doubles.webhook_receiver import Receiver
from tests.reviewables.planted import in_store


@pytest.mark.slow
class TestCommand:
    def test_a_store_whose_promise_breaks_is_recorded_and_sent_and_vet_stamps_no_more(self, metajudge):
        calibration = guaranteed()
        fresh, later = crowd(40, seed=5, prefix="new"), crowd(20, seed=6, prefix="later")
        (metajudge.folder / "cal.json").write_bytes(calibration.to_json())
        lines = [one.model_dump_json() for one in later]
        (metajudge.folder / "later.jsonl").write_text("\n".join(lines))

        async def fill(store):
            await vetted(store, calibration, fresh)
            await decide(store, lambda review: False)

        in_store(metajudge.folder / "s.duckdb", fill)
        metajudge.env["METAJUDGE_WEBHOOK_SECRET"] = "a secret shared with the receiver"
        with Receiver(204) as receiver:
            done = metajudge("monitor", "--store", "s.duckdb", "--webhook", receiver.url)
        assert done.returncode == 5, done.stderr
        assert "BROKEN" in done.stdout
        assert "Recorded: promise" in done.stdout
        assert len(receiver.requests) == 1
        done = metajudge(
            *("vet", "later.jsonl", "--store", "s.duckdb", "--calibration", "cal.json", "--strategy", "signals")
        )
        assert "120 came after monitoring had found the promise broken" in done.stdout
        assert "The guarantee covers 0 of 120 judgments." in done.stdout


DATA = os.environ.get("METAJUDGE_DATA")
GOOD, WORSE = "openrouter/z-ai/glm-4.7", "claude-3-haiku-20240307"


@pytest.fixture
def recorded(metajudge):
    """Recorded verdicts: a calibration with a promise, and later questions judged by the same judge and a worse one."""
    records = list(open_judgments([f"{DATA}/judgebench"]).all())
    records = [one for one in records if any("claude" in name for name in (one.item.models or {}).values())]
    questions = sorted({one.item.question for one in records})
    random.Random(2).shuffle(questions)

    def write(name, judge, part):
        chosen = [one for one in records if one.judge == judge and one.item.question in set(part)]
        write_jsonl(metajudge.folder / name, [one.model_copy(update={"judge": GOOD}) for one in chosen])

    write("fit.jsonl", GOOD, questions[:40])
    write("labelled.jsonl", GOOD, questions[40:115])
    write("same.jsonl", GOOD, questions[115:])
    write("worse.jsonl", WORSE, questions[115:])
    for step in (
        ("fit", "--data", "fit.jsonl", "--share", "1", "--signals", "order,strength", "--out", "cal.json"),
        ("threshold", "--calibration", "cal.json", "--data", "labelled.jsonl", "--target", "0.7"),
    ):
        done = metajudge("calibrate", *step)
        assert done.returncode == 0, done.stdout + done.stderr
    return metajudge


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA does not name the folder of recorded data")
@pytest.mark.parametrize(("file", "code"), [("same.jsonl", 0), ("worse.jsonl", 5)])
def test_on_recorded_verdicts_the_alarm_tells_the_same_judge_from_a_worse_one(recorded, file, code):
    done = recorded(
        *("vet", file, "--store", "s.duckdb", "--calibration", "cal.json", "--strategy", "signals"),
        *("--policy", "verdict", "--review-sample", "1"),
    )
    assert done.returncode in (0, 1), done.stderr
    in_store(recorded.folder / "s.duckdb", lambda store: decide(store, lambda review: review.truth))
    found = recorded("monitor", "--store", "s.duckdb")
    assert found.returncode == code, found.stdout + found.stderr
    assert ("BROKEN" in found.stdout) == (code == 5)
    assert "with probabilities of all kept:" in found.stdout
