import pytest

from metajudge.cases.judge import is_quoted


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Stock lasts 14 days", True),
        ("stock LASTS\n  14 days.", True),
        ("“Stock lasts 14 days”", True),
        ("Stock lasts ... the flood 21", True),
        ("the flood 21 … Stock lasts", False),
        ("Stock lasts 15 days", False),
        ("Stock 14 days", False),
        ("", False),
        ("...", False),
        ("—", False),
    ],
)
def test_quotes_are_looked_up_word_for_word(quote, found):
    assert is_quoted(quote, "Stock lasts 14 days and the flood 21.") is found
