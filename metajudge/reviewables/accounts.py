"""What a store has under a name, told to a person: what was judged, what is to be done, why, and what would change it.

The data are those of :meth:`metajudge.store.store.Store.show`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from metajudge.evidence.words import missing_evidence, signal_lines
from metajudge.files.command_line import command
from metajudge.reviewables.reviewable import number
from metajudge.strategies.rule import rule_of
from metajudge.types import AgentResult, Assessment, Judgment, Status

LONGEST: Final = 600
"""Characters shown of a text."""
MOST: Final = 20
"""Judgments, reviews or records that are listed."""
_DO: Final = {"keep": "KEEP", "ask": "ASK A PERSON", "discard": "DISCARD"}
_COUNTS: Final = (
    ("kept", ("kept", "accepted")),
    ("discarded", ("discarded", "rejected")),
    ("unscored", ("unscored",)),
    ("failed", ("failed",)),
    ("bad lines", ("bad_lines",)),
    ("new reviews", ("reviews",)),
)
DECIMALS = 9
"""Scores are compared after rounding, as decisions are made."""


def what_tips(one: Assessment) -> str | None:
    """The smallest change that would decide a judgment differently, in a sentence; None where it cannot be told.

    A policy decides by its bands; a probability by its cut; a majority by its votes; everything else by the score.
    """
    if one.decision is not None:
        margin = one.decision.margin
        where = f"from another decision of policy {one.decision.policy}"
        return None if margin is None else f"The deciding value is {margin:.3g} {where}."
    rule = rule_of(one)
    if rule is None or one.accepted is None:
        return None
    if rule.by == "probability" and rule.cut is not None and one.probability is not None:
        side = "below" if one.accepted else "from"
        return f"A probability {side} {rule.cut:.3f}: {abs(one.probability - rule.cut):.3f} away."
    if rule.by == "agreement" and rule.cut is not None and one.final_score is not None:
        side = "below" if one.accepted else "of at least"
        distance = abs((one.final_score - 1) / 4 - rule.cut)
        return f"A share of agreeing peers {side} {rule.cut:g}: {distance:.3g} away."
    return _votes(one, one.accepted) if by_vote(one) else _score(one, one.accepted)


def by_vote(one: Assessment) -> bool:
    """Whether the agents' majority decided: a discussion without a summary votes unless its score is the average."""
    if one.strategy != "panel_discussion" or one.summariser is not None:
        return one.strategy == "majority_vote"
    scored = [(agent.weight, agent.score) for agent in one.agents if agent.score is not None]
    total = sum(weight for weight, _ in scored)
    if one.final_score is None or not total:
        return one.score_bounds is None
    return round(sum(weight * score for weight, score in scored) / total - one.final_score, 6) != 0


def _score(one: Assessment, kept: bool) -> str | None:
    side = f"of at most {one.threshold:g}" if kept else f"above {one.threshold:g}"
    if one.final_score is not None:
        return f"A score {side}: {abs(one.final_score - one.threshold):.3g} away."
    if one.score_bounds is None:
        return None
    nearest = one.score_bounds[0] if kept else one.score_bounds[1]
    return f"A score {side}: at least {abs(nearest - one.threshold):.3g} away, whatever the missing answers say."


def _votes(one: Assessment, kept: bool) -> str:
    """The smallest set of votes that turns the majority of the configured panel, nearest to the threshold first."""
    known = [agent for agent in one.agents if agent.score is not None]
    above = [agent for agent in known if round((agent.score or 0.0) - one.threshold, DECIMALS) > 0]
    half = len(one.agents) // 2
    needed = len(above) - half if kept else half + 1 - len(above)
    pool = sorted(above if kept else [agent for agent in known if agent not in above], key=lambda a: _gap(a, one))
    sure, tied = pool[:needed], []
    if needed < len(pool) and _gap(pool[needed - 1], one) == _gap(pool[needed], one):
        sure = [agent for agent in pool if _gap(agent, one) < _gap(pool[needed], one)]
        tied = [agent for agent in pool if _gap(agent, one) == _gap(pool[needed], one)]
    groups = [f"the vote{'s' if len(sure) > 1 else ''} of {_named(sure)}"] if sure else []
    groups += [f"{needed - len(sure)} of the votes of {_named(tied)}"] if tied else []
    missing = needed - min(needed, len(pool))
    groups += [f"{missing} of the answers that are missing"] if missing else []
    side = f"at most {one.threshold:g}" if kept else f"above {one.threshold:g}"
    far = ""
    if pool and one.rubric != "binary":  # votes of a binary rubric lie at the scale's ends, and are no distance
        up_to = "up to " if len(sure) + len(tied) > 1 and needed > 1 else ""
        far = f", {up_to}{_gap(pool[min(needed, len(pool)) - 1], one):.3g} away"
    told = " and ".join(groups)
    return f"{told[:1].upper()}{told[1:]} {'tips' if needed == 1 else 'tip'} it: {side}{far}."


def _gap(agent: AgentResult, one: Assessment) -> float:
    return abs(round((agent.score or 0.0) - one.threshold, DECIMALS))


