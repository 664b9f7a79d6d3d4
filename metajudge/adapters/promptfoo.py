"""promptfoo: an assertion and a provider that vet a judge's verdict.

As an assertion on a judge's output, where the test's variables contain what it judged::

    assert:
      - type: python
        value: file://vet.py          # one line: from metajudge.adapters.promptfoo import get_assert
        config:
          agents: [openai:gpt-4o-mini]
          responses: {A: answer_a, B: answer_b}   # response id -> the variable that contains it

As a provider (``file://vet.py:call_api``) it takes a judgment as JSON for its prompt and answers with the assessment.
What can go wrong comes back as a failed assertion or the provider's ``error``, with the reason.
"""

import json
from collections.abc import Mapping
from typing import Any

from metajudge.adapters.vetting import Vetting, reason_of, summary_of
from metajudge.errors import InputError, MetajudgeError
from metajudge.evidence.text_verdict import TextVerdict, read_text_verdict
from metajudge.providers.thoughts import bare_answer
from metajudge.reading.reasons import as_judgment
from metajudge.types import Assessment, Judgment

OWN_OPTIONS = ("question", "responses", "reference", "label", "judge", "undecided_passes")
"""Options of the assertion's config; all others are those of :class:`metajudge.adapters.vetting.Vetting`."""


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Vets the verdict in a judge's output; passes where meta-judges keep it.

    Args:
        output: the judge's text, or an object with ``verdict`` and ``rationale`` (``reason``, ``explanation``).
        context: promptfoo's: ``vars`` contain question and responses, ``config`` says which they are.

    Returns:
        promptfoo's grading result: ``pass``, ``score`` in [0, 1] (the final score's place on its scale of 1 to 5, or
        the probability), ``reason``, and ``metadata``.
    """
    config = dict(context.get("config") or {})
    try:
        vetting = Vetting(**{name: value for name, value in config.items() if name not in OWN_OPTIONS})
        judgment = judgment_of(output, context, config)
        assessment = vetting.vet_now(judgment)
    except MetajudgeError as error:
        return {"pass": False, "score": 0.0, "reason": f"metajudge: {error}"}
    passed = assessment.kept
    if passed is None:
        passed = bool(config.get("undecided_passes", False))
    return {
        "pass": passed,
        "score": _score(assessment, passed),
        "reason": reason_of(assessment),
        "metadata": {"metajudge": summary_of(assessment)},
    }


def call_api(prompt: str, options: Mapping[str, Any], _context: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Vets the judgment that the prompt is, as JSON.

    Returns:
        promptfoo's provider response: ``output`` is the assessment, with cost and tokens; or ``error``.
    """
    try:
        vetting = Vetting(**dict(options.get("config") or {}))
        judgment = as_judgment(json.loads(prompt))
        assessment = vetting.vet_now(judgment)
    except json.JSONDecodeError as error:
        return {"error": f"metajudge: the prompt is no judgment in JSON: {error}"}
    except MetajudgeError as error:
        return {"error": f"metajudge: {error}"}
    usage = assessment.usage
    found: dict[str, Any] = {"output": assessment.model_dump(mode="json")}
    found["tokenUsage"] = {
        "prompt": usage.input_tokens,
        "completion": usage.output_tokens,
        "total": usage.input_tokens + usage.output_tokens,
    }
    return found if assessment.cost_usd is None else {**found, "cost": assessment.cost_usd}


def judgment_of(output: Any, context: Mapping[str, Any], config: Mapping[str, Any]) -> Judgment:
    """A judge's output and the test's variables as a judgment.

    Raises:
        InputError: a variable that is not there, or an output without a verdict.
    """
    variables = context.get("vars") or {}
    responses = {name: str(_variable(variables, of, "responses")) for name, of in _responses(config).items()}
    item = {
        "id": str(variables.get("id") or _variable(variables, config.get("question", "question"), "question"))[:200],
        "question": str(_variable(variables, config.get("question", "question"), "question")),
        "responses": responses,
    }
    for name in ("reference", "label"):
        if config.get(name) is not None:
            item[name] = _variable(variables, config[name], name)
    verdict, rationale = _verdict(output, tuple(responses))
    judge = str(config.get("judge") or _provider(context) or "promptfoo")
    return as_judgment({"id": item["id"], "item": item, "judge": judge, "verdict": verdict, "rationale": rationale})


def _responses(config: Mapping[str, Any]) -> Mapping[str, str]:
    given = config.get("responses") or {"A": "response_a", "B": "response_b"}
    if not isinstance(given, Mapping):
        raise InputError("config.responses is a mapping of response id to variable, e.g. {A: answer_a, B: answer_b}")
    return given


def _variable(variables: Mapping[str, Any], name: Any, option: str) -> Any:
    if name not in variables:
        there = ", ".join(map(str, variables)) or "none"
        raise InputError(
            f"the test has no variable {name!r} (config.{option} names it); there are: {there}. Add it to the test's "
            "vars, or name another in the assertion's config"
        )
    return variables[name]


def _verdict(output: Any, ids: tuple[str, ...]) -> tuple[Any, str]:
    """The verdict as the judge gave it, and its reasons: from an object, from JSON, or from marks in a text."""
    found = output if isinstance(output, Mapping) else _object(str(output))
    # Of a single response also under the names that judges give grades and categories.
    keys = ("verdict", "winner") if len(ids) != 1 else ("verdict", "grade", "score", "label", "category", "pass")
    key = None if found is None else next((name for name in keys if found.get(name) is not None), None)
    if found is not None and key is not None:
        verdict = found[key]
        if isinstance(verdict, str) and verdict in ids and len(ids) == 2:
            verdict = f"{verdict}>{ids[1 - ids.index(verdict)]}"
        reasons = (found.get(name) for name in ("rationale", "reason", "explanation", "reasoning"))
        return verdict, str(next((one for one in reasons if one), ""))
    if len(ids) == 1:
        raise InputError(
            "the judge's output contains no grade or category that can be read. Have it answer with JSON such as "
            '{"grade": 4, "rationale": "..."} or {"pass": true, "reason": "..."}'
        )
    text = json.dumps(output) if isinstance(output, Mapping) else str(output)
    read = read_text_verdict(text, tuple((name, name) for name in ids))
    if not isinstance(read, TextVerdict) or len(ids) != 2:
        detail = "" if isinstance(read, TextVerdict) else f": {read.detail}"
        raise InputError(
            f"the judge's output contains no verdict that can be read{detail}. Have it answer with JSON such as "
            '{"verdict": "A>B", "rationale": "..."} or end with [[A>B]]'
        )
    if read.winner is None:
        return f"{ids[0]}={ids[1]}", text
    return f"{read.winner}>{ids[1 - ids.index(read.winner)]}", text


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(bare_answer(text))
    except (json.JSONDecodeError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def _provider(context: Mapping[str, Any]) -> str | None:
    """What promptfoo calls the provider under test, where it says."""
    provider = context.get("provider")
    found = provider.get("id") if isinstance(provider, Mapping) else provider
    return found if isinstance(found, str) and found else None


def _score(assessment: Assessment, passed: bool) -> float:
    """The score promptfoo shows, in [0, 1]."""
    if assessment.probability is not None:
        return assessment.probability
    if assessment.final_score is not None:
        return min(1.0, max(0.0, (assessment.final_score - 1) / 4))
    return float(passed)
