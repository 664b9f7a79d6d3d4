"""Filling a PostgreSQL database by COPY: what is brought up to date is what the ordinary way writes."""

import pytest
from metajudge.benchmarks.store_fill import fill
from metajudge.benchmarks.store_size import measure

from metajudge.store import open_store
from metajudge.store.postgres_connections import Connections
from metajudge.types.location import PostgresUrl
from tests.doubles.postgres_urls import stores_on_postgres

LINES = "SELECT item_id, judge, judgment_id, status, accepted, panel_digest, action FROM lines ORDER BY judgment_id"
FACTS = "SELECT judgment, item, final_score, probability, correct, answer FROM line_facts ORDER BY judgment"
INDEXES = "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"


@pytest.mark.slow
async def test_a_filled_database_has_the_lines_facts_and_indexes_of_an_ordinary_one() -> None:
    found = []
    with stores_on_postgres() as make:
        for ordinary in (True, False):
            url = make()
            if ordinary:
                await measure(url, 500, "none")
            else:
                connections = Connections(PostgresUrl(url))
                with connections.connect() as connection:
                    fill(connection, connections.schema, 500)
            store = await open_store(url)
            await store.line_facts.add_missing()
            found.append(await store.ask(lambda c: [c.execute(query).fetchall() for query in (LINES, FACTS, INDEXES)]))
            await store.close()
    assert found[0] == found[1]
    assert [len(rows) for rows in found[0][:2]] == [500, 500]
