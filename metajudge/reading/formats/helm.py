"""HELM's ``scenario_state.json``: what annotators, judges of a model's answer, noted of each request.

An object has ``request_states``, each with ``instance``, ``request``, ``result`` and ``annotations`` (ANNOTATOR ->
what it noted, such as ``gpt_score`` and ``gpt_reasoning``, or a model's scores by criterion). A score is a grade; the
judge is ``MODEL/ANNOTATOR``. What an annotator noted beside scores and reasons is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from metajudge.reading.containers.cells import objects_in
from metajudge.reading.formats.specs import Row, Spec, get
from metajudge.reading.formats.stated_scores import VALUES, stated, stated_columns


def _states(data: Row) -> list[Any] | None:
    found = data.get("request_states")
    return found if isinstance(found, list) and "adapter_spec" in data else None


def _id(state: Row) -> str:
    where = (get(state, "instance.split"), get(state, "instance.id"), get(state, "instance.perturbation.name"))
    trial, model = get(state, "train_trial_index"), get(state, "request.model")
    return "/".join(str(one) for one in (model, *where, trial or None) if one is not None)


def _reference(state: Row) -> Any:
    given = objects_in(get(state, "instance.references"))
    return next((get(one, "output.text") for one in given if "correct" in (one.get("tags") or ())), None)


def _each(state: Row) -> Iterator[Row]:
    for annotator, noted in (state.get("annotations") or {}).items():
        if not isinstance(noted, Mapping):
            continue
        for name, score in stated_columns(noted, list(noted)):
            model = name.removesuffix("_score")
            if model != name:
                yield {"name": annotator, "by": model, "value": score.value, "reason": score.reason}
            for criterion, one in noted[name].items() if isinstance(noted[name], Mapping) else ():
                if isinstance(one, Mapping) and one.keys() & set(VALUES):
                    said = stated(one)
                    yield {"name": f"{annotator}/{criterion}", "by": name, "value": said.value, "reason": said.reason}


SPEC = Spec(
    name="HELM annotations",
    inside=_states,
    run={
        "id": _id,
        "asked": "request.messages|instance.input.messages|instance.input.text|request.prompt",
        "answered": "result.completions.0.text",
        "model": "request.model",
        "reference": _reference,
    },
    each=_each,
    score={"name": "name", "by": "by", "value": "value", "reason": "reason", "id": None},
)
