"""Pairs of a chosen and a rejected answer, which are labels: RewardBench's, and chats of ``from`` and ``value``.

RewardBench 1 (Lambert et al., 2024) has ``prompt, chosen, chosen_model, rejected, rejected_model, subset, id``. Chats
as ShareGPT writes them have ``conversations: [{"from": "human", "value": ...}, ...]``; of a pair, ``chosen`` and
``rejected`` are the next message. Response ``A`` is the chosen one.
"""

from typing import Any, Final

from metajudge.reading.formats.records import Records, Score

_PAIR: Final[dict[str, Any]] = {
    "answers": {"A": "chosen", "B": "rejected"},
    "models": {"A": "chosen_model", "B": "rejected_model"},
    "scores": (Score(value="=A", name="chosen"),),
}
REWARDBENCH: Final = Records(
    name="RewardBench pairs",
    marks="prompt, chosen, rejected, chosen_model, rejected_model, subset, id",
    question="prompt",
    id=lambda record: f"{record['subset']}/{record['id']}",
    category="subset",
    **_PAIR,
)
CHATS: Final = Records(
    name="chats with a chosen answer",
    marks="conversations, chosen, rejected",
    question="conversations",
    id="id",
    prefix="chat",
    **_PAIR,
)
