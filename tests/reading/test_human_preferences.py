"""MT-Bench human judgments and Arena-100k rows as published."""

import json

import pytest

from metajudge.errors import InputError
from metajudge.reading.formats.human_preferences import MIN_CHARACTERS, read_preferences

LONG = "a response of quite some length, long enough"


def conversation(answer, *, turns=1, question="What is a judge?"):
    return [message for turn in range(turns) for message in (
        {"role": "user", "content": question if turn == 0 else "And then?"},
        {"role": "assistant", "content": answer if turn == 0 else "More."},
    )]  # fmt: skip


def mt_bench(number=81, **changes):
    row = {
        "question_id": number,
        "model_a": "alpaca-13b",
        "model_b": "gpt-4",
        "winner": "model_b",
        "judge": "expert_1",
        "conversation_a": conversation("short", turns=2),
        "conversation_b": conversation("better", turns=2),
        "turn": 1,
    }
    return row | changes


def arena(number=1, **changes):
    row = {
        "question_id": f"x{number}",
        "model_a": "gpt-4o-2024-05-13",
        "model_b": "claude-3-5-sonnet-20240620",
        "winner": "model_a",
        "conversation_a": conversation(LONG),
        "conversation_b": conversation(LONG + "."),
        "turn": 1,
        "anony": True,
        "language": "English",
        "tstamp": 1718000000.0,
        "judge_hash": "h",
    }
    return row | changes


@pytest.fixture
def file(write):
    return lambda rows: write("rows.jsonl", *rows)


def test_mt_bench_gives_the_first_turn_with_models_and_label(file):
    rows = [
        mt_bench(),
        mt_bench(turn=2),
        mt_bench(winner="tie"),
        mt_bench(judge="author_2", winner="model_a"),
        mt_bench(),
    ]
    found = read_preferences(file(rows))
    assert found.kind == "MT-Bench human judgments"
    one, other, again = found.items
    assert (one.question, one.responses) == ("What is a judge?", {"A": "short", "B": "better"})
    assert one.models == {"A": "alpaca-13b", "B": "gpt-4"}
    assert str(one.label) == "B>A"
    assert str(other.label) == "A>B"
    assert len({one.id, other.id, again.id}) == 3
    assert dict(found.excluded) == {"not of turn 1": 1, "without a clear winner": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"winner": "tie (bothbad)"}, "without a clear winner"),
        ({"anony": False}, "not anonymous"),
        ({"language": "German"}, "not English"),
        ({"model_b": "gemma-2-2b-it"}, "of models outside the list"),
        ({"turn": 3}, "not of turn 1"),
        ({"conversation_b": conversation("x" * (MIN_CHARACTERS - 1))}, "with fewer than 30 characters in a response"),
        ({"model_b": "gpt-4o-2024-05-13"}, "of a model against itself"),
        ({"conversation_b": conversation(LONG, question="Another?")}, "whose conversations do not begin"),
        ({"conversation_a": []}, "whose conversations do not begin"),
    ],
)
def test_the_inclusion_rule_leaves_out_and_counts(file, changes, reason):
    found = read_preferences(file([arena(1), arena(2, **changes)]))
    assert [one.id for one in found.items] == ["x1"]
    (why,) = found.excluded
    assert why.startswith(reason)


def test_a_response_of_just_enough_characters_is_taken_and_models_get_the_studys_names(file):
    found = read_preferences(file([arena(conversation_a=conversation("x" * MIN_CHARACTERS))]))
    assert found.items[0].models == {"A": "gpt-4o", "B": "claude-3.5-sonnet"}
    assert found.kind == "Arena-100k"
    assert "27 named ones" in found.rule


def test_conversations_stored_as_text_are_unpacked_and_other_text_is_rejected(file):
    packed = arena(1, conversation_a=json.dumps(conversation(LONG)), conversation_b=repr(conversation(LONG + "!")))
    found = read_preferences(file([packed, arena(2, conversation_a="[1, 2"), "{not json}"]))
    assert [one.id for one in found.items] == ["x1"]
    assert [reject.line for reject in found.rejects] == [2, 3]
    assert "no list of messages" in found.rejects[0].reason


def test_a_sample_is_seeded_and_the_whole_file_keeps_its_order(file):
    path = file([arena(number) for number in range(60)])
    one, other = read_preferences(path, sample=10), read_preferences(path, sample=10)
    assert [item.id for item in one.items] == [item.id for item in other.items]
    assert [item.id for item in one.items] != [item.id for item in read_preferences(path, sample=10, seed=1).items]
    assert "10 of 60 eligible pairs drawn with seed 42" in one.rule
    assert [item.id for item in read_preferences(path).items] == [f"x{number}" for number in range(60)]
    with pytest.raises(InputError, match="a sample of 61 cannot be drawn from 60"):
        read_preferences(path, sample=61)


def test_items_of_our_own_need_a_labelled_winner(file):
    item = {"id": "q", "question": "?", "responses": {"A": "1", "B": "2"}}
    found = read_preferences(file([{**item, "label": "A>B"}, {**item, "id": "r", "label": "A=B"}, {**item, "id": "s"}]))
    assert [one.id for one in found.items] == ["q"]
    assert found.excluded == {"without a labelled winner": 2}


@pytest.mark.parametrize(
    ("said", "winner"),
    [
        ({"label": "A>B"}, "A"),
        ({"label": "B>>A"}, "B"),
        ({"winner": "model_b"}, "B"),
        ({"winner": "tie"}, None),
        ({"human_winner_side": "A"}, "A"),
        ({"human_winner": "alpaca"}, "B"),
        ({}, None),
    ],
)
def test_flat_rows_name_their_winner_in_several_ways(file, said, winner):
    row = {"question": "?", "response_a": "1", "response_b": "", "model_a": "gpt-4", "model_b": "alpaca"}
    found = read_preferences(
        file([{**row, **said}, {**row, "label": "A>B", "item_id": "last"}, {**row, "label": "A>B", "item_id": "last"}])
    )
    labels = [str(one.label) for one in found.items[:-2]]
    assert labels == ([] if winner is None else [f"{winner}>{'B' if winner == 'A' else 'A'}"])
    assert [one.id for one in found.items[-2:]] == ["last", "last#2"]
    assert found.items[-1].models == {"A": "gpt-4", "B": "alpaca"}


def test_nothing_eligible_and_unknown_formats_are_refused_with_counts(file):
    with pytest.raises(InputError, match=r"no pair is eligible \(2 not English; 0 lines unreadable\)"):
        read_preferences(file([arena(1, language="French"), arena(2, language=None)]))
    with pytest.raises(InputError, match="no labelled pairs; wanted are"):
        read_preferences(file([{"prompt": "x"}]))
    with pytest.raises(InputError, match="cannot read"):
        read_preferences("nowhere.jsonl")
