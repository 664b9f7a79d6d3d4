"""Patterns of personal data and secrets, as the export's engine (RE2) matches them."""

import duckdb
import pytest

from metajudge.exports.cleaning import PATTERNS

FOUND = {
    "email": ["mail ada.l+x@example.co.uk now"],
    "phone": ["call +1 555 123 4567 now", "(030) 1234-5678"],
    "ip_address": ["at 192.168.0.255 it"],
    "social_security_number": ["123-45-6789"],
    "card_number": ["4111 1111 1111 1111"],
    "iban": ["DE89 3704 0044 0532 0130 00"],
    "api_key": ["sk-" + "a" * 24, "AKIA" + "A" * 16, "ghp_" + "a" * 36],
    "private_key": ["-----BEGIN RSA PRIVATE KEY-----"],
    "web_token": ["eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM"],
    "password": ["password: hunter2hunter2", 'api_key="abcdefgh1"'],
}
NOTHING = ["2 + 2 = 4", "version 1.2.3", "in 1999-2001", "a password is needed", "300.1.1.1", "x@y", "sk-short"]
NOTHING += ["In 1999 it sold 12,345 copies at 9.99, or 3/4 of 2024-05-17."]


def matches(pattern, text):
    return duckdb.execute("SELECT regexp_matches(?, ?)", [text, pattern]).fetchone()[0]


def test_every_flag_has_its_examples():
    assert set(FOUND) == set(PATTERNS)


@pytest.mark.parametrize(("flag", "text"), [(flag, text) for flag, texts in FOUND.items() for text in texts])
def test_what_looks_like_it_is_flagged(flag, text):
    assert matches(PATTERNS[flag], text)


@pytest.mark.parametrize("text", NOTHING)
def test_ordinary_text_is_not(text):
    assert not [flag for flag, pattern in PATTERNS.items() if matches(pattern, text)]
