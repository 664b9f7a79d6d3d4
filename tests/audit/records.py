"""Small judgments, written down by hand."""

from metajudge.audit.gather import gather
from metajudge.audit.table import build_table
from metajudge.audit.view import build_peers, view_of
from metajudge.types import Item, Judgment, Label
from metajudge.types.verdict import kind_of, parse_verdict


def pair(item, judge, verdict, order="AB", *, models=None, lengths=(5, 5), **more):
    """A pairwise judgment of responses A and B; ``labels`` are people's answers in turn."""
    name = f"{item}/{judge}/{order}/{more.get('meta', {}).get('prompt_name', '')}"
    responses = {"A": "a" * lengths[0], "B": "b" * lengths[1]}
    more = {"id": name, "order": tuple(order), **more}
    return _judgment(item, judge, verdict, responses, models=models, **more)


def single(item, judge, verdict, *, model=None, length=5, scale=(), **more):
    """A grade or a category of one response."""
    models = None if model is None else {"R": model}
    more = {"id": f"{item}/{judge}", **more}
    return _judgment(item, judge, verdict, {"R": "r" * length}, models=models, scale=scale or None, **more)


def _judgment(
    item, judge, verdict, responses, *, label=None, labels=(), models, category=None, question=None, scale=None, **more
):
    record = Item(
        id=item,
        question=question or f"question of {item}",
        responses=responses,
        label=label,
        labels=people(labels),
        models=models,
        category=category,
        scale=scale,
    )
    why = "unparsed" if verdict is None else None
    return Judgment(item=record, judge=judge, verdict=verdict, no_verdict=why, **more)


def people(answers):
    """Labels of persons p1, p2 and so on; an answer may be (annotator, value)."""
    pairs = [one if isinstance(one, tuple) else (f"p{at + 1}", one) for at, one in enumerate(answers)]
    return tuple(Label(value=value, annotator=name) for name, value in pairs)


def table_of(judgments, right=None, kind=None):
    judgments = list(judgments)
    first = next(one.verdict for one in judgments if one.verdict is not None)
    return build_table(gather(judgments), kind or kind_of(parse_verdict(first)), right)


def view(judgments, judge, right=None):
    """The verdicts of one judge beside the others."""
    table = table_of(judgments, right)
    return view_of(table, build_peers(table), table.facts.judges.index(judge))
