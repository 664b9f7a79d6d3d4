"""Labels withheld by digest, and revealed."""

import json
import stat

import pytest
from metajudge.benchmarks.live.scripted import made_judgments
from metajudge.benchmarks.protocol.items import open_asked
from metajudge.benchmarks.protocol.withholding import (
    COMMITMENTS,
    JUDGMENTS,
    WithheldLabel,
    check_folder,
    revealed,
    withhold,
    without_label,
)

from metajudge.errors import ConfigurationError, InputError
from tests.doubles.live_runs import made_file

SALT = "00112233445566778899aabbccddeeff"


@pytest.fixture
def published(tmp_path):
    withhold(made_judgments(30), tmp_path / "pub", tmp_path / "labels.jsonl")
    return tmp_path


def test_what_is_published_has_no_label_and_the_labels_are_for_their_owner_alone(published):
    text = (published / "pub" / JUDGMENTS).read_text()
    assert all(json.loads(line)["item"]["label"] is None for line in text.splitlines())
    assert len((published / "pub" / COMMITMENTS).read_text().splitlines()) == 30
    assert stat.S_IMODE((published / "labels.jsonl").stat().st_mode) == 0o600


def test_what_a_caller_noted_beside_a_judgment_is_not_published():
    one = made_judgments(1)[0].model_copy(update={"meta": {"label": "A>B", "correct": True, "judge_model": "m"}})
    assert without_label(one).meta == {"judge_model": "m"}


def test_a_commitment_is_the_digest_of_salt_and_label_and_equal_labels_have_different_ones(published):
    import hashlib

    one = WithheldLabel(item="q", label="A>B", salt=SALT)
    plain = b'{"label":"A>B","labels":[]}'
    assert one.commitment == hashlib.sha256(bytes.fromhex(SALT) + plain).hexdigest()
    assert one.commitment != WithheldLabel(item="q", label="B>A", salt=SALT).commitment
    commitments = [
        json.loads(line)["commitment"] for line in (published / "pub" / COMMITMENTS).read_text().splitlines()
    ]
    assert len(set(commitments)) == 30


def test_revealed_labels_give_back_what_was_withheld(published):
    labelled = revealed(published / "labels.jsonl", check_folder(published / "pub"))
    for one in made_judgments(30):
        assert labelled(without_label(one)).item == one.item


def test_changed_missing_and_foreign_labels_are_named(published):
    path, commitments = published / "labels.jsonl", check_folder(published / "pub")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    swapped = {"A>B": "B>A", "B>A": "A>B"}[lines[0]["label"]]

    def refused(changed, words):
        path.write_text("".join(json.dumps(line) + "\n" for line in changed))
        with pytest.raises(InputError, match=words):
            revealed(path, commitments)

    refused([{**lines[0], "label": swapped}, *lines[1:]], "1 labels are not those committed to: q0")
    refused(lines[1:], "1 labels are missing: q0")
    refused([*lines, {**lines[0], "item": "q99"}], "1 labels are of no item committed to: q99")
    refused([*lines, lines[0]], "'q0' has two labels")


def test_a_published_file_that_was_changed_is_found(published):
    with (published / "pub" / JUDGMENTS).open("a") as stream:
        stream.write("\n")
    with pytest.raises(InputError, match="it was changed after it was published"):
        open_asked(published / "pub")


def test_places_that_are_taken_or_public_are_refused(published):
    judgments = made_judgments(2)
    with pytest.raises(InputError, match="choose an empty folder"):
        withhold(judgments, published / "pub", published / "other.jsonl")
    with pytest.raises(InputError, match="salts are made only once"):
        withhold(judgments, published / "new", published / "labels.jsonl")
    with pytest.raises(InputError, match="which is published"):
        withhold(judgments, published / "new", published / "new" / "labels.jsonl")
    with pytest.raises(InputError, match="nothing to withhold"):
        withhold([without_label(one) for one in judgments], published / "new", published / "other.jsonl")


def test_without_labels_only_the_form_can_be_checked(published):
    asked = open_asked(published / "pub")
    assert len(asked.asked) == 90
    with pytest.raises(InputError, match="labels of these items are withheld"):
        _ = asked.rows
    assert len(open_asked(published / "pub", published / "labels.jsonl").rows) == 90


def test_labels_are_not_given_twice(tmp_path):
    made = made_file(tmp_path / "made.jsonl", 5)
    with pytest.raises(ConfigurationError, match="its labels are in the file itself"):
        open_asked(made, tmp_path / "labels.jsonl")
