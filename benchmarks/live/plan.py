"""The plan: the experiment and its sample, fixed by one digest before the first call."""

from collections.abc import Sequence
from typing import Any, Literal

from metajudge import __version__
from metajudge.errors import ConfigurationError, InputError
from metajudge.rubric import load_rubric
from metajudge.types import Judgment, digest
from metajudge.types.frozen import Finite
from metajudge.vetting.prompt_set import priced_vetter

from .power import PowerLine, power_lines
from .pricing import AgentPrice, price, total
from .records import LiveItem, items_digest
from .sampling import Candidates, Evidence, draw
from .setup import QUESTIONS, LiveSetup

MOST_QUESTIONS = 1_000
"""Questions at most where no --limit is given: beyond it a difference hardly gets easier to see for the money."""


SCALE = (1.0, 5.0)
"""Of the built-in rubrics, and of a vote."""


class Sample(Finite):
    """Which judgments are vetted.

    Attributes:
        source: the formats of the data, without paths.
        questions: drawn of ``of_questions``.
        judgments: of these questions.
        right: judgments that are right by their label.
        items: digest of the sample's records (:func:`~metajudge.benchmarks.live.records.items_digest`).
        left_out: reason -> judgments of the data that could not be drawn.
    """

    source: str
    seed: int
    per_question: int
    of_questions: int
    questions: int
    judgments: int
    right: int
    evidence: Evidence
    items: str
    left_out: dict[str, int]


class LivePlan(Finite):
    """All that is fixed beforehand.

    Attributes:
        questions: the four questions in words.
        panels: agent -> digest of everything that makes its requests: model, settings, rubric, prompts.
        prices: what it would cost.
        power: what could be seen.
        metajudge: version that made the plan.
    """

    version: Literal[1] = 1
    setup: LiveSetup
    questions: dict[str, str]
    panels: dict[str, str]
    sample: Sample
    budget_usd: float | None
    prices: tuple[AgentPrice, ...]
    power: tuple[PowerLine, ...]
    metajudge: str = __version__

    @property
    def digest(self) -> str:
        """32 hex digits over the canonical JSON of the plan."""
        return digest(self.model_dump(mode="json"))

    @property
    def analyses(self) -> str:
        """Digest of what must be equal for runs to be pooled: sample and analyses, not the models."""
        sample: dict[str, Any] = self.sample.model_dump(mode="json")
        return digest([self.setup.analyses, sample["items"], sample["evidence"]])

    @property
    def calls(self) -> int:
        """Calls announced: one a judgment and agent."""
        return sum(one.calls for one in self.prices)

    @property
    def usd(self) -> float | None:
        """Dollars expected; None where a price is unknown."""
        return total(self.prices)

    def to_text(self) -> str:
        """The plan's file."""
        return self.model_dump_json(indent=1) + "\n"


def panel_digests(setup: LiveSetup) -> dict[str, str]:
    """Agent -> digest of its panel under the installed version."""
    return {name: priced_vetter(setup.panel_of(name)).default.digest for name in setup.agents}


def make_plan(
    setup: LiveSetup,
    candidates: Candidates,
    *,
    source: str,
    questions: int,
    per_question: int,
    seed: int,
    budget_usd: float | None,
) -> tuple[LivePlan, list[LiveItem]]:
    """Draws the sample and fixes everything.

    Args:
        setup: the experiment.
        candidates: what can be drawn.
        source: the data in words.
        questions: how many to draw.
        per_question: judgments of each.
        seed: of the draw.
        budget_usd: limit of the run.

    Returns:
        The plan and its sample.
    """
    _check_rubric(setup)
    items = draw(candidates, questions, per_question, seed)
    right, wrong = _questions_with(items, right=True), _questions_with(items, right=False)
    plan = LivePlan(
        setup=setup,
        questions={**QUESTIONS},
        panels=panel_digests(setup),
        sample=Sample(
            source=source,
            seed=seed,
            per_question=per_question,
            of_questions=candidates.questions,
            questions=len({one.question for one in items}),
            judgments=len(items),
            right=sum(one.right for one in items),
            evidence=candidates.evidence_name,
            items=items_digest(items),
            left_out=dict(candidates.left_out),
        ),
        budget_usd=budget_usd,
        prices=tuple(price(setup, judgments_of(candidates, items))),
        power=tuple(power_lines(right, wrong, 1 - setup.confidence)),
    )
    return plan, items


def _check_rubric(setup: LiveSetup) -> None:
    """Refuses rubrics whose scores the panel's rule does not take."""
    rubric = load_rubric(setup.rubric)
    scale = (rubric.scale.low, rubric.scale.high)
    if setup.panel_strategy == "weighted_average" and rubric.kind == "binary":
        raise ConfigurationError("a binary rubric gives votes, which have no average: panel_strategy = majority_vote")
    if setup.panel_strategy == "majority_vote" and scale != SCALE:
        raise ConfigurationError(f"a vote is on the scale {SCALE[0]:g} to {SCALE[1]:g}; the rubric's is {scale}")


def judgments_of(candidates: Candidates, items: Sequence[LiveItem]) -> list[Judgment]:
    """The judgments of a sample, in its order."""
    return [candidates.judgments[one.judgment] for one in items]


def check_items(plan: LivePlan, items: Sequence[LiveItem]) -> None:
    """Refuses a sample that is not the plan's.

    Raises:
        InputError: with both digests.
    """
    found = items_digest(items)
    if found != plan.sample.items:
        raise InputError(
            f"the plan is for the sample {plan.sample.items}, these data give {found}: give the same files (and "
            "--judge, --right) that the plan was made from, or make a plan of your own in another folder"
        )


def _questions_with(items: Sequence[LiveItem], *, right: bool) -> int:
    return len({one.question for one in items if one.right is right})
