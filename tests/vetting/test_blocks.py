"""Vetting in blocks: the same results and rows as of each judgment alone among the others; runs again; errors."""

import random

import orjson
import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.decision import parse_policy
from metajudge.errors import ConfigurationError, InputError
from metajudge.panels.config import PanelConfig, Route
from metajudge.reading import open_judgments
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.outputs import OrderedFile
from metajudge.store import engine_of
from metajudge.types import Judgment
from metajudge.vetting.bars import Bar
from metajudge.vetting.engine import Engine
from metajudge.vetting.results import Results
from tests.decision.policy_texts import band, small
from tests.doubles.graders import graded
from tests.vetting.test_probability import guaranteed

ROWS = {
    "assessments": "key, judgment_digest, judgment_id, item_id, judge, status, final_score, accepted, payload",
    "annotations": "status, accepted, calibration, probability, policy, action, payload",
    "items": "*",
    "judgments": "*",
}


LEARNED = {"recalibration": {"intercept": 0.2, "slope": 0.7}}
BANDS = [
    band("REJECT", {"below": 0.4}),
    band("REVIEW", {"at_least": 0.4, "below": 0.8}),
    band("APPROVE", {"at_least": 0.8}),
]


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


async def check_alone(records, tmp_path, **options):
    """Vets records together, and each alone among the others: equal results and rows; returns the run's summary."""
    given, found = [Judgment.model_validate(one) for one in records], {}
    for name in ("alone.db", "together.db"):
        (tmp_path / name).unlink(missing_ok=True)
    options = {"calibration": "none", **options}
    async with Engine(strategy="signals", store=tmp_path / "together.db", **options) as engine:
        summary = await engine.vet_all(given, on_result=lambda index, _, one: found.update({index: one}))
    async with Engine(strategy="signals", store=tmp_path / "alone.db", **options) as engine:
        for index, one in enumerate(given):
            assert await engine.vet(one, others=given) == found[index]
    assert rows_of(tmp_path / "together.db") == rows_of(tmp_path / "alone.db")
    return summary


class TestTogetherAsAlone:
    async def test_pairs_with_ties_and_missing_verdicts(self, tmp_path):
        summary = await check_alone(pairs(5), tmp_path)
        assert summary.failures["no_verdict"] > 0

    async def test_grades_categories_and_rankings_shuffled(self, tmp_path):
        records = others()[:40]
        random.Random(5).shuffle(records)
        await check_alone(records, tmp_path)

    async def test_peers_who_are_as_many_and_say_as_much_but_are_otherwise_divided(self, tmp_path):
        said = [{"o": [3], "p": [3], "q": [1], "r": [3, 1]}, {"o": [3], "p": [3], "q": [3, 1, 1, 1], "r": [3, 1, 1, 1]}]
        records = [
            {"id": f"{at}/{judge}/{n}", "item": {"id": f"i{at}", "question": f"q{at}", "responses": {"A": "text"}}}
            | {"judge": judge, "verdict": grade}
            for at, of_item in enumerate(said)
            for judge, grades in of_item.items()
            for n, grade in enumerate(grades)
        ]
        await check_alone(records, tmp_path)

    async def test_routes(self, tmp_path):
        panel = PanelConfig(strategy="signals", routes={"math": Route(strategy="signals", threshold=3.5)})
        await check_alone(pairs(4), tmp_path, panel=panel, seed=3)

    @pytest.mark.parametrize("policy", ["verdict", "verdict_score", "learned"])
    @pytest.mark.parametrize("promised", [False, True])
    async def test_a_calibration_and_a_policy_with_reviews(self, tmp_path, policy, promised):
        table = build_table([Judgment.model_validate(one) for one in pairs(40)], ["order", "peers"])
        calibration = fit_calibration(table, repeats=1)
        if promised:
            calibration = guaranteed(guaranteed(calibration, 0.75), 0.5, ("judge-1",))
        policy = parse_policy(small(bands=BANDS, adjustment=LEARNED), "mine.yaml") if policy == "learned" else policy
        how = {"calibration": calibration, "policy": policy, "audit_share": 0.3, "allow_other_calibration": True}
        summary = await check_alone(pairs(4, seed=2), tmp_path, **how)
        assert summary.with_probability > 0
        assert summary.reviews > 0

    async def test_grades_under_a_promise(self, tmp_path):
        records = graded(12)
        fitted = fit_calibration(build_table(records[: len(records) // 2], None), repeats=1)
        summary = await check_alone(records, tmp_path, calibration=guaranteed(fitted, 0.6), policy="verdict")
        assert summary.under_guarantee > 0


@pytest.mark.slow
async def test_an_item_with_several_contents_and_an_id_used_twice(tmp_path):
    records = pairs()
    records[9]["item"] = {**records[9]["item"], "question": "another one"}
    records[20] = {**records[20], "id": records[19]["id"]}
    _, summary, _, source = await in_blocks(written(tmp_path / "in.jsonl", records), tmp_path)
    assert (summary.judgments, source.rejects) == (len(records) - 2, 2)


class TestTheSecondRun:
    async def test_rows_are_not_written_again(self, tmp_path):
        path, store = written(tmp_path / "in.jsonl", pairs()), tmp_path / "s.db"
        first, summary, _, _ = await in_blocks(path, tmp_path, store=store)
        before = rows_of(store)
        second, again, _, _ = await in_blocks(path, tmp_path, store=store)
        assert (first, before) == (second, rows_of(store))
        assert (summary.results_known, again.results_known) == (0, len(pairs()))

    @pytest.mark.slow
    async def test_changed_and_appended_lines_alone_are_written(self, tmp_path):
        path, stores = written(tmp_path / "in.jsonl", pairs()), (tmp_path / "s.db", tmp_path / "reference.db")
        for store in stores:
            await in_blocks(path, tmp_path, store=store, calibration="none")
        changed = pairs()
        changed[11] = {**changed[11], "verdict": "B>>A", "rationale": "another text"}
        changed[11].pop("no_verdict", None)
        path = written(tmp_path / "in.jsonl", [*changed, *pairs(27)[-16:]])
        found, summary, _, _ = await in_blocks(path, tmp_path, store=stores[0], calibration="none")
        assert found == (await in_blocks(path, tmp_path, calibration="none"))[0]
        assert len(rows_of(stores[0])["judgments"]) == len(rows_of(stores[1])["judgments"]) + 17
        assert len(changed) - 8 <= summary.results_known < len(changed)
        again = (await in_blocks(path, tmp_path, store=stores[0], calibration="none"))[1]
        assert again.results_known == len(changed) + 16

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
