"""What an audit returns: the holdings of a file, a card for each judge, the jury, and the rates corrected for errors.

Shares lie in [0, 1], differences of shares in [-1, 1]. Intervals have a nominal coverage of 95 % and are by question.
A figure that the data cannot give is None, and :attr:`AuditDocument.supports` says why. The document is the JSON that
``metajudge audit --json`` prints and ``POST /v1/audit`` returns: of a judge, ``accuracy`` and ``kappa`` are plain
numbers; every figure with its interval, its count and its definition is in ``figures``.
"""

from typing import Any, Literal, TypeAlias

from pydantic import Field

from metajudge.evidence.dependence import JudgesTogether
from metajudge.installation import __version__
from metajudge.types.figure import Estimated
from metajudge.types.frozen import Finite
from metajudge.types.verdict import VerdictKind

CheckName: TypeAlias = Literal[
    "position",
    "length",
    "own_family",
    "own_answer",
    "severity",
    "drift",
    "versions",
    "prompts",
    "categories",
    "weaker_than_peers",
    "copy",
]
"""The checks that a card can hold; docs/audit-statistics.md defines each."""

Status: TypeAlias = Literal["finding", "none", "underpowered", "not_estimable", "error"]

Reference: TypeAlias = Literal["labels", "majority of the other judges", "nothing"]
"""What a verdict is compared with: people's labels (or the item's label), the other judges, or no reference at all."""

Analysis: TypeAlias = (
    CheckName
    | Literal["agreement with people", "human ceiling", "agreement with the other judges"]
    | Literal["repeats", "corrected rate", "jury"]
)
"""What an audit can do with a file, where the file holds what it needs."""


class Figure(Estimated[float]):
    """A figure with its interval.

    Attributes:
        estimate: the point estimate.
        interval: lower and upper end, 95 %; None where it cannot be estimated (one question, say).
        n, questions: verdicts, pairs or items, as ``method`` says, and the independent questions they come from.
        method: definition of the figure and of its interval.
    """

    n: int
    questions: int
    method: str


class Kappa(Figure):
    """A chance-corrected agreement with the name of its statistic, such as "Cohen's kappa"."""

    name: str


class ClassFigures(Finite):
    """How a judge treats one class of labels.

    Attributes:
        value: the class: a category, a grade, ``pass`` or ``fail`` by the pass mark, or ``first``/``second`` for pairs.
        sensitivity, specificity: share of the items labelled so that the judge calls so, and of the others that it
            calls otherwise.
        n_labelled, n_given: verdicts on items labelled so, and verdicts that say so, on labelled items.
    """

    value: str
    sensitivity: Figure | None
    specificity: Figure | None
    n_labelled: int
    n_given: int


class Confusion(Finite):
    """Counts of verdicts by label.

    Attributes:
        classes: the classes, in order of the scale where there is one; for pairs the places in which the responses
            stand in the item.
        counts: a row a label, a column a verdict.
        omitted: labelled verdicts that are in no cell (other responses, more classes than are shown).
    """

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    omitted: int = 0


