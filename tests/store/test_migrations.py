"""A store written by a version that kept each decision as a row of its own: nothing is lost, asked or counted twice.

``data/decisions_as_rows.json`` holds the tables of such a store, and what its newest rows were. Agents failed and were
retried; two policies and three calibrations (two with a guarantee, one of which leaves a tie unscored) followed one
another on the same results; a second panel vetted one judgment; one item was forgotten.
"""

import json
from functools import partial
from pathlib import Path

import duckdb
import psycopg
import pytest

from metajudge import Engine
from metajudge.decision import load_policy
from metajudge.errors import AuthError
from metajudge.providers.scripted import ScriptedModel
from metajudge.store import browsing, dashboard, open_store
from metajudge.store.browsing import AssessmentFilter, newest_fitting
from metajudge.store.copying import copy_store
from metajudge.store.sql import steps_in
from metajudge.types import Assessment
from tests.doubles.crowds import crowd

DATA = json.loads((Path(__file__).parent / "data" / "decisions_as_rows.json").read_text())
TABLES = DATA["tables"]
NEWEST = [Assessment.model_validate(one) for _, one in DATA["newest"]]
RECORDS = crowd(4, seed=9, prefix="new")[:6]
OLD = [dict(zip(TABLES["assessments"]["columns"], row, strict=True)) for row in TABLES["assessments"]["rows"]]


def written_to_file(path):
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
        for step in steps_in("duckdb")[:4]:
            connection.execute(step.sql)
            connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])
        for table, content in TABLES.items():
            places = ", ".join("?" * len(content["columns"]))
            connection.executemany(
                f"INSERT INTO {table} ({', '.join(content['columns'])}) VALUES ({places})", content["rows"]
            )
    copy_store(path, path.with_suffix(".db"))
    return str(path.with_suffix(".db"))


def written_to_postgres(url):
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE SCHEMA {connection.execute('SHOW search_path').fetchone()[0]}")
        connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
        for step in steps_in("postgres")[:3]:
            connection.execute(step.sql)
            connection.execute("INSERT INTO migrations VALUES (%s, %s)", [step.version, step.name])
        for table, content in TABLES.items():
            columns = [name for name in content["columns"] if name != "key_hash"]
            rows = [[row[content["columns"].index(name)] for name in columns] for row in content["rows"]]
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})", rows
                )
        for table, column in (("assessments", "assessment_id"), ("run_events", "event_id"), ("audit_log", "entry_id")):
            connection.execute(f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), 100)")
    return url


@pytest.fixture(params=["copied", "postgres"])
def location(request, tmp_path):
    if request.param == "copied":
        return written_to_file(tmp_path / "old.duckdb")
    return written_to_postgres(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(location):
    opened = await open_store(location)
    yield opened
    await opened.close()


async def test_what_was_newest_is_current_in_every_list(store) -> None:
    assert [one for _, one in await store.newest_assessments()] == NEWEST
    page = await store.ask(lambda c: newest_fitting(c, AssessmentFilter(), 0, 100))
    assert [one for _, one in page.found] == NEWEST
    found = await store.ask(partial(browsing.page_of_assessments, wanted=AssessmentFilter(), limit=100))
    assert [(line.judgment_id, line.probability, line.accepted) for line in reversed(found.lines)] == [
        (one.judgment_id, one.probability, one.accepted) for one in NEWEST
    ]
    days = await store.ask(lambda c: dashboard.outcomes_by_day(c, 0.0))
    assert sum(one.n for one in days) == len(NEWEST)


async def test_every_former_row_is_in_the_history(store) -> None:
    for name in {one["judgment_id"] for one in OLD}:
        found = await store.show(name)
        former = [one for one in OLD if one["judgment_id"] == name]
        kept = {one["number"]: one for one in (*found["assessments"], *found["history"])}
        assert sorted(kept) == [one["assessment_id"] for one in former]
        for one in former:
            now = kept[one["assessment_id"]]
            assert Assessment.model_validate(now["payload"]) == Assessment.model_validate_json(one["payload"])
            assert (now["run_id"], now["status"], now["accepted"]) == (one["run_id"], one["status"], one["accepted"])
            assert (now["redacted"], now["created_at"]) == (one["redacted"], one["created_at"])


async def test_the_same_commands_ask_nothing_and_add_nothing(location, store) -> None:
    def refused(_request):
        return AuthError("nothing may be asked")

    model = ScriptedModel(refused, name="scripted")
    model.agent = "opinion"
    policy = load_policy("verdict_score")
    tables = ("assessments", "annotations", "agent_scores", "judgments")

    async def counts():
        return [(await store.ask(lambda c, t=t: c.execute(f"SELECT count(*) FROM {t}").fetchall()))[0] for t in tables]

    before = await counts()
    for options in ({}, {}):
        async with Engine([model], store=store, **options) as engine:
            await engine.vet_all(RECORDS[:5])
    assert (model.requests, await counts()) == ([], before)
    for _ in range(3):
        async with Engine([model], store=store, policy=policy) as engine:
            await engine.vet_all(RECORDS[:4])
    assert model.requests == []
    after = await counts()
    assert (after[0], after[1][0], after[2:]) == (before[0], before[1][0] + 4, before[2:])  # the policy counts again


async def test_the_migration_runs_once_and_numbering_goes_on(location, records) -> None:
    for _ in range(2):
        store = await open_store(location)
        found = await store.newest_assessments()
        assert [one for _, one in found] == NEWEST
        await store.close()
    store = await open_store(location)
    judgment = records.judgment(1)
    await store.save_assessment("new", judgment, records.assessment(judgment), "later")
    number, _ = (await store.newest_assessments())[-1]
    assert number > max(one["assessment_id"] for one in OLD)
    await store.close()


async def test_forgetting_reaches_what_was_moved(store) -> None:
    assert await store.forget("item-tie") > 0
    found = await store.show("item-tie")
    assert all(one["redacted"] for one in (*found["assessments"], *found["history"]))
    assert [one for _, one in await store.newest_assessments()][:-3] == NEWEST[:-3]