def _named(agents: list[AgentResult]) -> str:
    return ", ".join(f"{agent.agent} ({agent.score:.4g})" for agent in agents)


def account_of(found: Mapping[str, Any], store: Sequence[str] = ()) -> list[str]:
    """The lines that tell a person what is stored under a name.

    Args:
        found: as the store's ``show`` gives it.
        store: the words that name the store in further commands.
    """
    lines: list[str] = []
    for run in found["runs"]:
        lines += _run(run, store, vetted=bool(found["assessments"]))
    judged = {one["judgment_digest"]: one for one in found["judgments"]}
    whole = len(judged) == 1
    # What people have to judge before they see its result, and have not.
    hidden = {one["subject_digest"] for one in found["reviews"] if one.get("blind") and not one["decisions"]}
    for digest, one in list(judged.items())[:MOST] if not found["runs"] else ():
        assessments = [row for row in found["assessments"] if row["judgment_digest"] == digest]
        lines += _judgment(one, assessments, whole=whole, hidden=digest in hidden)
    if found["runs"] or len(judged) > MOST:
        lines += _listed(found, hidden, store)
    lines += _reviews(found["reviews"], store)
    lines += _audit_log(found["audit_log"])
    older = found["history_total"]
    if older and not found["runs"]:
        lines += ["", f"Earlier versions of these assessments: {older:,} (--json has them)"]
    return lines or [f"{found['name']}: only calls are stored: --json"]


def _run(run: Mapping[str, Any], store: Sequence[str], *, vetted: bool) -> Iterator[str]:
    summary = run["summary"] or {}
    ended = f", ended {_when(run['finished_at'])}" if run["finished_at"] else ""
    yield f"Run {run['run_id']}: {run['command']}, {run['status']}, started {_when(run['started_at'])}{ended}"
    counts = {words: next((summary[n] for n in names if summary.get(n) is not None), 0) for words, names in _COUNTS}
    said = [f"{count:,} {words}" for words, count in counts.items() if count]
    if said:
        yield f"  {summary.get('judgments', 0):,} judgments: {', '.join(said)}"
    cost = summary.get("cost_usd")
    spent = f"at least ${summary.get('known_cost_usd', 0.0):.4f}" if cost is None else f"${cost:.4f}"
    yield f"  {summary.get('calls', 0):,} calls, {spent}"
    policy = run["config"].get("policy")
    if policy:
        yield f"  policy {policy['name']} {policy['digest']}"
    if vetted:
        yield f"  A page with reasons and scores: {command('show', run['run_id'], '--report', 'vet.html', store)}"


def _judgment(
    row: Mapping[str, Any], assessments: Sequence[Mapping[str, Any]], *, whole: bool, hidden: bool
) -> Iterator[str]:
    judgment = None if row["redacted"] else Judgment.model_validate(row["judgment"])
    name = row["judgment"]["id"]
    yield f"Judgment {name}"
    if judgment is None:
        yield "  Its texts were redacted; digests and numbers are kept."
    elif whole:
        yield from _texts(judgment, hidden=hidden)
    elif not hidden:
        said = "no verdict" if judgment.verdict is None else str(judgment.verdict)
        yield f"  {judgment.judge} says {said}"
    if hidden:
        yield "  It waits for a blind review: its result is shown when people have decided (--json has it)."
        return
    for one in assessments:
        yield from _assessment(Assessment.model_validate(one["payload"]), judgment, whole=whole)
    if not assessments:
        yield "  It was not vetted here."


def _texts(judgment: Judgment, *, hidden: bool) -> Iterator[str]:
    item = judgment.item
    yield f"  Question   {_short(item.question)}"
    for name, text in item.responses.items():
        yield f"  Response {name}  {_short(text)}"
    if hidden:
        return
    said = f"gave no verdict ({judgment.no_verdict})" if judgment.verdict is None else f"says {judgment.verdict}"
    yield f"  {judgment.judge} {said}, shown in the order {', '.join(judgment.order)}"
    if judgment.rationale:
        yield f"  Rationale  {_short(judgment.rationale)}"
    if item.label is not None:
        correct = judgment.correct
        right = "not comparable" if correct is None else f"the verdict is {'right' if correct else 'wrong'}"
        yield f"  Label      {item.label}: {right}"


