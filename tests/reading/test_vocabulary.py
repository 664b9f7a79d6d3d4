"""What values mean: verdicts, kinds of verdicts, scores as tools state them, and our own notes."""

from typing import Any

import orjson
import pytest

from metajudge.errors import InputError
from metajudge.evidence.verdicts import collected
from metajudge.reading import open_judgments
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats.stated_scores import (
    StatedScore,
    is_program,
    reason_text,
    stated,
    stated_columns,
    time_text,
)
from metajudge.reading.right_rules import right_of, rules_of
from metajudge.reading.seen import counts_of
from metajudge.reading.vocabulary import NoVerdict, UnknownValueError, Vocabulary, beside, shown_order
from metajudge.types import AnyVerdict, Category, Grade, Item, Judgment, Label, Pairwise, Right, parse_right
from metajudge.types.judgment import Scale
from metajudge.types.no_answer import passing
from tests.reading.interop_files import INTEROP


def said(value: Any, ids: str = "AB", models: str = "", values: dict[str, str] | None = None) -> str:
    """What a value says; models are named in the order of the ids."""
    named = dict(zip(ids, models.split(), strict=False))
    found = Vocabulary(values or {}).read(value, tuple(ids), named)
    return f"none: {found.reason}" if isinstance(found, NoVerdict) else str(found)


COMMON = {
    "A>B": ["A", "model_a", "response 1", "[[A]]", "A is better", "left", "linke Antwort", "première", "izquierda"],
    "B>A": ["b", "Assistant B", "output_2", "[[B>A]]", "**B**", "Winner: B", "right", "zweite", "droite", "direita"],
    "A>>B": ["A>>B"],
    "B>>A": ["A<<B"],
    "B=A": ["B=A"],
    "A=B": ["tie", "Tie", "TIE", "draw", "tie (bothbad)", "both_bad", "unentschieden", "égalité", "empate", "pareggio"],
    "none: the verdict is empty": ["", None],
}


@pytest.mark.parametrize(("value", "expected"), [(one, what) for what, several in COMMON.items() for one in several])
def test_common_words_are_understood(value: Any, expected: str) -> None:
    assert said(value) == expected


def told(value: Any, around: str = "", others: str = "", ids: str = "A", **known: Any) -> str:
    """What a value says beside others of its column and of those that say the same, or why it says nothing."""
    words = Vocabulary({}, categories=True, beside=beside(around.split(), others.split()), **known)
    try:
        found = words.read(value, tuple(ids), {})
    except UnknownValueError as error:
        return f"? {error}"
    return "none" if isinstance(found, NoVerdict) else str(found)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        *(
            ((one,), "4")
            for one in ("4/5", "4 out of 5", "4 von 5", "Rating: [[4]]", "**Score:** 4/5", "4.0", "4 stars")
        ),
        (("85%",), "85"),
        (("80 %", "", "4/5"), "? '80 %' stands beside numbers out of 5 and 100"),
        (("4/5", "4/5 4/10"), "? '4/5' stands beside numbers out of 5 and 10"),
        (("7", "7 4/5"), "? '7' is not between 0 and 5, which numbers here are written out of"),
        (("4", "4 85%"), "? '4' stands beside percentages, and may be none"),
        # A comma is a decimal one only where the column says so.
        *((("4,5", beside), "4.5") for beside in ("4,5 3", "4,5 3,0")),
        *((("4,5", beside), "? '4,5' may be one number or several here") for beside in ("", "4,5 3,2", "4,5 1.5")),
        (("1,000", "1,000 3"), "? '1,000' may be one number or several here"),
        *(((one, f"{one} 4/5"), "none") for one in ("-1", "99", "ERROR")),
        *(((one,), "none") for one in ("**N/A**", "weiß nicht", "no sé", "k. A.", "sans réponse")),
        (("unsicher", "sicher unsicher"), "unsicher"),
        (("unsicher", "ja nein unsicher"), "none"),
        (("right", "right wrong", "", "AB"), "? 'right' is no verdict here: known are A, B, A>B or tie"),
    ],
)
def test_numbers_and_words_are_read_beside_what_stands_in_their_column(given: tuple[Any, ...], expected: str) -> None:
    assert told(*given) == expected


