"""What to export, and by which rules."""

import math
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from metajudge.errors import ConfigurationError
from metajudge.exports.filters import Filters
from metajudge.types.frozen import Frozen


class Kind(StrEnum):
    """What is preferred over what."""

    RESPONSES = "responses"
    """The response a kept verdict prefers, over the other one."""
    JUDGMENTS = "judgments"
    """A kept judgment over a discarded one of the same prompt, to train judges."""


class Format(StrEnum):
    """How a row looks. Every format carries the same columns of provenance."""

    TRL = "trl"
    """``prompt``, ``chosen``, ``rejected`` as texts."""
    TRL_CONVERSATIONAL = "trl-conversational"
    """The same as lists of messages."""
    ULTRAFEEDBACK = "ultrafeedback"
    """As UltraFeedback Binarized: whole conversations, ``messages`` and two scores."""
    KTO = "kto"
    """Unpaired: ``prompt``, ``completion``, ``label``."""
    JSONL = "jsonl"
    """The columns of ``trl`` as JSON lines."""
    PARQUET = "parquet"
    """The columns of ``trl``, whatever reads them."""


class Rule(StrEnum):
    """Which judgments are kept."""

    ACCEPTED = "accepted"
    MIN_PROBABILITY = "min_probability"
    GUARANTEE = "guarantee"
    ALL = "all"


class Reconcile(StrEnum):
    """How several kept verdicts on one pair of responses become one preference."""

    UNANIMOUS = "unanimous"
    """All of them, in either order and by every judge, name the same response; a tie among them is a conflict."""
    MAJORITY = "majority"
    """Each judge counts once, by the sum of its verdicts' signs; more than half of the judges name the response."""


class Pairing(StrEnum):
    """Which kept judgment is set over which discarded one."""

    BEST_WORST = "best-worst"
    """One pair a prompt: the best kept judgment over the worst discarded one."""
    ALL = "all"
    """Every kept judgment over every discarded one."""
    ONE_PER_JUDGE = "one-per-judge"
    """One pair a prompt and judge: the judge's best kept judgment over the worst discarded one of any judge."""


class Selection(Frozen):
    """The rule by which judgments are kept, with its numbers.

    ``min_probability`` keeps probabilities at or above it. ``target`` and ``delta`` ask for a stored guaranteed
    threshold that promises at least this precision with at most this chance of failure.
    """

    rule: Rule = Rule.ACCEPTED
    min_probability: float | None = None
    target: float | None = None
    delta: float | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.min_probability is not None) != (self.rule is Rule.MIN_PROBABILITY):
            raise ConfigurationError("give min_probability if, and only if, the rule is min_probability")
        if any((value is not None) != (self.rule is Rule.GUARANTEE) for value in (self.target, self.delta)):
            raise ConfigurationError("give target and delta if, and only if, the rule is guarantee")
        for name in ("min_probability", "target", "delta"):
            value = getattr(self, name)
            if value is not None and not (0 < value < 1 or (name == "min_probability" and 0 <= value <= 1)):
                raise ConfigurationError(f"{name} must be a probability between 0 and 1, not {value:g}")
        return self

    def sentence(self) -> str:
        """The rule in words."""
        return {
            Rule.ACCEPTED: "judgments that vetting accepted",
            Rule.MIN_PROBABILITY: "judgments with a calibrated probability of at least {:g}",
            Rule.GUARANTEE: "judgments at or above a guaranteed threshold for a precision of {:g} (delta {:g})",
            Rule.ALL: "all judgments, whatever their scores",
        }[self.rule].format(*(one for one in (self.min_probability, self.target, self.delta) if one is not None))


