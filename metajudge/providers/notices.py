"""Notices shown once to the user: a setting that was dropped, an unknown price."""

from collections.abc import Callable


def not_sent(model: str, setting: str, reason: str) -> str:
    """The notice that a model is asked without a setting."""
    return f"{model}: {setting} is not sent: {reason}"


class Notices:
    """Collects sentences, each once, in the order in which they came.

    Args:
        listener: called with every new sentence, for instance to print it.
    """

    def __init__(self, listener: Callable[[str], None] | None = None) -> None:
        self._said: dict[str, None] = {}
        self._listener = listener

    def say(self, sentence: str) -> None:
        """Adds a sentence unless it was added before."""
        if sentence in self._said:
            return
        self._said[sentence] = None
        if self._listener is not None:
            self._listener(sentence)

    @property
    def lines(self) -> tuple[str, ...]:
        """All notices so far."""
        return tuple(self._said)
