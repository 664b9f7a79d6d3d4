from metajudge.report.audit.commands import Given, next_commands
from metajudge.report.audit.page import page
from metajudge.report.audit.published import published
from metajudge.report.audit.terminal import lines
from metajudge.report.html import to_html
from tests.report.audit import cards


def shown(**changes):
    report = cards.report(**changes)
    commands = next_commands(report, Given(inputs=("a very long folder name/with a file in it/" + "x" * 60 + ".csv",)))
    return list(lines(published(report, next_commands=commands)))


def text(**changes):
    return "\n".join(line.text for line in shown(**changes))


def test_judged_texts_are_escaped_and_secrets_hidden_on_the_page():
    found = to_html(page(published(cards.report())))
    assert "It is &lt;b&gt;right" in found
    assert cards.KEY not in found


def test_disagreements_show_their_texts_without_secrets():
    found = text()
    assert "owl/43: verdict 1, label 4 (2 people, all)" in found
    assert "response   Five. My key is [hidden]." in found
    assert cards.KEY not in found


def test_control_characters_of_a_judges_name_do_not_reach_the_terminal():
    judge = cards.card(judge="owl\x1b[31m\n")
    assert "\x1b" not in text(judges=(judge,))


def test_nothing_is_printed_of_what_there_is_not():
    found = text(juries=(), supports=(), notices=(), next=(), judges=(cards.unlabelled(),), ceilings=())
    for part in ("jury", "Notes", "Next", "Worst", "Checks", "None"):
        assert part not in found
