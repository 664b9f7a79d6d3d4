import json

import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.own_judges import NO_ITEM, OTHER_TEXTS, RecordedItems

from metajudge.readers import open_judgments
from metajudge.readers.realmistake import WITHHELD
from metajudge.types import Item, Judgment, parse_verdict
from tests.benchmarks.benches import found
from tests.doubles.judgebench import pair


def judgment(name, responses, verdict="A>B", question="Q?", judge="mine", **changes):
    item = Item(id=name, question=question, responses=responses)
    return Judgment(id=f"{name}-{judge}", item=item, judge=judge, verdict=parse_verdict(verdict), **changes)


@pytest.fixture
def items():
    recorded = RecordedItems()
    recorded.add(judgment("p1", {"A": "four", "B": "five"}, judge="owl"))
    return recorded


def test_another_id_is_matched_by_its_texts_and_the_verdict_follows_them(items):
    matched = items.match(judgment("mine-7", {"x": "five ", "y": "four"}, "x>y"))
    assert (matched.item.id, str(matched.verdict), matched.order) == ("p1", "B>A", ("B", "A"))


def test_what_is_not_recorded_says_why(items):
    assert items.match(judgment("p2", {"A": "six", "B": "five"})) == NO_ITEM
    assert items.match(judgment("p1", {"A": "six", "B": "five"})) == OTHER_TEXTS
    assert items.match(judgment("p2", {"A": "four", "B": "five"}, question="Another?")) == NO_ITEM


def test_items_whose_texts_are_withheld_are_matched_by_id_alone():
    recorded = RecordedItems()
    recorded.add(judgment("r1", {"A": WITHHELD}, "error", judge="owl"))
    assert recorded.match(judgment("r1", {"A": "the real text"}, "error")).item.responses == {"A": WITHHELD}
    assert recorded.match(judgment("r1", {"B": "the real text"}, "error")) == OTHER_TEXTS


def test_own_judgments_stand_beside_the_recorded_ones_and_the_rest_is_counted(small, tmp_path):
    rows = []
    for number in range(13):
        one = pair(number)
        texts = {"A": one["response_a"], "B": one["response_b"]}
        item = {"id": one["item_id"], "question": one["question"], "responses": texts}
        rows.append({"id": f"m{number}", "item": item, "judge": "mine", "verdict": "A>B"})
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    findings = found(Bench(Request(benchmark="judgebench", data=small), open_judgments([path])))
    assert [one.judge for one in findings.judges] == ["all judges", "owl", "hawk", "mine"]
    assert findings.judges[-1].decided == 12
    assert any(note.startswith("12 judgments of your own by mine") for note in findings.notes)
    assert any("1 judgments of your own are left out, the first 'm12'" in note for note in findings.notes)
