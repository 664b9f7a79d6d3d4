"""Verdicts whose questions and responses are not known: what can be read, worked out and asked."""

import pytest
from pydantic import ValidationError

from metajudge.errors import FailureKind, InputError
from metajudge.evidence.units import Clusters
from metajudge.evidence.verdicts import collected
from metajudge.panels.config import PanelConfig
from metajudge.providers.scripted import ScriptedModel
from metajudge.reading import open_judgments
from metajudge.reading.mapping import parse_map
from metajudge.types import Judgment, Status
from metajudge.vetting.engine import Engine
from metajudge.vetting.estimate import estimate_vetting
from tests.doubles.judgments import judgment, reply

MAPPED = "verdict=said,judge=by,item_id=item,label=truth"
PAIRS = "item,by,said,truth\nq1,owl,A,A\nq1,jay,tie,A\nq2,owl,B,A\n"
GRADES = "item,by,said,truth\nq1,owl,4,5\nq2,owl,2,2\n"


def bare(item):
    return judgment(f"{item}/owl", item={"id": item, "question": "", "responses": {"A": "", "B": ""}})


def opened(tmp_path, text, mapped=MAPPED):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return open_judgments([str(path)], mapping=parse_map([mapped]))


@pytest.mark.parametrize(
    ("text", "verdicts", "ids"),
    [
        (PAIRS, ["A>B", "A=B", "B>A"], ["A", "B"]),
        (GRADES, ["4", "2"], ["A"]),
        ("item,by,said,truth\nq1,owl,pass,fail\n", ["pass"], ["A"]),
        ("item,by,said,truth\nq1,owl,A,C\nq2,owl,C,C\n", ["A", "C"], ["A"]),
    ],
)
def test_a_table_of_verdicts_alone_is_read_and_says_so(tmp_path, text, verdicts, ids):
    source = opened(tmp_path, text)
    found = list(source)
    assert [str(one.verdict) for one in found] == verdicts
    assert [list(one.item.responses) for one in found] == [ids] * len(found)
    assert not any(one.item.has_texts for one in found)
    assert found[0].item.label is not None
    assert "No texts: no column is a question or a response" in source.told[0]


@pytest.mark.parametrize(
    ("head", "cells", "mapped"),
    [
        ("item,by,said,truth,stuff", "q1,owl,A,A,which of these two answers is it", MAPPED),
        ("thing,by,said,truth", "q1,owl,A,A", "verdict=said,judge=by,label=truth"),
    ],
    ids=["a column that may be a text", "nothing tells items apart"],
)
def test_what_may_have_texts_or_has_no_items_is_asked_about(tmp_path, head, cells, mapped):
    with pytest.raises(InputError, match=r"Missing: question, responses\.A"):
        list(opened(tmp_path, f"{head}\n{cells}\n", mapped))


def test_the_mapping_of_such_a_table_is_guessed(tmp_path):
    path = tmp_path / "verdicts.csv"
    path.write_text("item_id,judge,verdict,label\n" + "".join(f"q{n},owl,{'AB'[n % 2]},A\n" for n in range(20)))
    assert open_judgments([path]).mapping.columns.keys() == {"item_id", "judge", "verdict", "label"}


def test_each_item_is_a_question_and_has_no_length():
    records = [bare(f"q{n}") for n in range(3)]
    clusters, facts = Clusters(records), collected(records)
    assert len({clusters.name(one.item) for one in records}) == len(set(facts.by_cluster.tolist())) == 3
    assert facts.own_words.tolist() == [-1, -1, -1]


async def test_agents_are_not_asked_and_the_reason_is_typed():
    given = bare("q")
    async with Engine([ScriptedModel(lambda _: reply(4), name="a")]) as engine:
        found = await engine.vet(given)
    assert (found.status, found.failure.kind, found.calls) == (Status.FAILED, FailureKind.NO_EVIDENCE, 0)
    assert found.failure.message.startswith("no texts")
    panel = PanelConfig.model_validate({"agents": [{"model": "openai:gpt-4o-mini"}]})
    assert estimate_vetting(panel, [given]).calls == 0


@pytest.mark.parametrize(
    ("said", "ids"),
    [
        ({"verdict": "B>A"}, ["A", "B"]),
        ({"verdict": 4}, ["A"]),
        ({"verdict": {"category": "pass"}}, ["A"]),
        ({"verdict": None, "no_verdict": "none", "order": ["B", "A"]}, ["A", "B"]),
        ({"verdict": None, "no_verdict": "none"}, None),
    ],
)
def test_a_record_may_leave_the_texts_out_where_it_names_the_responses(said, ids):
    data = {"id": "j", "item": {"id": "q"}, "judge": "owl", **said}
    if ids is None:
        with pytest.raises(ValidationError, match="responses"):
            Judgment.model_validate(data)
        return
    found = Judgment.model_validate(data)
    assert (sorted(found.item.responses), found.item.has_texts) == (ids, False)
