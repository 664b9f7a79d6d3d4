"""First words of a text."""

from metajudge.store.excerpts import excerpt, plain, question_of


def test_an_excerpt_is_one_line_of_whole_words() -> None:
    assert excerpt("  a\n\n b\tc ") == "a b c"
    assert excerpt("one two three", longest=9) == "one two…"
    assert excerpt("x" * 50, longest=9) == "x" * 9 + "…"
    assert excerpt("word " + " " * 10_000 + "end", longest=9) == "word…"


def test_a_question_that_was_deleted_is_none() -> None:
    assert question_of('{"question":"Why?"}') == "Why?"
    assert question_of('{"question":"[forgotten]"}') is None
    assert question_of(None) is None


def test_plain_data_is_shown_by_its_texts() -> None:
    assert plain('{"event": "a drought", "where": ["Spain", 7]}') == "a drought, Spain"
    assert plain("[sic] as it was written") == "[sic] as it was written"
    assert plain('{"n": 1}') == '{"n": 1}'
