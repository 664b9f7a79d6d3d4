"""Which rule of what is right each kind of verdict is measured by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from metajudge.errors import ConfigurationError
from metajudge.types import AnyVerdict, Judgment, Right, VerdictKind, default_right, kind_of, parse_right

Rules: TypeAlias = Mapping[VerdictKind, Right]
"""Kind -> what counts as right."""


def given_rule(text: str | None) -> Right | None:
    """The rule of ``--right``; None without one.

    Raises:
        ConfigurationError: it is no rule; the message lists them.
    """
    try:
        return None if text is None else parse_right(text)
    except ValueError as error:
        raise ConfigurationError(f"--right: {error}") from None


@dataclass(slots=True)
class KindsSeen:
    """The kinds of verdicts of an input, and what default rules depend on."""

    _verdicts: dict[VerdictKind, set[AnyVerdict]] = field(default_factory=dict)
    _labels: dict[VerdictKind, set[AnyVerdict]] = field(default_factory=dict)

    def add(self, judgment: Judgment) -> None:
        """Notes one judgment; without a verdict it has no kind."""
        if judgment.verdict is None:
            return
        kind = kind_of(judgment.verdict)
        verdicts = self._verdicts.setdefault(kind, set())
        truth = judgment.item.truth
        if kind in ("grade", "category"):
            verdicts.add(judgment.verdict)
            if truth is not None:
                self._labels.setdefault(kind, set()).add(truth)

    @property
    def kinds(self) -> tuple[VerdictKind, ...]:
        """In the order of the input."""
        return tuple(self._verdicts)

    def rules(self, given: Right | None) -> dict[VerdictKind, Right]:
        """A rule for every kind there is: the given one where it applies, else the kind's default.

        Raises:
            ConfigurationError: the given rule applies to none of the kinds.
        """
        if given is not None and self._verdicts and not any(given.applies(kind) for kind in self._verdicts):
            kinds = " and ".join(self._verdicts)
            raise ConfigurationError(f"--right {given} does not apply to verdicts of kind {kinds}")
        return {
            kind: given
            if given is not None and given.applies(kind)
            else default_right(kind, verdicts, self._labels.get(kind, ()))
            for kind, verdicts in self._verdicts.items()
        }
