"""Names of columns that say who gave a value: a person, or a judge."""

import re
from collections.abc import Callable, Iterable
from typing import Final

ANNOTATORS: Final = (
    *("annotator", "annotator_id", "annotator_name", "rater", "rater_id", "reviewer", "labeler", "labeller"),
    *("expert_id", "worker_id", "user_id", "person"),
)
"""Who gave a label."""
LABEL_TIMES: Final = ("label_time", "labeled_at", "labelled_at", "annotated_at", "annotation_time", "created_at")
"""When a label was given."""
RULING_FLAGS: Final = ("ruling", "is_ruling", "adjudicated", "is_adjudicated", "adjudication")
"""Whether a label is a ruling on what people said, where the values are true and false; else such a ruling."""
_FLAG: Final = frozenset(("", "true", "false", "yes", "no", "0", "1"))

_PEOPLE = r"(?:human|gold|golden|expert|annotator|people|person|manual|crowd)"
_WHAT = (
    r"(?:label|score|rating|grade|verdict|winner|preference|preferred|vote|choice|judgment|judgement|annotation|"
    r"decision|answer|pick|value)"
)
_TOGETHER = r"(?:majority|adjudicated|consensus|aggregated|mean|average|avg|median)"
_PERSON = re.compile(
    rf"(?:{_TOGETHER}_)?{_PEOPLE}s?(?:_{_TOGETHER}(?:_vote)?)?|{_TOGETHER}_(?:vote|label)|{_PEOPLE}(?:_?(?:\d{{1,3}}|[a-h]))?(?:_{_WHAT})?(?:_?(?:\d{{1,3}}|[a-h]))?|{_WHAT}_(?:by_)?{_PEOPLE}(?:_?\d{{1,3}})?"
)
_KNOWN: Final = (
    "label",
    "adjudicated",
    "ground_truth",
    "true_winner",
    "gold_label",
    "true_label",
    "truth",
    "correct_label",
)
_NO_LABEL: Final = ("annotator", "person", "people", "gold_answer", "human_answer", "expert_answer")
"""Names of people and of reference answers."""
_JUDGE: Final = re.compile(
    rf"(?:llm|judge|auto|autorater|grader|evaluator|ai|gpt_?[\w.]*?|claude[\w.]*?)_(?:{_WHAT}|pass|passed|result|output)"
    r"|auto_?(?:score|label)"
)


def base_name(column: str) -> str:
    """The last part of a column's name, in lower case, with ``_`` between its words."""
    return re.sub(r"[\s-]+", "_", column.split(".")[-1].strip().lower())


def ruling_flag(columns: Iterable[str], values: Callable[[str], Iterable[str]]) -> str | None:
    """The column that says which labels are rulings; None without one.

    Args:
        columns: names.
        values: the first values of a column, as text.
    """
    named = (column for column in columns if base_name(column) in RULING_FLAGS)
    return next((one for one in named if {value.casefold() for value in values(one)} <= _FLAG), None)


def is_label_name(column: str) -> bool:
    """Whether a column's name says that people gave its values: ``label``, ``human_score``, ``gold``, ``expert_2``."""
    name = base_name(column)
    return name in _KNOWN or (name not in _NO_LABEL and bool(_PERSON.fullmatch(name)))


def is_judges_name(column: str) -> bool:
    """Whether a column's name says that a judge gave its values: ``judge_score``, ``llm_label``."""
    return bool(_JUDGE.fullmatch(base_name(column)))
