"""The judgment record: what it refuses, what it defaults to, and what the judge saw."""

import random

import pytest

from metajudge.types import Item, Judgment
from metajudge.types.digests import digest
from metajudge.types.judgment import count_words


def record(**changes):
    data = {
        "id": "j1",
        "item": {"id": "i1", "question": "2+2?", "responses": {"A": "4", "B": "5"}, "label": "A>B"},
        "judge": "owl",
        "verdict": "A>B",
        "rationale": "Assistant A adds correctly.",
        "order": ["A", "B"],
    }
    return {**data, **changes}


def item(**changes):
    return {**record()["item"], **changes}


def test_order_defaults_to_the_items():
    data = record()
    del data["order"]
    assert Judgment.model_validate(data).order == ("A", "B")


class TestShownLabels:
    def test_swapped_order_swaps_the_labels(self):
        """Assistant A in a swapped game is response B: else every rationale of it is read backwards."""
        judgment = Judgment.model_validate(record(order=["B", "A"]))
        assert dict(zip(judgment.order, judgment.shown_labels, strict=True)) == {"B": "A", "A": "B"}

    def test_the_order_of_the_mapping_does_not_matter(self):
        judgment = Judgment.model_validate(record(item=item(responses={"B": "5", "A": "4"}), order=["A", "B"]))
        assert judgment.shown_labels == ("A", "B")

    def test_model_names_were_hidden_behind_letters(self):
        responses = {"gpt-4o": "4", "claude": "5"}
        data = record(item=item(responses=responses, label=None), verdict="claude>gpt-4o", order=["claude", "gpt-4o"])
        assert Judgment.model_validate(data).shown_labels == ("A", "B")

    def test_numbered_labels_are_in_numeric_order(self):
        responses = {f"A{i}": "x" for i in range(11)}
        data = record(item=item(responses=responses, label=None), verdict="A0>A10", order=list(reversed(responses)))
        assert Judgment.model_validate(data).shown_labels[-2:] == ("A9", "A10")

    def test_explicit_labels_win(self):
        named = Judgment.model_validate(record(labels=["one", "two"], order=["B", "A"]))
        assert named.shown_labels == ("one", "two")
        assert named.shown == (("one", "B"), ("two", "A"))


class TestCorrect:
    @pytest.mark.parametrize(
        ("label", "verdict", "correct"),
        [
            ("A>B", "A>>B", True),
            ("A>B", "B>A", False),
            ("A>B", "A=B", False),
            ("A=B", "A=B", None),
            ("A=B", "A>B", None),
            ("B>A", [["B"], ["A"]], True),
            (None, "A>B", None),
        ],
    )
    def test_against_the_label(self, label, verdict, correct):
        judgment = Judgment.model_validate(record(item=item(label=label), verdict=verdict))
        assert judgment.correct is correct


def test_words_are_runs_between_white_space():
    draw = random.Random(3)
    spaces = [chr(code) for code in range(0x3001) if chr(code).isspace()]
    texts = [
        one.join(parts)
        for one in spaces
        for parts in (("", ""), ("a", "b"), ("a", "", "b", ""), ("", "a b"), ("é", "b"))
    ]
    alphabet = [chr(code) for code in range(128)]
    texts += [
        "".join(draw.choices(letters, k=draw.randint(0, 12)))
        for letters in (alphabet, [*spaces, "a", "é", "\ud800"])
        for _ in range(2_000)
    ]
    for text in texts:
        assert count_words(text) == len(text.split()), repr(text)


class TestDigests:
    @pytest.mark.parametrize(
        "change",
        [
            {},
            {"meta": {"z": 1, "a": {"y": [1.5, None, {"b": 1, "a": 2}], "x": "é"}}},
            {"item": {"label": None, "models": {"A": "m"}, "scale": ["a", "b"], "metadata": {"A": {"z": 1, "b": 2}}}},
            {"item": {"labels": [{"value": "A>B", "annotator": "p"}], "reference": "“r” \u2028", "category": "c"}},
            {
                "verdict": None,
                "no_verdict": "cut off",
                "rationale": "\ud800 \x00 \\",
                "labels": ["x", "y"],
                "instruction": "i",
            },
            {"verdict": [["A"], ["B"]], "judge": '"', "id": "é"},
        ],
    )
    def test_are_of_the_canonical_json_of_the_record(self, change):
        judgment = Judgment.model_validate(record(**{**change, "item": item(**change.get("item", {}))}))
        whole = judgment.model_dump(mode="json")
        beside = {"labels", "conversation", "metadata"}
        vetted = {name: value for name, value in whole.items() if name != "meta"}
        vetted["item"] = {
            name: value for name, value in whole["item"].items() if name not in {"label", "models", *beside}
        }
        content = {name: value for name, value in whole["item"].items() if name not in {"id", *beside}}
        assert (judgment.digest, judgment.vetting_digest, judgment.item.digest) == (
            *map(digest, (whole, vetted, content)),
        )
        assert judgment.raw_digests() == tuple(bytes.fromhex(one) for one in judgment.digests)
        assert judgment.raw_digest() == bytes.fromhex(judgment.digest)

    def test_an_items_digest_covers_everything_but_the_id(self):
        base = Item.model_validate(item())
        assert Item.model_validate(item(id="other")).digest == base.digest
        assert Item.model_validate(item(question="2+3?")).digest != base.digest
        assert Item.model_validate(item(label="B>A")).digest != base.digest

    def test_vetting_does_not_depend_on_labels_models_or_meta(self):
        base = Judgment.model_validate(record())
        same = Judgment.model_validate(record(item=item(label=None, models={"A": "m"}), meta={"x": 1}))
        assert same.vetting_digest == base.vetting_digest
        assert same.digest != base.digest
        for change in ({"rationale": "x"}, {"verdict": "A>>B"}, {"order": ["B", "A"]}, {"instruction": "x"}):
            assert Judgment.model_validate(record(**change)).vetting_digest != base.vetting_digest
