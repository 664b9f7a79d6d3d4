"""Finding out, once per model and endpoint, what a server accepts: structured output, parameters, roles, streams.

Servers that speak a provider's protocol differ in what they support. A rejection whose words are known makes the next
request plainer by what they name. Any other rejection of a first request is answered by the plainest form of the same
request: if that is accepted, what was left out comes back piece by piece, and the server's answers decide, not its
words; if it is rejected, too, the request itself is at fault.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from metajudge.errors import BadRequestError, ContextTooLongError, NotFoundError, ProviderError, ServerError
from metajudge.providers.http_errors import says
from metajudge.providers.notices import Notices, not_sent


class OutputMode(StrEnum):
    """How a server is asked for structured output, best first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is asked of one server.

    Attributes:
        max_tokens_name: the name of the limit of output tokens.
        thinking: where in a body the tokens that a model may think for stand, with dots; empty for nowhere.
        dropped: settings that are not sent; ``system`` puts the system prompt before the first message.
        stream: whether answers come as streams.
        limit: no more output tokens are asked for; None for no bound of the server's.
        string_enums: whether enumerations have strings alone.
        bare: whether the address has no version (``/v1``) in it.
    """

    mode: OutputMode = OutputMode.JSON_SCHEMA
    max_tokens_name: str = "max_tokens"
    thinking: str = ""
    dropped: frozenset[str] = frozenset()
    stream: bool = False
    limit: int | None = None
    string_enums: bool = False
    bare: bool = False


class RenegotiatedError(BadRequestError):
    """The server lacks a feature; what is asked of it has been made plainer: ask again at once."""

    retryable = True


SYSTEM: Final = "system"
THINKING: Final = "thinking_budget"
_DROPPABLE: Final = {
    **{name: name.replace("_", "[_ ]?") for name in ("temperature", "top_p", "seed", "reasoning_effort", "effort")},
    THINKING: "thinking|thinking_?budget|reasoning|budget_tokens",
}
"""Settings that may be left out, and how servers spell them in errors, as regular expressions."""
_LEAST_ROOM: Final = 256
"""Output tokens below which a limit is not lowered: the input is too long."""
_CONTEXT: Final = re.compile(r"(?:context|max_model_len|n_ctx|maximum)\D{0,60}?(\d{3,8})", re.IGNORECASE)
_INPUT: Final = re.compile(
    r"(\d{1,8}) (?:tokens? )?(?:in|from|of) (?:the |your )?(?:messages|prompt|input)|"
    r"(?:prompt|input)\D{0,40}?(\d{1,8}) (?:input |prompt )?tokens",
    re.IGNORECASE,
)


@dataclass(eq=False, slots=True)
class Negotiation:
    """What one model at one endpoint has been found to accept; shared by all who ask it.

    Attributes:
        dialect: what to try first, and what was found.
        modes: the output modes of this protocol, best first.
        versioned: whether the address ends with a version, which a server may not have.
    """

    model: str
    dialect: Dialect
    modes: tuple[OutputMode, ...]
    notices: Notices
    versioned: bool = field(default=False, kw_only=True)
    _settled: bool = field(init=False, default=False)
    _renamed: bool = field(init=False, default=False)
    _full: Dialect | None = field(init=False, default=None)
    """What is tried to come back to, while the plainest form is in use."""
    _returning: list[Dialect] = field(init=False, default_factory=list)
    _trial: Dialect | None = field(init=False, default=None)

    def begin(self) -> Dialect:
        """The dialect for the next call; one call at a time tries whether a feature left out can come back."""
        if self._returning and self._trial is None:
            self._trial = self._with(self._returning[0])
            return self._trial
        return self.dialect

    def accepted(self, used: Dialect, *, structured: bool) -> None:
        """Tells that a request in a dialect was answered."""
        if self._full is not None and used == self.dialect and not self._returning:
            self._returning = self._steps(self._full, used)
            self._full = None
        elif used == self._trial:
            self.dialect, self._trial = used, None
            # With one mode accepted the plainer ones need no trial.
            better = [one for one in self._returning[1:] if one.mode is self.modes[-1]]
            self._returning = better if used.mode is not self.modes[-1] else self._returning[1:]
            self._tell_returned()
        if structured:
            self._settled = True

    def rejected(self, used: Dialect, body: Mapping[str, Any], error: ProviderError) -> RenegotiatedError | None:
        """Makes the dialect plainer after a rejection.

        Returns:
            The error that asks for another attempt, None where the rejection has another reason.
        """
        if used == self._trial:
            self._trial = None
            self._returning = self._returning[1:]
            self._tell_returned()
        elif used == self.dialect:
            plainer = self._plainer(used, body, error)
            if plainer is None:
                return None
            self.dialect, self._settled = plainer, False
        return RenegotiatedError(f"{error} (asking again in a plainer form)", status=error.status)

    def _plainer(self, used: Dialect, body: Mapping[str, Any], error: ProviderError) -> Dialect | None:
        words = error.words or str(error)
        if isinstance(error, ContextTooLongError):
            return self._with_less_room(used, body, words)
        if (named := self._by_words(used, body, words, error)) is not None:
            return named
        if self._full is not None:  # the plainest form was rejected, too: the request is at fault
            self.dialect, self._full = self._full, None
            return None
        plainest = self._plainest(used, body)
        if self._settled or plainest == used or not isinstance(error, BadRequestError) or error.retryable:
            return None
        self._full = used
        return plainest

    def _by_words(self, used: Dialect, body: Mapping[str, Any], words: str, error: ProviderError) -> Dialect | None:
        format_named = says("format", words) and not says("own_schema", words) and used.mode is not self.modes[-1]
        no_path = isinstance(error, NotFoundError) and error.status in (None, 404, 405) and not format_named
        if no_path and self.versioned and not self._settled:
            if used.bare:
                self.dialect, self.versioned = replace(used, bare=False), False
                return None
            return replace(used, bare=True)
        if isinstance(error, NotFoundError | ServerError) and not format_named:
            return None
        if not self._renamed and says("limit_name", words) and used.max_tokens_name in body:
            self._renamed = True
            other = "max_tokens" if used.max_tokens_name == "max_completion_tokens" else "max_completion_tokens"
            return replace(used, max_tokens_name=other)
        for name in self._optional(used, body):
            if re.search(rf"(?<![a-z])({_DROPPABLE[name]})(?![a-z])", words, re.IGNORECASE):
                self.drop(name, "the server does not support it")
                return replace(used, dropped=used.dropped | {name})
        if says("stream", words) and not used.stream:
            return replace(used, stream=True)
        if says("string_enum", words) and not used.string_enums and used.mode is OutputMode.JSON_SCHEMA:
            return replace(used, string_enums=True)
        if says("system", words) and SYSTEM not in used.dropped and not format_named:
            self.notices.say(f"{self.model}: the server takes no system prompt; it stands before the first message")
            return replace(used, dropped=used.dropped | {SYSTEM})
        if format_named:
            mode = self.modes[self.modes.index(used.mode) + 1]
            self.notices.say(f"{self.model}: the server does not support {used.mode} output; using {mode} instead")
            return replace(used, mode=mode)
        return None

    def _with_less_room(self, used: Dialect, body: Mapping[str, Any], words: str) -> Dialect | None:
        """A lower limit of output tokens, where input and limit together exceed the context."""
        limit = body.get(used.max_tokens_name)
        if not isinstance(limit, int) or not says("room", words):
            return None
        context, given = _CONTEXT.search(words), _INPUT.search(words)
        lower = limit // 2
        if context and given:
            lower = min(limit - 1, int(context[1]) - int(given[1] or given[2]) - 32)
        if lower < _LEAST_ROOM:
            return None
        self.notices.say(f"{self.model}: the server's context is small: at most {lower:,} output tokens are asked for")
        return replace(used, limit=lower)

    def _plainest(self, used: Dialect, body: Mapping[str, Any]) -> Dialect:
        left_out = {*self._optional(used, body), SYSTEM}
        return replace(used, mode=self.modes[-1], dropped=used.dropped | left_out)

    @staticmethod
    def _optional(used: Dialect, body: Mapping[str, Any]) -> list[str]:
        """The settings in a body that may be left out."""
        there = {*body, *body.get("output_config", ())}
        if used.thinking.partition(".")[0] in there:
            there.add(THINKING)
        return [name for name in _DROPPABLE if name in there]

    def _steps(self, full: Dialect, plain: Dialect) -> list[Dialect]:
        """What can come back, each alone: the system prompt, each setting, the output modes from the best one on."""
        left_out = sorted(plain.dropped - full.dropped, key=lambda name: name != SYSTEM)
        steps = [replace(plain, dropped=plain.dropped - {name}) for name in left_out]
        modes = self.modes[self.modes.index(full.mode) : -1]
        return steps + [replace(plain, mode=mode) for mode in modes]

    def _with(self, step: Dialect) -> Dialect:
        """The dialect in use with what a step brings back."""
        now = self.dialect
        if step.mode is not self.modes[-1]:
            return replace(now, mode=step.mode)
        return replace(now, dropped=now.dropped & step.dropped)

    def _tell_returned(self) -> None:
        if self._returning:
            return
        for name in sorted(self.dialect.dropped - {SYSTEM}):
            self.drop(name, "the server does not accept it")
        if self.dialect.mode is self.modes[-1]:
            self.notices.say(f"{self.model}: the server enforces no output format; the prompt asks for it")

    def answered_by(self, model: str) -> None:
        """Says, once, that another model than the one asked for answered; a dated or prefixed name is the same one."""
        asked, answered = (name.lower().rpartition("/")[2].partition(":")[0] for name in (self.model, model))
        if asked not in answered and answered not in asked:
            self.notices.say(f"{self.model}: another model answered: {model}")

    def drop(self, name: str, reason: str) -> None:
        """Says, once per model, that a parameter is not sent."""
        self.notices.say(not_sent(self.model, name, reason))