def test_a_side_is_not_guessed_where_labels_may_rule_or_another_order_was_shown() -> None:
    assert told("right", ids="AB", column="label").startswith("? ")
    assert told("left", ids="AB", shown=True).startswith("? ")
    sided = {"A": "right_text", "B": "left_text"}
    assert str(Vocabulary({}).read_named("left", ("A", "B"), {}, sided, None)) == "B>A"


@pytest.mark.parametrize(
    ("value", "swapped", "order"),
    [
        *((one, None, "AB") for one in ("", None, "ab", "AB", "A,B", "1", 1, "A", "original", "model_a, model_b")),
        *((one, None, "BA") for one in ("ba", "B, A", '["B", "A"]', "2", 2.0, "b", "swapped", "Reversed")),
        *((None, one, "BA") for one in (True, 1, "yes", "ja", "swapped")),
        *(("BA", one, "BA") for one in (False, 0, "no", "", None)),
        ("0", None, "0"),
    ],
)
def test_an_order_is_read_in_all_its_words(value: Any, swapped: Any, order: str) -> None:
    assert shown_order(value, ("A", "B"), swapped) == tuple(order)
    with pytest.raises(BadLine, match="says neither"):
        shown_order(value, ("A", "B"), "perhaps")


@pytest.mark.parametrize(
    "words", ["yes ja oui sí sì sim", "no nein non não", "bestanden réussi aprobado promosso aprovado"]
)
def test_words_of_all_languages_that_say_the_same_are_the_same_answer(words: str) -> None:
    assert len({passing(Category(one)) for one in words.split()}) == 1
    assert passing(Category(words.split()[0])) is not words.startswith("no")


MEANT = {"C": "tie", "0.5": "A=B", "1": "A", "2": "B>>A", "error": "none", "A": "B"}
CASES = {"m": "A", "M": "B", "x": "tie"}


@pytest.mark.parametrize(
    ("given", "values", "expected"),
    [
        # A model's name stands for its response; names that differ in case alone are two.
        (("gpt-4o", "AB", "gpt-4o llama"), {}, "A>B"),
        (("llama", "AB", "gpt-4o llama"), {}, "B>A"),
        (("GPT", "AB", "gpt GPT"), {}, "B>A"),
        # What the user says goes first, whatever the spelling.
        *(
            ((one,), MEANT, what)
            for one, what in (("c", "A=B"), (0.5, "A=B"), (1.0, "A>B"), ("2", "B>>A"), ("A", "B>A"))
        ),
        (("ERROR",), MEANT, "none: the judge said 'ERROR', which stands for no verdict"),
        *(((one,), CASES, what) for one, what in (("m", "A>B"), ("M", "B>A"), ("X", "A=B"))),
        *(
            ((one,), values, "A>B")
            for one in ("Left", "left", " LEFT ", "lEFT")
            for values in ({"left": "A"}, {"LEFT ": "A"}, {"Left": "A", "left": "A"})
        ),
        *(((one, "AB", "Left Right"), {}, "A>B") for one in ("Left", "left", " LEFT ")),
        # Numbers are grades of a single response.
        *(((one, "A"), {}, what) for one, what in ((7, "7"), ("7.5", "7.5"), (0, "0"), ("-1e-1", "-0.1"))),
        (("pass", "A"), {"pass": "1"}, "1"),
        # Of three, a winner beats the rest.
        (("C", "ABC"), {}, "C > A = B"),
        *(((one, "ABC"), {}, "B > A = C") for one in ("B > A = C", '[["B"], ["A", "C"]]', [["B"], ["A", "C"]])),
        (("tie", "ABC"), {}, "A = B = C"),
        (("m", "mM"), {}, "m>M"),
        (("M", "mM"), {}, "M>m"),
    ],
)
def test_a_value_means_what_is_known_of_the_responses_and_what_the_user_says(
    given: tuple[Any, ...], values: dict[str, str], expected: str
) -> None:
    assert said(*given, values=values) == expected


