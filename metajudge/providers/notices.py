"""Things a user must hear about once: a setting that was dropped, a price nobody knows."""

from collections.abc import Callable

NO_LOGPROBS = "Anthropic's messages have no token probabilities"


def not_sent(model: str, setting: str, reason: str) -> str:
    """The notice that a model is asked without a setting."""
    return f"{model}: {setting} is not sent: {reason}"


class Notices:
    """Collects sentences, each once, in the order in which they were said.

    Args:
        listener: called with every new sentence, for instance to print it.
    """

    def __init__(self, listener: Callable[[str], None] | None = None) -> None:
        self._said: dict[str, None] = {}
        self._listener = listener

    def say(self, sentence: str) -> None:
        """Says a sentence unless it was said before."""
        if sentence in self._said:
            return
        self._said[sentence] = None
        if self._listener is not None:
            self._listener(sentence)

    @property
    def lines(self) -> tuple[str, ...]:
        """Everything said so far."""
        return tuple(self._said)
