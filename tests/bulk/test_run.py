"""Vetting in blocks against vetting one by one: the same lines, rows, counts and reviews."""

import json
import random

import orjson
import pytest

from metajudge.bulk.texts import LineTexts
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.errors import ConfigurationError, InputError
from metajudge.panels.config import PanelConfig, Route
from metajudge.readers import open_judgments
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.outputs import OrderedFile
from metajudge.store import engine_of
from metajudge.types import Judgment
from metajudge.vetting.bars import Bar
from metajudge.vetting.engine import Engine
from metajudge.vetting.results import Results

ROWS = {
    "assessments": "key, judgment_digest, judgment_id, item_id, judge, status, final_score, accepted, payload",
    "annotations": "status, accepted, calibration, probability, policy, action, payload",
    "items": "*",
    "judgments": "*",
}


def record(item, judge, order, verdict, **content_of):
    """A record with its item as plain data; ``None`` as verdict comes with a reason."""
    content = {"id": f"i{item}", "question": f"q{item} “é” ", "responses": {"A": "one", "B": "two words"}}
    made = {"id": f"{item}/{judge}/{order}", "item": content | content_of, "judge": judge, "order": list(order)}
    made |= {"verdict": verdict, "rationale": f"I find [[{verdict}]]"}
    return made | ({"no_verdict": "refused"} if verdict is None else {})


def pairs(items=25, seed=0):
    """Pairs by four judges in both orders, with ties, strong and missing verdicts, labels and categories."""
    rng = random.Random(seed)
    said = ["A>B", "A>>B", "B>A", "B>>A", "A=B", None]
    return [
        record(item, f"judge-{judge}", order, rng.choices(said, [6, 3, 2, 1, 1, 1])[0], label="A>B", **of)
        for item in range(items)
        for of in [{"category": rng.choice(["math", "law"])} if item % 5 else {}]
        for judge in range(4)
        for order in ("AB", "BA")
    ]


def others(seed=1):
    """Grades, categories and rankings."""
    rng = random.Random(seed)
    made = []
    for item in range(24):
        for judge in range(3):
            one = {"id": f"i{item}", "question": f"q{item}", "responses": {"A": "text"}, "scale": [1, 5], "label": 3}
            name = f"{item}/{judge}"
            made.append({"id": f"g{name}", "item": one, "judge": f"j{judge}", "verdict": rng.randint(1, 5)})
            called = {"id": f"c{item}", "question": f"q{item}", "responses": {"A": "text"}, "labels": [{"value": True}]}
            made.append({"id": f"c{name}", "item": called, "judge": f"j{judge}", "verdict": rng.random() < 0.7})
            ranked = {"id": f"r{item}", "question": f"q{item}", "responses": dict.fromkeys("ABC", "text")}
            verdict = [[name] for name in rng.sample("ABC", 3)]
            made.append({"id": f"r{name}", "item": ranked, "judge": f"j{judge}", "verdict": verdict})
    return made


def written(path, records):
    path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in records))
    return path


def rows_of(store):
    engine = engine_of(store)
    found = {
        table: engine.read(
            lambda c, query=f"SELECT {columns} FROM {table}": sorted(map(repr, c.execute(query).fetchall()))
        )
        for table, columns in ROWS.items()
    }
    engine.close()
    return found


async def in_blocks(path, tmp_path, store=None, judges=None, limit=None, results=None, **engine):
    source, results = open_judgments([path], judges=judges, limit=limit), results or Results()
    async with Engine(strategy="signals", store=store, **engine) as running:
        with OrderedFile(tmp_path / "out.jsonl") as results.file:
            summary = await running.vet_all(source, results=results)
    return (tmp_path / "out.jsonl").read_bytes(), summary, results, source


async def one_by_one(path, store=None, judges=None, limit=None, **engine):
    source, results, lines = open_judgments([path], judges=judges, limit=limit), Results(), {}
    results.expect(source)

    def take(index, judgment, assessment):
        lines[index] = assessment.model_dump_json().encode() + b"\n"
        results.add(index, judgment, assessment)

    async with Engine(strategy="signals", store=store, **engine) as running:
        summary = await running.vet_all(source, on_result=take)
    return b"".join(lines[index] for index in sorted(lines)), summary, results, source