@pytest.mark.parametrize(
    ("given", "values", "message"),
    [
        *(
            ((one,), {}, "is no verdict here: known are A, B, A>B or tie")
            for one in ("C", "0.5", 0.5, 1, "1", 0, -1, "gpt-4o", "A>C", "A>A", "better", True, "N/A")
        ),
        *(((one,), {}, ".") for one in ("[" * 5_000, "output_" + "1" * 5_000, "a>" * 100_000)),
        (("gpt-4o", "AB", "gpt-4o gpt-4o"), {}, "wrote several of the responses"),
        (("Gpt", "AB", "gpt GPT"), {}, "several"),
        (("x",), {"x": "nonsense"}, "."),
        (("correct", "A"), {}, "known are a number"),
    ],
)
def test_what_might_mean_several_things_is_not_guessed(
    given: tuple[Any, ...], values: dict[str, str], message: str
) -> None:
    with pytest.raises(UnknownValueError, match=message):
        said(*given, values=values)


def judgment(
    name: str, verdict: AnyVerdict | None, *labels: Label, scale: Scale | None = None, label: AnyVerdict | None = None
) -> Judgment:
    texts = {"A": "x", "B": "y"} if isinstance(verdict, Pairwise) else {"A": "x"}
    item = Item(id=name, question="?", responses=texts, labels=labels, label=label, scale=scale)
    return Judgment(id=name, item=item, judge="g", verdict=verdict, no_verdict=None if verdict else "none")


def by(*people: str | None) -> list[Label]:
    return [Label(value=Grade(1.0), annotator=one) for one in people]


def test_labels_are_counted_once_an_item_however_many_judges_it_has() -> None:
    given = (
        judgment("q1", Grade(2.0), *by("anna", None)),
        judgment("q1", Grade(4.0), *by("anna", None)),
        judgment("q2", Category("pass"), *by("anna")),
        judgment("q3", None),
    )
    data = counts_of(collected(given), {})
    assert (data["kinds"], data["grades"]) == ({"grade": 2, "category": 1}, [2.0, 4.0])
    assert (data["categories"], data["scales"]) == ({"pass": 1}, None)
    people = {"annotators": {"anna": 2, "(no name)": 1}, "per_item": {"1": 1, "2": 1}}
    assert data["labels"] == {"items": 3, "labelled_items": 2, **people}


def of(verdict: AnyVerdict | None, *labels: AnyVerdict, label: AnyVerdict | None = None) -> Judgment:
    return judgment("q", verdict, *(Label(value=one) for one in labels), label=label)


NUMBERS = [of(Grade(value)) for value in (1.0, 5.0, 3.5, 2.0)]
WORDS = [of(Grade(0.0)), of(Grade(10.0), Category("pass")), of(Pairwise("A", "B", 1))]
GIVEN = [of(Grade(4.0), Grade(5.0)), of(Category("pass"), label=Category("pass"))]


@pytest.mark.parametrize(
    ("given", "rule", "rules", "right"),
    [
        # Whole numbers are equal; of others, the one that is not whole may stand anywhere, between the ends too.
        ([of(Grade(1.0), Grade(5.0))], None, {"grade": Right("equal")}, [False]),
        (NUMBERS, None, {"grade": Right("within", 0.4)}, [None] * 4),
        (NUMBERS[::-1], None, {"grade": Right("within", 0.4)}, [None] * 4),
        (WORDS, None, {"grade": Right("side", 5.0), "pairwise": Right("top1")}, [None, True, None]),
        (GIVEN, "within:1", {"grade": Right("within", 1.0)}, [True, None]),
        ([of(None)], "top1", {}, [None]),
    ],
)
def test_what_counts_as_right(
    given: list[Judgment], rule: str | None, rules: dict[str, Right], right: list[bool | None]
) -> None:
    found = rules_of(given, parse_right(rule)) if rule else rules_of(given)
    assert found == rules
    assert [right_of(one, found) for one in given] == right


