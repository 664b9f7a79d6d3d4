"""From a game to a judgment record that ``metajudge vet`` reads."""

from metajudge import __version__
from metajudge.judging.pairwise import Game, Order, orders_of, templates_digest
from metajudge.prompts.judge import LABELS
from metajudge.providers.model import Parameters
from metajudge.types import Item, Judgment


def game_id(item: Item, judge: str, order: Order) -> str:
    """A judgment's id: item, judge, and whether the responses were shown as given or swapped."""
    place = "given" if order == orders_of(item, "given", order)[0] else "swapped"
    return f"{item.id}/{judge}/{place}"


def judgment_of(game: Game) -> Judgment:
    """The record of a game that ended with a verdict, or with the judge's failure to give one.

    Its ``meta`` says what it rests on: model, model as reported, digests of templates and request, the parameters
    set, the number of replies (``attempts``: 2 where one was repaired), their cost, and the version. Nothing in it
    depends on whether a reply came from the store, so that a repeated run writes the same record.

    Raises:
        ValueError: the judge could not be asked; there is no judgment to record.
    """
    if game.failure is not None and not game.replied:
        raise ValueError(f"no judgment came of this game: {game.failure.kind}: {game.failure.message}")
    meta = {
        "model": game.model,
        "reported_model": game.reported_model,
        "prompt_digest": templates_digest(),
        "request_digest": game.request_digest,
        "parameters": _set(game.parameters),
        "attempts": game.replies,
        "cost_usd": game.cost_usd,
        "metajudge_version": __version__,
    }
    return Judgment(
        id=game_id(game.item, game.judge, game.order),
        item=game.item,
        judge=game.judge,
        verdict=game.verdict,
        no_verdict=game.no_verdict,
        rationale=game.text,
        order=game.order,
        labels=LABELS,
        instruction=game.instruction,
        meta=meta,
    )


def _set(parameters: Parameters) -> dict[str, float | str]:
    """What was asked for beyond the provider's defaults; headers may hold secrets and stay out."""
    names = ("temperature", "top_p", "max_tokens", "seed", "effort")
    return {name: value for name in names if (value := getattr(parameters, name)) is not None}