def _assessment(one: Assessment, judgment: Judgment | None, *, whole: bool) -> Iterator[str]:
    models = ", ".join(dict.fromkeys(agent.model for agent in one.members))
    by = f"{one.strategy.replace('_', ' ')} of {models}" if models else "free evidence, no model"
    yield ""
    yield f"  {_DO[one.do.action]}: {one.do.reason.rstrip('.')}."
    if not whole:
        return
    lost = bool(models) and one.status is not Status.ASSESSED
    yield f"  {'Not vetted, no decision by' if lost else 'Vetted by'} {by}; {_numbers(one)}"
    for agent in one.members:
        if agent.failure is not None:
            yield f"    {agent.agent} failed: {agent.failure.kind.value.replace('_', ' ')}: {agent.failure.message}"
        elif agent.skipped:
            yield f"    {agent.agent} was not asked: the decision was already final"
        else:
            yield f"    {agent.agent} gives {number(agent.score)}"
        for name, criterion in (agent.criteria or {}).items():
            score = "does not apply" if criterion.score is None else f"{criterion.score:g}"
            told = f": {_short(criterion.explanation)}" if criterion.explanation else ""
            yield f"      {name.replace('_', ' ')} {score}{told}"
    lines = [line for line in signal_lines(one.signals) if line.present]
    if lines:
        yield "  Evidence"
    for line in lines:
        yield f"    {line.title}: {line.words}{f' ({line.detail})' if line.detail else ''}"
    changes = list(_changes(one, judgment))
    if changes:
        yield "  What would change it"
    yield from (f"    {text}" for text in changes)


def _numbers(one: Assessment) -> str:
    rule = rule_of(one)
    by_score = rule is None or rule.by == "score"
    parts = [f"score {number(one.final_score)}{f', threshold {one.threshold:g}' if by_score else ''}"]
    if one.probability is not None:
        parts.append(f"probability of being right {one.probability:.3f}")
    if rule is not None and not by_score:
        parts.append(f"kept {rule}")
    if one.guarantee is not None:
        parts.append(f"guaranteed from {one.guarantee.threshold:.3f} on")
    parts += list(one.probability_marks)
    if one.calls:
        cost = "unknown cost" if one.cost_usd is None else f"${one.cost_usd:.4f}"
        parts.append(f"{one.calls} calls, {cost}")
    return "; ".join(parts)


def _changes(one: Assessment, judgment: Judgment | None) -> Iterator[str]:
    """What stands between a judgment and another decision, and which evidence is not there."""
    tips = what_tips(one)
    if tips is not None:
        yield tips
    against = [line.words for line in signal_lines(one.signals) if line.tone == "bad"]
    yield from (f"Against it: {words}" for words in against)
    if one.strategy == "signals" and judgment is not None and one.signals is not None:
        known = [one.signals[name].value for name in ("order", "peers") if name in one.signals]
        if None in known:
            yield f"Not known: {missing_evidence(judgment.verdict, one.signals)}."


def _listed(found: Mapping[str, Any], hidden: set[str], store: Sequence[str]) -> Iterator[str]:
    """One line for each assessment of a run, or of an item with many judgments.

    What a policy decided is counted alone: people may have to judge some of it before they see a result.
    """
    every = [Assessment.model_validate(row["payload"]) for row in found["assessments"]]
    open_ones = [one for one in every if one.decision is None and one.judgment_digest not in hidden]
    if every:
        yield ""
    for one in open_ones[:MOST]:
        yield f"  {one.judgment_id}  {one.do.action}: {one.do.reason}"
    by_policy = len(every) - len(open_ones)
    if by_policy:
        listed = command("review", "list", store)
        yield f"  {by_policy:,} were decided by a policy, or wait for people: {listed}, or --json"
    more = found["assessments_total"] - by_policy - min(len(open_ones), MOST)
    if more > 0:
        yield f"  and {more:,} more: --json"


def _reviews(reviews: Sequence[Mapping[str, Any]], store: Sequence[str]) -> Iterator[str]:
    if reviews:
        yield ""
    for one in reviews[:MOST]:
        waiting = one.get("blind") and not one["decisions"]
        action = "" if waiting else f" (the policy: {one['action']})"
        yield f"Review {one['review_id']} of {one['subject_id']}{action}"
        for made in one["decisions"]:
            reason = f": {made['reason']}" if made.get("reason") else ""
            yield f"  {made.get('reviewer', 'a person')} decided {made.get('outcome')}{reason}"
        if not one["decisions"]:
            shown = command("review", "show", one["review_id"], "--reviewer", "NAME", store)
            yield f"  Nobody has decided yet: {shown}"
    if len(reviews) > MOST:
        yield f"and {len(reviews) - MOST:,} more reviews: --json"


def _audit_log(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if entries:
        yield ""
    for one in entries[-MOST:]:
        yield f"{_when(one['recorded_at'])}  {one['kind'].replace('_', ' ')} {one['subject']}{_payload(one['payload'])}"
    if entries:
        yield "All of it: --json"


def _payload(payload: Mapping[str, Any]) -> str:
    """What a record of a case, a policy or a proposal says first."""
    decision = payload.get("decision")
    if isinstance(decision, dict) and "action" in decision:
        return f": {decision['action']}: {decision.get('justification', '')}"
    policy = payload.get("policy")
    if isinstance(policy, dict):
        bands = policy.get("bands") or ()
        title = policy.get("title") or policy.get("name")
        return f": {title}; {len(bands)} bands over the {policy.get('basis')}; digest {payload.get('digest')}"
    said = payload.get("status") or payload.get("summary") or payload.get("reason")
    return f": {said}" if isinstance(said, str) else ""


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _short(text: str) -> str:
    """A text on one line, without control characters, cut where it is long."""
    line = "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}... ({len(line) - LONGEST:,} more characters)"