def test_a_rule_that_applies_to_no_verdict_is_refused() -> None:
    with pytest.raises(InputError, match="the rule top1 does not apply to the verdicts here, which are grade and cat"):
        rules_of(GIVEN, parse_right("top1"))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (0.5, StatedScore(0.5)),
        (None, StatedScore(None)),
        ({"score": 4, "reason": "r", "model": "m"}, StatedScore(4, "r", "m")),
        ({"passed": False, "explanation": ["a"]}, StatedScore(False, ["a"])),
        ({"error": {"message": "timed out"}}, StatedScore(None, None, None, "timed out")),
        ({"something": 1}, StatedScore({"something": 1})),
    ],
)
def test_a_score_is_read_from_a_value_or_an_object(given: Any, found: StatedScore) -> None:
    assert stated(given) == found


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, ""),
        ("as it is", "as it is"),
        (["one", "two"], "one\ntwo"),
        ({"summary": "short"}, "short"),
        ({"a": 1}, '{"a":1}'),
        ([{"a": 1}], '[{"a":1}]'),
    ],
)
def test_a_reason_of_any_type_is_text(given: Any, text: str) -> None:
    assert reason_text(given) == text


def test_a_column_beside_a_score_is_its_reason() -> None:
    row = {"tone": 1, "tone_reason": "kind", "judge_score": 2, "judge_explanation": "right", "other": {"score": 3}}
    found = dict(stated_columns(row, row))
    assert found == {"tone": StatedScore(1, "kind"), "judge_score": StatedScore(2, "right"), "other": StatedScore(3)}


def test_a_column_called_a_reason_is_that_of_the_only_score() -> None:
    row = {"verdict": "pass", "explanation": "It is."}
    assert dict(stated_columns(row, row)) == {"verdict": StatedScore("pass", "It is.")}
    assert dict(stated_columns({**row, "tone": 1}, [*row, "tone"])) == {
        "verdict": StatedScore("pass"),
        "tone": StatedScore(1),
    }


@pytest.mark.parametrize("name", ["exact_match", "acc_norm", "rougeL", "exact_match,strict-match", "bleu_score"])
def test_metrics_of_programs_are_known_by_name(name: str) -> None:
    assert is_program(name)
    assert not is_program(f"judged_{name}")


def test_times_are_iso_where_they_can_be_read() -> None:
    assert time_text(1793527200) == "2026-11-01T10:00:00+00:00"
    assert (time_text("yesterday"), time_text(None)) == ("yesterday", None)


@pytest.mark.parametrize(
    ("name", "judge", "rationale", "labels"),
    [
        ("langfuse-api", "correctness", "The answer is right.", [True, False, True]),
        ("langsmith-api", "correctness", "The answer is right.", [1, 0, 1]),
        ("argilla-api", "openai/gpt-4o-mini/correctness", "", ["yes", "no", "yes"]),
    ],
)
def test_the_verdicts_are_read_with_labels_and_our_notes_are_not(name, judge, rationale, labels):
    source = open_judgments([INTEROP / name])
    found = list(source)
    assert [(one.judge, one.item.question) for one in found] == [(judge, f"{n}+1?") for n in (1, 2, 3)]
    assert found[0].rationale == rationale
    assert [one.value.value for one in found[0].item.labels] == labels
    assert source.rejects == 0
    written = "".join(file.read_text() for file in (INTEROP / name).glob("*.jsonl"))
    assert "metajudge_key" in written or '"metajudge:' in written


def test_a_comment_that_is_an_object_is_its_json_text(tmp_path):
    for name, score in (("langfuse-api", "scores"), ("langsmith-api", "feedback")):
        folder = tmp_path / name
        folder.mkdir()
        for file in (INTEROP / name).glob("*.jsonl"):
            rows = [orjson.loads(line) for line in file.read_bytes().splitlines()]
            if file.stem == score:
                rows[0]["comment"] = {"why": "it is so"}
            (folder / file.name).write_bytes(b"\n".join(map(orjson.dumps, rows)))
        assert next(iter(open_judgments([folder]))).rationale == '{"why":"it is so"}'
