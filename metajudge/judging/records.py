"""From a game, a grade or a ranking to a judgment record that ``metajudge vet`` reads."""

from collections.abc import Sequence

from metajudge.installation import __version__
from metajudge.judging.combining import Rule, combine
from metajudge.judging.grading import Grading
from metajudge.judging.pairwise import Game, orders_of
from metajudge.prompts import grading, judge
from metajudge.prompts.instruction import criteria_part
from metajudge.prompts.templates import prompts_digest
from metajudge.providers.model import Parameters
from metajudge.types import Item, Judgment
from metajudge.types.spent import sum_if_known


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
    meta = {
        "model": game.model,
        "reported_model": game.reported_model,
        "prompt_digest": prompts_digest(
            *(judge.TEMPLATES if isinstance(game, Game) else grading.TEMPLATES), version=game.prompt_version
        ),
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
        labels=judge.LABELS if isinstance(game, Game) else None,
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
        verdict=combined.verdict,
        no_verdict=combined.why,
        rationale="\n\n".join(f"[shown {' then '.join(game.order)}] {game.text}" for game in games),
        order=pair,
        labels=pair,
        instruction=criteria_part(first.instruction),
        meta={
            "model": first.model,
            "reported_model": first.reported_model,
            "rule": rule,
            "games": recorded,
            "prompt_digest": prompts_digest(*judge.TEMPLATES, version=first.prompt_version),
            "cost_usd": sum_if_known(game.cost_usd for game in games),
            "metajudge_version": __version__,
        },
    )


def parameters_set(parameters: Parameters) -> dict[str, float | str]:
    """Parameters that differ from the provider's defaults; headers are left out because they may contain secrets."""
    names = ("temperature", "top_p", "max_tokens", "seed", "effort")
    return {name: value for name in names if (value := getattr(parameters, name)) is not None}
