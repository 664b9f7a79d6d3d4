"""``metajudge clash --compare-people`` with labels of the prompts."""

import asyncio
import json
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.store import open_store
from metajudge.types import Item
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import panel, question, ranks_by


def test_labels_in_a_file_of_records_are_calls(run):
    async def made():
        plain = [{**question(f"q{n}").model_dump(), "label": "x>y" if n else "y>x"} for n in range(4)]
        judges = panel(ranks_by(LONG, name="a"), ranks_by(LONG, name="b"), ranks_by(SHORT, name="c"))
        return [await one(Item.model_validate(item), judges) for item in plain]

    records = asyncio.run(made())
    Path("clash.jsonl").write_text("".join(record.model_dump_json() + "\n" for record in records))
    done = run("clash", "--compare-people", "clash.jsonl", "--store", "s.duckdb", "--json")
    found = json.loads(done.stdout)["concordance"]
    assert (found["overall"]["agreed"], found["overall"]["n"]) == (3, 4)
    assert (found["divided"]["n"], found["unanimous"]) == (4, None)


def test_without_any_call_the_message_says_how_to_get_some(run):
    async def empty():
        await (await open_store(Path("s.duckdb"))).close()

    asyncio.run(empty())
    with pytest.raises(InputError, match=r"no call of people on a clash is in the store \(0 reviews wait\)"):
        run("clash", "--compare-people", "--store", "s.duckdb")