class Check(Estimated[float | None]):
    """One check of one judge.

    Attributes:
        name: which check.
        title: the same in words, for headings.
        status: ``finding``: significant after Holm's correction over the checks of the card. ``none``: not significant,
            and an effect of ``relevant_effect`` would have been seen with a probability of 80 %. ``underpowered``: not
            significant, and it would not. ``not_estimable``: such verdicts say nothing of it. ``error``: not computed.
        estimate: the effect in the unit of ``unit``; None where there are too few observations to estimate it.
        interval: of ``estimate``, 95 %, not corrected for the number of checks.
        null: the value (or, for one-sided checks, the margin) that the test rejects.
        p_value: of the test alone.
        adjusted_p: after Holm's correction; ``finding`` where it is at most the card's level.
        smallest_effect: the distance from ``null`` that would be seen with a probability of 80 % at the card's level
            divided by its number of checks; None as for ``estimate``.
        relevant_effect: the distance from ``null`` that is declared to matter.
        cost: share of the judge's verdicts that are likely wrong (of grades: parts of the scale by which they are off)
            because of the effect, if it is what ``estimate`` says; None where it makes no verdict of this judge wrong.
        labels_needed: items (labelled ones where ``reference`` is labels) at which ``relevant_effect`` would be seen
            with a probability of 80 %, with questions like those at hand; None where it cannot be estimated.
        n, questions: observations, and independent questions they come from.
        reference: what the verdicts are compared with.
        unit: what the effect is, in words, such as "difference of error rates".
        test: name of the test.
        sentence: what was found, one or two sentences.
        details: named parts of the figure, such as the two error rates, or figures by category.
    """

    name: CheckName
    title: str
    status: Status
    null: float = 0.0
    p_value: float | None
    adjusted_p: float | None
    smallest_effect: float | None
    relevant_effect: float
    cost: float | None = None
    labels_needed: int | None
    n: int
    questions: int
    reference: Reference
    unit: str
    test: str
    sentence: str
    details: dict[str, float | int | str | None] = Field(default_factory=dict)

    @property
    def unsure(self) -> bool:
        """Whether an effect that would matter is there, but may be chance."""
        if self.status != "underpowered" or self.estimate is None:
            return False
        beyond = self.estimate - self.null if self.null else abs(self.estimate)  # checks with a margin are one-sided
        return beyond >= self.relevant_effect


class Group(Finite):
    """A part of a judge's verdicts: a category, a version, a stretch of time.

    Attributes:
        name: of the category or version; for a stretch of time its first day.
        accuracy: share of right verdicts there, or of verdicts equal to the other judges' majority.
        difference: the same minus that of all other verdicts of the judge; None where there is nothing else.
        adjusted_p: of the difference, Benjamini and Yekutieli; None where it is not tested.
        finding: whether it differs, with the share of false findings among findings controlled at 5 %.
    """

    name: str
    accuracy: Figure
    difference: Figure | None = None
    adjusted_p: float | None = None
    finding: bool = False


class Alternative(Finite):
    """The alternative-annotator test: whether the judge may stand in for one of several people.

    Attributes:
        advantage: mean over people of the share of items on which the judge is at least as near to the others (rho).
        annotators: people that were left out in turn.
        winning: epsilon, what the judge is cheaper by -> share of the people for whom it is shown to be no worse by
            that (omega); the judge passes from one half on.
    """

    advantage: Figure
    annotators: int
    winning: dict[str, float]


class Disagreement(Finite):
    """A verdict far from its label.

    Attributes:
        judgment, item: ids of the judgment and of its item.
        verdict, label: what the judge and what people say, in JSON form.
        people: how many people labelled the item; 0 where the label has no annotators.
        unanimous: whether all of them gave that label.
        distance: in [0, 1], 1 for opposite ends of the scale; ties in it are ordered by unanimity, people and stated
            strength of the verdict.
        question, rationale: their first characters.
        response: the first characters of the response; for pairs of the one the judge preferred.
    """

    judgment: str
    item: str
    verdict: Any
    label: Any
    people: int
    unanimous: bool
    distance: float
    question: str
    response: str
    rationale: str


class CorrectedRate(Finite):
    """A rate estimated from labels and from the judge's verdicts, with the judge's errors taken into account.

    Attributes:
        of: what is estimated, such as "share that passes" or "win rate of osprey-70b".
        judge: whose verdicts are used.
        n, n_labelled: items with a verdict, and those of them with a label.
        naive, labels_only: the rate by the verdicts alone, as if they were right, and by the labels alone.
        rogan_gladen: by sensitivity and specificity of the judge (Rogan and Gladen, 1978); None where the two sum to
            little more than 1.
        ppi: prediction-powered, with power tuning (Angelopoulos, Duchi and Zrnic, 2023).
        weight: of the verdicts in ``ppi``: 0 takes the labels alone, 1 counts a verdict fully.
        note: what a reader must know, such as why an estimate is absent.
    """

    of: str
    judge: str
    n: int
    n_labelled: int
    naive: Figure
    labels_only: Figure | None
    rogan_gladen: Figure | None
    ppi: Figure | None
    weight: float | None = None
    note: str = ""


