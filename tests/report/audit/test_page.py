from metajudge.report.audit.commands import Given, next_commands
from metajudge.report.audit.page import page
from metajudge.report.audit.published import published
from metajudge.report.html import to_html
from tests.report.audit import cards


def document(**changes):
    report = cards.report(**changes)
    return published(report, inputs=("a.csv",), next_commands=next_commands(report, Given(inputs=("a.csv",))))


def test_judged_texts_are_escaped_and_secrets_hidden():
    found = to_html(page(document()))
    assert "It is &lt;b&gt;right" in found
    assert cards.KEY not in found
