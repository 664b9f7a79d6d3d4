import re

from metajudge.report.audit.commands import Given, next_commands
from metajudge.report.audit.page import card, page
from metajudge.report.audit.published import published
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from tests.report.audit import cards


def document(**changes):
    report = cards.report(**changes)
    return published(report, inputs=("a.csv",), next_commands=next_commands(report, Given(inputs=("a.csv",))))


def test_the_page_holds_every_part_and_needs_no_network():
    found = to_html(page(document()))
    for part in (
        "What the file supports today",
        "Right by people&#39;s labels",
        "The naive rate and the corrected one",
        "Use of the scale",
        "Judge owl",
        "Checks of owl",
        "owl over time",
        "Verdicts by label",
        "Where people themselves disagree",
        "The worst disagreements with people",
        "Majorities of growing panels",
        "Every two judges",
    ):
        assert part in found, part
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", found)
    assert '<pre tabindex="0">metajudge calibrate fit --data a.csv' in found


def test_judged_texts_are_escaped_and_secrets_hidden():
    found = to_html(page(document()))
    assert "It is &lt;b&gt;right" in found
    assert cards.KEY not in found


def test_the_card_is_short_and_holds_judges_findings_and_corrected_rates():
    found = to_markdown(card(document()))
    assert "| owl | 204 | 150 | 81.3 (75.1 to 86.2) |" in found
    assert "owl: What was seen of drift." in found
    assert "| share that passes | owl | 200 | 150 | 75.0 (70.0 to 80.0) |" in found
    assert (
        "owl: versions in words (about 700 labels show 10.0 points); copy in words (too few observations, n 3)."
        in found
    )
    assert len(found.splitlines()) < 60
    assert "What is two and two" not in found


def test_a_card_of_many_rates_shows_those_that_change_most():
    (one,) = cards.card().rates
    same = one.model_copy(update={"ppi": one.naive, "of": "rate that stays"})
    judge = cards.card(rates=(*(same.model_copy(update={"of": f"stays {n}"}) for n in range(12)), one))
    found = to_markdown(card(document(judges=(judge,))))
    assert found.count("| owl | 200 | 150 | 75.0") == 10
    assert "| share that passes | owl |" in found
    assert "3 more are in the report" in found


def test_a_card_without_findings_says_so():
    assert "## Findings\n\nNone." in to_markdown(card(document(judges=(cards.unlabelled(),))))


def test_a_page_of_little_is_a_page():
    little = document(judges=(cards.unlabelled(),), juries=(), next_steps=(), notices=(), ceilings=())
    found = to_html(page(little))
    assert "Equal to the majority of the other judges" in found
    assert '<h2 id="section-4"' not in found
