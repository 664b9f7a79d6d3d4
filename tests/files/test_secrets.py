import pytest

from metajudge.files.secrets import HIDDEN, data_without_secrets, without_secrets


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "a1B2" * 8,
        "sk-" + "a1B2c3D4",  # the text was cut within the key
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "ghp_" + "x" * 36,
        "Bearer abcdefgh12345678",
        "password: hunter2hunter2",
        'api_key="abcdef123456"',
        "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 8,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE and all that follows",
    ],
)
def test_a_secret_is_hidden_and_the_text_before_it_stays(secret):
    found = without_secrets(f"It says {secret}")
    assert found.startswith("It says ")
    assert HIDDEN in found
    assert secret[-8:] not in found


@pytest.mark.parametrize("text", ["What is a password?", "The secret of success: work", "task-based", "Bearer of news"])
def test_other_texts_stay_as_they_are(text):
    assert without_secrets(text) == text


def test_data_without_keys_is_the_same_object_and_keys_are_hidden_by_their_names_too():
    plain = {"tokens": 12, "note": ["fine", {"author": "anna"}], "password": None}
    assert data_without_secrets(plain) is plain
    given = {"headers": {"Authorization": "short"}, "x-api-key": "k", "list": ["sk-" + "a1B2" * 8], "max_tokens": 5}
    assert data_without_secrets(given) == {
        "headers": {"Authorization": HIDDEN},
        "x-api-key": HIDDEN,
        "list": [HIDDEN],
        "max_tokens": 5,
    }
