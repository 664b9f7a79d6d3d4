"""Judgment records that ``metajudge vet`` reads, from games and grades; several verdicts on one pair taken together."""

from collections.abc import Sequence
from typing import Literal

from metajudge.installation import __version__
from metajudge.judging.judges import Game, Grading, orders_of
from metajudge.prompts.instruction import criteria_part
from metajudge.prompts.judges import GRADING, LABELS, PAIRWISE
from metajudge.prompts.templates import prompts_digest
from metajudge.providers.model import Parameters
from metajudge.types import Absent, AnyVerdict, Item, Judgment, Pairwise
from metajudge.types.spent import sum_if_known

Rule = Literal["agree", "sum", "strength"]


def game_id(item: Item, judge: str, order: tuple[str, ...]) -> str:
    """A judgment's id: item, judge, and whether the responses were shown as given or swapped, or which was graded."""
    if len(order) == 1:
        return f"{item.id}/{judge}/{order[0]}"
    assert len(order) == 2, "a game shows two responses, a grading one"
    place = "given" if order == orders_of(item, "given", order)[0] else "swapped"
    return f"{item.id}/{judge}/{place}"


def judgment_of(game: Game | Grading) -> Judgment:
    """The record of a game, or of a grading, that ended with a verdict, or with the judge's failure to give one.

    Its instruction is what the judge was asked to weigh, without the form of the reply
    (:func:`metajudge.prompts.instruction.criteria_part`). Its ``meta`` records its origin: model, model as reported,
    digests of templates and request, the parameters set, the number of replies (``attempts``: 2 where one was
    repaired), their cost, and the version; and under ``blinding`` which names were hidden from the judge, where some
    were. Nothing in it depends on whether a reply came from the store, so that a repeated run writes the same record.

    Raises:
        ValueError: the judge could not be asked; there is no judgment to record.
    """
    if game.failure is not None and not game.replied:
        raise ValueError(f"this game gave no judgment: {game.failure.kind}: {game.failure.message}")
    graded = isinstance(game, Grading)
    meta = {
        "model": game.model,
        "reported_model": game.reported_model,
        "prompt_digest": prompts_digest(*(GRADING if graded else PAIRWISE), version=game.prompt_version),
        "request_digest": game.request_digest,
        "parameters": parameters_set(game.parameters),
        "attempts": game.replies,
        "cost_usd": game.cost_usd,
        "metajudge_version": __version__,
    }
    if game.blinding.hidden:
        meta["blinding"] = game.blinding.model_dump(mode="json")
    return Judgment(
        id=game_id(game.item, game.judge, game.order),
        item=game.item,
        judge=game.judge,
        verdict=game.verdict,
        no_verdict=game.no_verdict,
        rationale=game.text,
        order=game.order,
        labels=None if graded else LABELS,
        instruction=criteria_part(game.instruction),
        meta=meta,
    )


def combined_judgment(games: Sequence[Game], rule: Rule) -> Judgment:
    """One judgment from the games of one judge on one pair, by a named rule; ``meta`` has the rule and the games."""
    first = games[0]
    pair = orders_of(first.item, "given", first.order)[0]
    combined = combine(pair, [game.verdict for game in games], rule)
    recorded = {
        game_id(game.item, game.judge, game.order): None if game.verdict is None else str(game.verdict)
        for game in games
    }
    return Judgment(
        id=f"{first.item.id}/{first.judge}/{rule}",
        item=first.item,
        judge=first.judge,
        verdict=None if isinstance(combined, Absent) else combined,
        no_verdict=combined.reason if isinstance(combined, Absent) else None,
        rationale="\n\n".join(f"[shown {' then '.join(game.order)}] {game.text}" for game in games),
        order=pair,
        labels=pair,
        instruction=criteria_part(first.instruction),
        meta={
            "model": first.model,
            "reported_model": first.reported_model,
            "rule": rule,
            "games": recorded,
            "prompt_digest": prompts_digest(*PAIRWISE, version=first.prompt_version),
            "cost_usd": sum_if_known(game.cost_usd for game in games),
            "metajudge_version": __version__,
        },
    )


def parameters_set(parameters: Parameters) -> dict[str, float | str]:
    """Parameters that differ from the provider's defaults; headers are left out because they may contain secrets."""
    names = ("temperature", "top_p", "max_tokens", "seed", "effort", "thinking_budget")
    return {name: value for name in names if (value := getattr(parameters, name)) not in (None, "")}


def combine(pair: tuple[str, str], games: Sequence[Pairwise | None], rule: Rule) -> Pairwise | Absent:
    """Combines the games of one judge on one pair; the reason where there is no verdict.

    ==============  ==================================================================================================
    rule            verdict
    ==============  ==================================================================================================
    ``agree``       the winner both games name, as strongly as the weaker of them says; else a tie. A game without a
                    verdict leaves none.
    ``sum``         each game is worth 1, whatever its strength, a tie and a missing verdict nothing; the sum decides,
                    0 is a tie. So one win and one tie is a win (the rule of JudgeBench).
    ``strength``    the sum of the signed strengths decides, so that a much better outweighs a better. A game without
                    a verdict leaves none.
    ==============  ==================================================================================================

    Args:
        games: verdicts on them, None for a game without one.
    """
    given = [game for game in games if game is not None]
    if not given or (len(given) < len(games) and rule != "sum"):
        missing = len(games) - len(given)
        return Absent(f"{missing} of {len(games)} games have no verdict, and rule {rule} needs all of them")
    worths = [game.support(*pair) or 0 for game in given]
    if rule == "agree":
        agreed = min(worths) > 0 or max(worths) < 0
        return min(given, key=lambda game: game.strength) if agreed else Pairwise(*pair, 0)
    if rule == "sum":
        worths = [(worth > 0) - (worth < 0) for worth in worths]
    total = sum(worths)
    if total == 0:
        return Pairwise(*pair, 0)
    first, second = pair if total > 0 else pair[::-1]
    return Pairwise(first, second, 2 if abs(total) > len(given) else 1)


def support(verdict: AnyVerdict, given: Sequence[Pairwise]) -> float:
    """Mean support of ``given`` for ``verdict``, in [-1, 1].

    With a winner: the mean of the signed strengths over 2, so that ``A>>B`` supports ``A>B`` by 1, ``A>B`` by 1/2,
    a tie by 0, ``B>A`` by -1/2 and ``B>>A`` by -1. How strongly ``verdict`` itself is stated plays no part.

    A tie is supported by ties: the mean of 1 - strength, so 1 for a tie, 0 for a plain preference and -1 for a
    strong one, whichever way it goes. Two opposite preferences (a model that likes what it sees first) are no
    agreement on a tie.

    Args:
        verdict: a preference or a tie between two responses.
        given: at least one verdict on the same two.

    Raises:
        ValueError: verdicts on other responses, or none.
    """
    if not given or len(verdict.ids) != 2 or any(set(one.ids) != set(verdict.ids) for one in given):
        there = ", ".join(map(str, given)) or "none"
        raise ValueError(f"only verdicts on the same two responses can support {verdict}; these are: {there}")
    first, second = verdict.ids
    if verdict.is_tie:
        return sum(1.0 - one.strength for one in given) / len(given)
    signed = [one.support(first, second) or 0 for one in given]
    return sum(signed) / (2 * len(given))
