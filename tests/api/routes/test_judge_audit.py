"""``POST /v1/audit``: the document of ``metajudge audit --json``, from JSON and from JSONL."""

import json

import pytest

from tests.doubles.judgments import judgment

JSONL = {"content-type": "application/x-ndjson"}


def pairs(label="A>B", count=12):
    """One judge that prefers what is shown first, and one that is right."""
    return [
        judgment(
            id=f"{judge}/{n}/{order}",
            item_id=f"q{n}",
            judge=judge,
            verdict=f"{order[0]}>{order[1]}" if judge == "biased" else "A>B",
            order=list(order),
            label=label,
        )
        for n in range(count)
        for judge in ("biased", "owl")
        for order in ("AB", "BA")
    ]


def records(*given):
    return [one.model_dump(mode="json") for one in given]


def lines(*given):
    return "".join(json.dumps(one) + "\n" for one in given)


def judge_of(found, name):
    return next(one for one in found["judges"] if one["judge"] == name)


def test_labels_beside_the_judgments_count(client):
    labels = [{"item_id": f"q{n}", "value": "B", "annotator": who} for n in range(12) for who in ("ada", "ben")]
    answer = client.post("/v1/audit", json={"judgments": records(*pairs(label=None)), "labels": labels, "on": "item"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert judge_of(found, "owl")["accuracy"] == 0.0
    assert (found["holdings"]["labels"], found["holdings"]["annotators"]) == (24, 2)


def test_records_without_texts_are_audited(client):
    bare = [
        {
            "id": f"{n}/{judge}",
            "item": {"id": f"q{n}", "label": "A>B"},
            "judge": judge,
            "verdict": "A>B" if n % 4 else "B>A",
        }
        for n in range(40)
        for judge in ("owl", "jay")
    ]
    for answer in (
        client.post("/v1/audit", json={"judgments": bare}),
        client.post("/v1/audit", content="\n".join(map(json.dumps, bare)), headers=JSONL),
    ):
        assert answer.json()["holdings"]["questions"] == 40
        assert answer.json()["holdings"]["judges"] == {"jay": 40, "owl": 40}


def test_jsonl_may_be_larger_than_a_json_body(client):
    long = pairs(count=60)[0].model_dump(mode="json")
    given = [{**long, "id": f"j{n}", "rationale": "x" * 40_000} for n in range(120)]
    body = lines(*given)
    assert len(body) > 4_000_000
    assert client.post("/v1/audit", content=body, headers=JSONL).status_code == 200
    answer = client.post("/v1/audit", json={"judgments": given})
    assert answer.status_code == 413
    assert "application/x-ndjson" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"judgments": []}, "judgments"),
        ({"judgments": [{"id": "x"}]}, "judgments.0"),
        ({"judgments": records(*pairs()), "right": "close"}, "within:T"),
        ({"judgments": records(*pairs()), "labels": [{"value": "A"}]}, "item_id"),
        ({"judgments": records(*pairs()), "labels": [{"item_id": "x", "value": "A"}]}, "no label matches"),
        ({"judgments": records(*pairs()), "surprise": 1}, "surprise"),
    ],
)
def test_a_bad_request_is_refused_with_its_reason(client, body, part):
    answer = client.post("/v1/audit", json=body)
    assert answer.status_code == 422
    assert part in answer.json()["detail"]


def test_a_bad_line_is_named_without_its_text(client):
    body = lines(*records(*pairs(count=1))) + '{"judge": "owl", "id": "my secret text"}\n{broken\n'
    answer = client.post("/v1/audit", content=body, headers=JSONL)
    assert answer.status_code == 422
    assert [one.partition(":")[0] for one in answer.json()["errors"]] == ["line 5", "line 6"]
    assert "my secret text" not in answer.text