class ExportRequest(Frozen):
    """Everything that decides which bytes an export writes, apart from its input.

    Attributes:
        filters: which of the vetted judgments are looked at; none leaves out nothing.
        ignore_decisions: people's decisions and policies' actions do not count, only the selection does.
        conflicts: what to do with an item id that a store has with two different contents: leave these items out
            and name them, or refuse. Files with such an id are always refused.
        by_label: kind ``judgments``: correct by the label over incorrect by it; the selection then only limits what
            may be chosen.
        quality_pairs: kind ``judgments``: also pairs whose two judgments name the same winner.
        near_threshold: Jaccard similarity of words and word pairs from which texts are near duplicates; 1 switches
            near duplicates off.
        dedupe: remove near duplicates; exact ones always are.
        ngram: words in a row that a pair may not share with a benchmark item.
        split: fractions of train, validation and test (or of train and test); one part where None.
        unit: what stands in one part as a whole: ``question``, ``item``, or a field of ``meta``; None for the question
            or its stated id, or the item for judge pairs under one instruction.
        personal_data: leave it, flag it in the column ``flags``, or drop what is flagged.
        from_grades: kind ``responses``: rows from kept grades and categories of single responses, although there are
            kept comparisons; without comparisons they are taken anyway.
        pass_mark: format ``kto``: a response passes with at least this grade.
        max_length: characters after which a trainer cuts prompt and answer together; pairs that are the same up to
            there are dropped. Tokens are not counted, because they depend on the model.
        truncation: drop texts that end in the middle by their record or by how they look (``any``), by their record
            alone (``reported``), or none (``keep``).
        licences: licences of the sources, in the user's words.
        shard_rows: rows in a file at most.
    """

    kind: Kind = Kind.RESPONSES
    format: Format = Format.TRL
    selection: Selection = Selection()
    filters: Filters = Filters()
    ignore_decisions: bool = False
    conflicts: Literal["leave_out", "refuse"] = "leave_out"
    reconcile: Reconcile = Reconcile.UNANIMOUS
    pairing: Pairing = Pairing.BEST_WORST
    by_label: bool = False
    quality_pairs: bool = False
    balance_length: bool = False
    dedupe: bool = False
    near_threshold: float = Field(default=0.7, gt=0, le=1)
    ngram: int = Field(default=13, ge=3, le=1_000_000)
    split: tuple[float, ...] | None = None
    unit: str | None = Field(default=None, pattern=r"""^[^"'\\]{1,200}$""", exclude_if=lambda given: given is None)
    personal_data: Literal["leave", "flag", "drop"] = "leave"
    truncation: Literal["any", "reported", "keep"] = "any"
    from_grades: bool = False
    pass_mark: float | None = Field(default=None, allow_inf_nan=False)
    max_length: int | None = Field(default=None, ge=1, le=2**53)
    licences: tuple[str, ...] = ()
    seed: int = Field(default=0, ge=-(2**53), le=2**53)
    shard_rows: int = Field(default=50_000, ge=1, le=2**53)

    @model_validator(mode="after")
    def _check(self) -> Self:
        responses, kto, split = (
            self.kind is Kind.RESPONSES,
            self.format is Format.KTO,
            (1.0,) if self.split is None else self.split,
        )
        for wrong, message in (
            (not 1 <= len(split) <= 3, f"a split has one to three parts (train, validation, test), not {len(split)}"),
            (
                not all(math.isfinite(part) and 0 < part <= 1 for part in split),
                f"every part of a split must be above 0, not {', '.join(f'{part:g}' for part in split)}: leave an "
                "empty part out",
            ),
            (abs(sum(split) - 1) > 1e-6, f"the parts of a split must sum to 1, and these sum to {sum(split):g}"),
            (responses and self.by_label, "labels choose between judgments: use them with kind judgments"),
            (
                not responses and self.selection.rule is Rule.ALL and not self.by_label,
                "kind judgments pairs kept judgments with discarded ones, and with all of them kept none is "
                "discarded: select by accepted, min-probability or guarantee, or by label",
            ),
            (
                kto and self.balance_length,
                "lengths are balanced between pairs, and format kto has none: remove one of the two options",
            ),
            (
                kto and self.max_length is not None,
                "max_length compares the two texts of a pair, and format kto has none: remove one of the two options",
            ),
            (
                self.pass_mark is not None and not (kto and responses),
                "a pass mark makes single responses desired or undesired: use it with kind responses and format kto",
            ),
            (self.from_grades and not responses, "grades order responses: use from_grades with kind responses"),
        ):
            if wrong:
                raise ConfigurationError(message)
        return self

    @property
    def rule_sentence(self) -> str:
        """What is kept, in words: decisions of people and policies, then the selection, and the filters."""
        sentence = self.selection.sentence()
        if self.ignore_decisions:
            sentence += "; people's decisions and policies' actions were ignored, as asked"
        else:
            sentence = f"what people or a policy approved and, where neither decided, {sentence}"
        filtered = self.filters.sentence()
        return sentence + (f" (only {filtered})" if filtered else "")

    @property
    def parts(self) -> dict[str, float]:
        """Split name -> fraction."""
        fractions = self.split or (1.0,)
        names = {1: ("train",), 2: ("train", "test"), 3: ("train", "validation", "test")}
        return dict(zip(names[len(fractions)], fractions, strict=True))
