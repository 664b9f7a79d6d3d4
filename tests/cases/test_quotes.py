"""Quotes are looked up as whole words and numbers, and short ones prove nothing."""

import pytest

from metajudge.cases.quotes import QuoteCount, is_quoted, too_short

FLOOD = "Stock lasts 14 days and the flood 21."


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("Stock lasts 14 days", FLOOD, True),
        ("stock LASTS\n  14 days.", FLOOD, True),
        ("“Stock lasts 14 days”", FLOOD, True),
        ("Stock lasts ... the flood 21", FLOOD, True),
        ("[...] Stock lasts 14 days [...]", FLOOD, True),
        ("the flood 21 … Stock lasts", FLOOD, False),
        ("Stock lasts 15 days", FLOOD, False),
        ("Stock 14 days", FLOOD, False),
        ("14 days", FLOOD, True),
        ("14 days", "Stock lasts 114 days", False),
        ("14 days", "Stock lasts 10-14 days", False),
        ("14 days", "Stock lasts 10–14 days", False),  # noqa: RUF001
        ("10-14 days", "Stock lasts 10–14 days", True),  # noqa: RUF001
        ("14 days", "It lasts 14 days²", True),
        ("102 days", "It lasts 10² days", False),
        ("½ days", "It lasts 14½ days", False),
        ("12 km", "11.12 km", False),
        ("5 km", "3,5 km north", False),
        ("3,5 km", "3,5 km north", True),
        ("35 km", "3,5 km north", False),
        ("000 km", "12 000 km", False),
        ("12 000 km", "12\u202f000 km away", True),
        ("5km", "is 5 km away", True),
        ("5 %", "fell by -5 %", False),
        ("-5 %", "fell by \u22125 %", True),
        ("rose by < 10 days", "rose by > 10 days", False),
        ("$5", "it costs $5", True),
        ("$5", "it costs $5.50", False),
        ("compliant with the rules", "it is non-compliant with the rules", False),
        ("well known facts", "Well-known facts.", True),
        ("Well-known facts, here", "well\u2010known facts - here", True),
        ("relevant", "irrelevant", False),
        ("relevant to the case", "irrelevant to the case", False),
        ("e", "Hello", False),
        ("a...e", "What else", False),
        ("the ... flood ... and", FLOOD, False),
        ("it's the judge’s own", "It’s the judge's own", True),  # noqa: RUF001
        ("nai\u0308ve plan of theirs", "Na\u00efve plan of theirs", True),
        ("जल का स्तर", "आज जल का स्तर बढ़ा", True),
        ("जल का स्त", "आज जल का स्तर बढ़ा", False),
        ("供应链中断风险", "主要的供应链中断风险很高", True),
        ("风险", "主要的供应链中断风险很高", False),
        ("4天", "库存可用14天", False),
        ("14天", "库存可用14天", True),
        ("", FLOOD, False),
        ("...", FLOOD, False),
        ("— ! —", FLOOD, False),
    ],
)
def test_quotes_are_looked_up_by_whole_words_and_numbers(quote, text, found):
    assert is_quoted(quote, text) is found


@pytest.mark.parametrize(
    ("quote", "short"),
    [
        *(("stock", True), ("the flood", True), ("in 2021", True), ("14", True), ("a ... b ... c", True)),
        *(("14 days", False), ("5%", False), ("€ 5", False), ("the flood came", False)),
    ],
)
def test_a_quote_needs_three_words_or_a_number_with_its_unit(quote, short):
    assert too_short(quote) is short


def test_short_quotes_are_counted_apart_from_invented_ones():
    assert QuoteCount(5, 5, 0).warning is None
    assert QuoteCount(5, 3, 2).warning == "2 of 5 quotes given as evidence are too short to prove anything."
    assert QuoteCount(5, 2, 2).warning.startswith("1 of 5 quotes given as evidence are invented: they stand")
