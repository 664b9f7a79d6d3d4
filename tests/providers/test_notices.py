"""Each sentence once, in order."""

from metajudge.providers.notices import Notices


def test_a_sentence_is_said_once():
    heard = []
    notices = Notices(heard.append)
    for sentence in ("a", "b", "a", "b"):
        notices.say(sentence)
    assert heard == ["a", "b"]
    assert notices.lines == ("a", "b")