class AuditedJudge(Finite):
    """One judge's verdicts of one kind.

    Attributes:
        judge: its name.
        kind: of its verdicts.
        n, n_no_verdict: all judgments, and those without a verdict.
        n_labelled: verdicts that can be compared with a label.
        questions: different questions.
        accuracy: share of right verdicts by the declared rule, among labelled ones; null without labels.
        kappa: agreement with the labels beyond chance; null where it cannot be computed.
        human_ceiling: how well people agree with one another on this kind; null without several labels an item.
        figures: name -> figure with interval, count and definition, of those that the data give.
        checks: every check that the data support.
        classes: by class of the label.
        confusion: verdicts by labels.
        scale_use: value of the scale -> verdicts that use it.
        over_time: accuracy, or agreement with peers, by stretch of time.
        versions, categories: by version of the judge, and by category of the items.
        contested: error rates where at least two people differ (``disagreed``) and where they say the same
            (``agreed``), and the ``difference``. A higher rate where they differ is expected of any judge, since the
            label itself is less sure; so this is no check.
        alternative: whether it may stand in for a person; None with fewer than three people of 30 items each.
        rates: rates corrected for the errors of this judge, beside the naive ones.
        worst: the worst disagreements with labels, worst first.
    """

    judge: str
    kind: VerdictKind
    n: int
    n_no_verdict: int
    n_labelled: int
    questions: int
    accuracy: float | None
    kappa: float | None
    human_ceiling: float | None
    figures: dict[str, Kappa | Figure]
    checks: tuple[Check, ...]
    classes: tuple[ClassFigures, ...]
    confusion: Confusion | None
    scale_use: dict[str, int]
    over_time: tuple[Group, ...]
    versions: tuple[Group, ...]
    categories: tuple[Group, ...]
    contested: dict[Literal["disagreed", "agreed", "difference"], Figure | None] | None
    alternative: Alternative | None = None
    rates: tuple[CorrectedRate, ...]
    worst: tuple[Disagreement, ...]

    @property
    def findings(self) -> tuple[Check, ...]:
        """The checks that found something, the costliest first."""
        return tuple(
            sorted((one for one in self.checks if one.status == "finding"), key=lambda one: -(one.cost or 0.0))
        )


class JudgePair(Finite):
    """Two judges on the items that both judged.

    Attributes:
        first, second: their names.
        agreement: share of equal verdicts.
        error_correlation: correlation of their errors by the labels; None without labels and where either never errs.
    """

    first: str
    second: str
    agreement: Figure
    error_correlation: Figure | None


class Panel(Finite):
    """Some of the judges voting by majority.

    Attributes:
        judges: who votes.
        accuracy: share of items whose majority is right; an undecided item counts as half.
        difference: the same minus that of all judges together, on the same items.
        undecided: items without a majority.
        cost: relative price of one verdict of all its judges; None where no price is known.
    """

    judges: tuple[str, ...]
    accuracy: Figure
    difference: Figure | None
    undecided: int
    cost: float | None = None


class Jury(Finite):
    """What the judges of one kind are worth together.

    Attributes:
        kind: of their verdicts.
        judges: who is counted.
        reference: what errors are counted by.
        effective: number of independent judges that err as much together, by labels; n counts the items.
        pairs: every two judges.
        drop: judges without whom the majority is as good or better: (judge, why).
        panels: the greedy sequence of panels, from one judge to all.
        cheapest: the cheapest panel that is as good as all judges: the lower end of its difference is above -2 points;
            None where there are no labels or no such panel but all.
        sentence: what to make of it.
    """

    kind: VerdictKind
    judges: tuple[str, ...]
    reference: Reference
    effective: Figure | None
    pairs: tuple[JudgePair, ...]
    drop: tuple[tuple[str, str], ...]
    panels: tuple[Panel, ...]
    cheapest: Panel | None
    sentence: str