def counts(summary):
    found = {name: value for name, value in summary.to_json().items() if name not in ("run_id", "total_s")}
    return json.loads(json.dumps(found), parse_float=lambda number: round(float(number), 9))


async def check_same(path, tmp_path, **how):
    """Compares both ways, with stores; returns the summary in blocks."""
    for name in ("one.duckdb", "block.duckdb"):
        (tmp_path / name).unlink(missing_ok=True)
    lines, summary, results, source = await one_by_one(path, store=tmp_path / "one.duckdb", **how)
    found, counted, taken, read = await in_blocks(path, tmp_path, store=tmp_path / "block.duckdb", **how)
    assert found == lines
    assert counts(counted) == counts(summary)
    assert taken.labels.to_json() == results.labels.to_json()
    facts = ("rejects", "duplicates", "notices", "judgments")
    assert [getattr(read, name) for name in facts] == [getattr(source, name) for name in facts]
    assert read.expected() == source.expected()
    assert rows_of(tmp_path / "block.duckdb") == rows_of(tmp_path / "one.duckdb")
    return counted


class TestSameAsOneByOne:
    async def test_pairs_with_ties_missing_verdicts_bad_lines_and_repeated_ones(self, tmp_path):
        records = pairs()
        path = written(tmp_path / "in.jsonl", [*records, records[3], records[4]])
        path.write_bytes(path.read_bytes() + b'\n{"half": \n' + b'{"id": "x"}\n')
        summary = await check_same(path, tmp_path)
        assert summary.judgments == len(records)
        assert summary.failures["no_verdict"] > 0

    @pytest.mark.slow
    async def test_grades_categories_and_rankings_shuffled(self, tmp_path):
        records = [*others(), *pairs(22)]
        random.Random(5).shuffle(records)
        await check_same(written(tmp_path / "in.jsonl", records), tmp_path)

    @pytest.mark.slow
    async def test_routes_a_judge_and_a_limit(self, tmp_path):
        panel = PanelConfig(strategy="signals", routes={"math": Route(strategy="signals", threshold=3.5)})
        path = written(tmp_path / "in.jsonl", pairs())
        await check_same(path, tmp_path, judges=["judge-1", "judge-2"], limit=30, panel=panel, seed=3)

    @pytest.mark.slow
    async def test_an_item_with_several_contents_and_an_id_used_twice(self, tmp_path):
        records = pairs()
        records[9]["item"] = {**records[9]["item"], "question": "another one"}
        records[20] = {**records[20], "id": records[19]["id"]}
        summary = await check_same(written(tmp_path / "in.jsonl", records), tmp_path)
        assert summary.judgments == len(records) - 2

    @pytest.mark.slow
    async def test_a_calibration_and_a_policy_with_reviews(self, tmp_path):
        records = pairs(40)
        table = build_table([Judgment.model_validate(one) for one in records], ["order", "peers"])
        calibration = fit_calibration(table, repeats=1)
        path = written(tmp_path / "in.jsonl", pairs(20, seed=2))
        how = {"calibration": calibration, "policy": "verdict", "audit_share": 0.3, "allow_other_calibration": True}
        summary = await check_same(path, tmp_path, **how)
        assert summary.with_probability > 0
        assert summary.reviews > 0