def test_values_that_mean_nothing_are_named_with_their_counts_and_the_option(client):
    given = [{"item_id": n, "models": {"A": "x", "B": "y"}, "verdict": n % 3, "judge": "owl"} for n in range(7)]
    for answer in (
        client.post("/v1/audit", json={"judgments": given}),
        client.post("/v1/audit", content="\n".join(map(json.dumps, given)), headers=JSONL),
    ):
        assert answer.status_code == 422
        said = "verdict has 0 (3 times), 1 (2), 2 (2), which mean nothing here: say what they mean in `values`"
        assert answer.json()["detail"].startswith(said)
    meant = [one | {"values": {"0": "A", "1": "tie", "2": "B"}, "label": "A"} for one in given]
    found = client.post("/v1/audit", json={"judgments": meant}).json()
    assert found["holdings"]["judges"] == {"owl": 7}


def test_an_empty_upload_and_another_content_type_are_refused(client):
    assert client.post("/v1/audit", content="", headers=JSONL).status_code == 422
    assert client.post("/v1/audit", content="x", headers={"content-type": "text/csv"}).status_code == 415


def test_nothing_is_left_on_disk(client, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    client.post("/v1/audit", json={"judgments": records(*pairs())})
    client.post("/v1/audit", json={"judgments": []})
    assert list(tmp_path.iterdir()) == []


def graded(verdicts, labels=None):
    """Verdicts of one judge on single responses, with labels of their own where given."""
    return [
        {
            "id": f"j{n}",
            "item": {"id": f"i{n}", "question": f"{n}?", "responses": {"A": f"{n}."}, "label": labels and labels[n]},
            "judge": "owl",
            "verdict": said,
        }
        for n, said in enumerate(verdicts)
    ]


def test_a_person_has_one_answer_and_a_ruling_is_nobodys(client):
    def said(number, value, who, day):
        return {"item_id": f"i{number}", "value": value, "annotator": who, "time": f"2026-01-0{day}T00:00:00Z"}

    labels = [said(n, "pass" if n else "fail", "ada", 2) for n in range(6)] + [
        said(n, "fail", "ada", 1) for n in range(6)
    ]
    sent = {"judgments": graded(["pass"] * 6), "labels": labels}
    found = client.post("/v1/audit", json=sent).json()
    assert judge_of(found, "owl")["accuracy"] == pytest.approx(5 / 6)
    assert (judge_of(found, "owl")["human_ceiling"], found["holdings"]["several_labels"]) == (None, 0)
    assert "6 answers are older ones of a person who answered an item again: the newest counts." in found["notices"]
    sent["labels"] += [said(n, "fail", "adjudicated", 1) for n in range(3)]
    found = client.post("/v1/audit", json=sent).json()
    assert judge_of(found, "owl")["accuracy"] == 0.5
    assert (judge_of(found, "owl")["human_ceiling"], found["holdings"]["annotators"]) == (None, 1)


def test_labels_that_mean_nothing_are_refused(client):
    sent = {
        "judgments": records(*pairs(label=None)),
        "labels": [{"item_id": "q0", "value": 1}, {"item_id": "q1", "value": 0}],
    }
    answer = client.post("/v1/audit", json=sent)
    assert answer.status_code == 422
    assert "1 (1), 0 (1) mean nothing" in answer.json()["detail"]


@pytest.mark.parametrize(("unit", "number"), [(None, 12), ("item", 12), ("question", 1), ("category", 2)])
def test_intervals_are_by_the_unit_that_is_asked_for(client, unit, number):
    given = records(*pairs())
    for place, one in enumerate(given):
        one["item"] |= {"question": "Which is safer?", "category": "ab"[place % 8 // 4]}
    asked = {} if unit is None else {"unit": unit}
    body = client.post("/v1/audit", json={"judgments": given, **asked}).json()
    assert client.post("/v1/audit", content=lines(*given), headers=JSONL, params=asked).json() == body
    assert body["holdings"]["questions"] == number
    answer = client.post("/v1/audit", json={"judgments": given, "unit": "day"})
    assert answer.status_code == 422
    assert "--unit day" in answer.json()["detail"]