class Support(Finite):
    """Whether the file supports an analysis.

    Attributes:
        analysis: which one.
        possible: whether at least one judge's verdicts allow it.
        why: what makes it possible, or what is missing.
        add: what one more column would add; empty where nothing is missing.
    """

    analysis: Analysis
    possible: bool
    why: str
    add: str = ""


class KindHoldings(Finite):
    """Verdicts of one kind.

    Attributes:
        verdicts: how many.
        labelled: how many of those can be compared with a label.
        right: the rule of what counts as right, as ``--right`` takes it.
        right_default: whether that is the default.
        values: different grades or categories, in order of the scale; at most 20.
    """

    verdicts: int
    labelled: int
    right: str
    right_default: bool
    values: tuple[str, ...] = ()


class Holdings(Finite):
    """What the file holds.

    Attributes:
        judgments: records counted.
        no_verdict: of those, without a verdict.
        duplicates: records left out because an earlier one has the same id.
        items, questions: different ones; questions are the unit of all intervals.
        judges: judge -> judgments.
        kinds: kind -> its verdicts.
        labelled_items: items with a label, or with a majority of people's labels.
        labels: people's answers.
        undecided_labels: items with people's labels but without a majority.
        annotators: different people.
        several_labels: items labelled by at least two people.
        both_orders: pairs judged in both orders by one judge.
        repeats: judgments beyond the first of the same thing in the same order by the same judge (and version).
        with_models: items that name the models of their responses.
        with_categories: items with a category.
        with_time: judgments with a time.
        first_time, last_time: the earliest and the latest, ISO 8601.
        versions: judge -> its versions, where it has any.
    """

    judgments: int
    no_verdict: int
    duplicates: int
    items: int
    questions: int
    judges: dict[str, int]
    kinds: dict[VerdictKind, KindHoldings]
    labelled_items: int
    labels: int
    undecided_labels: int
    annotators: int
    several_labels: int
    both_orders: int
    repeats: int
    with_models: int
    with_categories: int
    with_time: int
    first_time: str | None = None
    last_time: str | None = None
    versions: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class Ceiling(Finite):
    """How well people agree with one another: what a judge can reach at most.

    Attributes:
        kind: of the labels.
        agreement: share of people's answers that are right by the majority of the other people.
        annotators: people counted.
    """

    kind: VerdictKind
    agreement: Figure
    annotators: int


class NextCommand(Finite):
    """A next step, with the command that takes it; empty where no command does."""

    goal: Literal["add labels", "calibrate", "guarantee", "judge both orders", "vet", "drop a judge"]
    reason: str
    judge: str | None = None
    n: int | None = None
    command: str = ""


class AuditDocument(Finite):
    """An audit.

    Attributes:
        format: always ``metajudge-audit``.
        version: of this format.
        made_by: version of metajudge.
        inputs: the files, as they were named; empty for judgments that came without a file.
        holdings: what the file holds.
        supports: what it allows to find out today, and what one more column would add.
        level: of the findings of one card, all together.
        judges: one entry for each judge and kind of verdict.
        ceilings: human ceilings by kind.
        juries: by kind, where several judges judged the same items.
        independence: by kind of answers, whether the judges are independent of one another, without labels.
        next: next steps with their commands, in order of use.
        notices: what was left out or must be known.
    """

    format: Literal["metajudge-audit"] = "metajudge-audit"
    version: Literal[1] = 1
    made_by: str = Field(default=__version__)
    inputs: tuple[str, ...] = ()
    holdings: Holdings
    supports: tuple[Support, ...]
    level: float
    judges: tuple[AuditedJudge, ...]
    ceilings: tuple[Ceiling, ...]
    juries: tuple[Jury, ...]
    independence: tuple[JudgesTogether, ...] = ()
    next: tuple[NextCommand, ...]
    notices: tuple[str, ...]

    @property
    def findings(self) -> tuple[tuple[AuditedJudge, Check], ...]:
        """Every finding with its judge, the costliest first."""
        found = [(judge, check) for judge in self.judges for check in judge.findings]
        return tuple(sorted(found, key=lambda one: -(one[1].cost or 0.0)))
