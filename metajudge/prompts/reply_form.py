"""What a meta-judge's reply consists of beside its scores."""

from dataclasses import dataclass
from typing import Literal

from metajudge.errors import PromptError
from metajudge.prompts.versions import FIRST

MAX_ANALYSIS_WORDS = 300
"""How long an analysis may be, by the prompt."""


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The form of a reply: an analysis or none, and where explanations stand.

    Attributes:
        analysis: whether the first property of the reply is ``analysis``: free text, not scored, in which the model
            solves the task and checks the rationale before it scores.
        words: how long the analysis may be, by the prompt.
        explanations: whether each score has an explanation before it or after it, or there are ``none``.
    """

    analysis: bool = False
    explanations: Literal["before", "after", "none"] = "before"
    words: int = MAX_ANALYSIS_WORDS

    def check(self, version: int) -> None:
        """Refuses a form that a prompt set cannot ask for.

        Raises:
            PromptError: an analysis, or scores without explanations, under the first set.
        """
        if version == FIRST and (self.analysis or self.explanations == "none"):
            asked = "an analysis" if self.analysis else "scores without explanations"
            raise PromptError(f"prompt set {FIRST} cannot ask for {asked}; use prompt set {FIRST + 1} or a newer one")