class TestTheSecondRun:
    async def test_rows_are_not_written_again(self, tmp_path):
        path, store = written(tmp_path / "in.jsonl", pairs()), tmp_path / "s.db"
        first, summary, _, _ = await in_blocks(path, tmp_path, store=store)
        before = rows_of(store)
        second, again, _, _ = await in_blocks(path, tmp_path, store=store)
        assert (first, before) == (second, rows_of(store))
        assert (summary.results_known, again.results_known) == (0, len(pairs()))

    @pytest.mark.slow
    async def test_changed_and_appended_lines_alone_are_written(self, tmp_path, monkeypatch):
        path, stores = written(tmp_path / "in.jsonl", pairs()), (tmp_path / "s.db", tmp_path / "reference.db")
        await in_blocks(path, tmp_path, store=stores[0])
        await one_by_one(path, store=stores[1])
        texts, payload = [], LineTexts.judgment_payload
        monkeypatch.setattr(LineTexts, "judgment_payload", lambda self, row: texts.append(row) or payload(self, row))
        changed = pairs()
        changed[11] = {**changed[11], "verdict": "B>>A", "rationale": "another text"}
        changed[11].pop("no_verdict", None)
        path = written(tmp_path / "in.jsonl", [*changed, *pairs(27)[-16:]])
        found, summary, _, _ = await in_blocks(path, tmp_path, store=stores[0])
        assert len(texts) == 1 + 16
        assert found == (await one_by_one(path, store=stores[1]))[0]
        assert rows_of(stores[0]) == rows_of(stores[1])
        assert len(changed) - 8 <= summary.results_known < len(changed)
        again = (await in_blocks(path, tmp_path, store=stores[0]))[1]
        assert again.results_known == len(changed) + 16

    @pytest.mark.slow
    async def test_an_earlier_result_that_another_input_replaced_is_appended_again(self, tmp_path):
        """A history goes A, B, A: the newest assessment is the one of the newest run."""
        store = tmp_path / "s.db"
        few, all_of_them = written(tmp_path / "few.jsonl", pairs()[:4]), written(tmp_path / "all.jsonl", pairs())
        for path in (few, all_of_them, few):
            await in_blocks(path, tmp_path, store=store)
        reference = tmp_path / "r.db"
        for path in (few, all_of_them, few):
            await one_by_one(path, store=reference)
        assert rows_of(store) == rows_of(reference)

    @pytest.mark.slow
    async def test_what_was_forgotten_is_stored_again(self, tmp_path):
        path, store = written(tmp_path / "in.jsonl", pairs()), tmp_path / "s.db"
        await in_blocks(path, tmp_path, store=store)
        async with Engine(strategy="signals", store=store) as engine:
            await engine.store.forget("i3")
        await in_blocks(path, tmp_path, store=store)
        async with Engine(strategy="signals", store=store) as engine:
            assert len(await engine.store.judgments()) == len(pairs())


class TestErrors:
    async def test_judgments_at_hand_with_two_contents_of_an_item_are_refused(self):
        records = pairs()
        records[1]["item"] = {**records[1]["item"], "question": "another one"}
        async with Engine(strategy="signals") as engine:
            with pytest.raises(InputError, match="two different contents"):
                await engine.vet_all(records)

    async def test_a_bar_that_needs_labels_is_refused_before_anything_is_kept(self, tmp_path):
        records = [{**one, "item": {**one["item"], "label": None}} for one in pairs()]
        path, store = written(tmp_path / "in.jsonl", records), tmp_path / "s.db"
        with pytest.raises(ConfigurationError, match="needs labels"):
            await in_blocks(path, tmp_path, store=store, results=Results(bars=[Bar("precision", 0.9)]))
        assert rows_of(store)["assessments"] == []

    async def test_no_judgment_by_the_judge_asked_for(self, tmp_path):
        with pytest.raises(InputError, match="no judgment by 'nobody'; the judges here are judge-0"):
            await in_blocks(written(tmp_path / "in.jsonl", pairs()), tmp_path, judges=["nobody"])

    async def test_a_run_that_is_asked_to_stop_keeps_nothing_and_says_so(self, tmp_path):
        stop, source = Stop(), open_judgments([written(tmp_path / "in.jsonl", pairs())])
        stop.ask(RunEnd.INTERRUPTED)
        async with Engine(strategy="signals", store=tmp_path / "s.db") as engine:
            summary = await engine.vet_all(source, stop=stop)
        assert (summary.end, summary.judgments) == (RunEnd.INTERRUPTED, 0)


@pytest.mark.slow
async def test_long_texts_are_kept_read_and_known_again(tmp_path):
    rng = random.Random(0)
    path, store = tmp_path / "long.jsonl", tmp_path / "s.db"
    with path.open("wb") as file:
        for number in range(1500):
            text = rng.randbytes(45_000).hex()
            file.write(orjson.dumps(record(number, "ant", "AB", "A>B", question=text)) + b"\n")
    for known in (0, 1500):
        async with Engine(store=str(store)) as engine:
            summary = await engine.vet_all(open_judgments([path]))
            assert (summary.judgments, summary.results_known) == (1500, known)
            assert engine.store is not None
            shown = await engine.store.show("700/ant/AB")
    assert len(shown["judgments"][0]["judgment"]["item"]["question"]) == 90_000
