"""Verifies a result folder: digests, the plan, every figure computed again, the signature."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metajudge import __version__
from metajudge.errors import InputError, MetajudgeError
from metajudge.report.html import to_html

from . import signing
from .answers import LiveFindings, analyse
from .folder import MANIFEST, PAGE, REPORT, SIGNATURE, LiveRun, manifest_problems, read_manifest, read_run
from .plan import panel_digests
from .records import LiveItem, items_digest
from .report import report_of

SAME = 1e-9
"""Two figures are equal up to this, relative to the larger one."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        holds: True, False, or None where it could not be checked.
        words: what was found.
    """

    name: str
    holds: bool | None
    words: str


def verify(
    folder: Path,
    *,
    signers: Path | None = None,
    identity: str | None = None,
    items: Sequence[LiveItem] | None = None,
) -> list[Check]:
    """Checks a folder; nothing of it is believed.

    Args:
        folder: of ``metajudge bench live``.
        signers: whose signatures are accepted; see :func:`~metajudge.benchmarks.live.signing.check`.
        identity: of the signer.
        items: the sample, drawn again from the data; None where they are not at hand.

    Raises:
        InputError: it is no result folder.
    """
    manifest = read_manifest(folder)
    checks = [_all("files", manifest_problems(folder, manifest), f"{len(manifest)} files are as the manifest says")]
    checks.append(_signature(folder, signers, identity))
    try:
        found = read_run(folder)
    except InputError as error:
        return [*checks, Check("contents", False, str(error))]
    checks.append(_plan(found))
    checks.append(_prompts(found))
    if items is not None:
        equal = items_digest(items) == found.plan.sample.items
        words = (
            "drawn again from the data, with the same labels and free evidence" if equal else _differing(items, found)
        )
        checks.append(Check("data", equal, words))
    try:
        findings = analyse(found.plan, found.items, found.lines, found.run)
    except InputError as error:
        return [*checks, Check("figures", False, str(error))]
    checks.append(_figures(folder, findings))
    checks.append(_page(folder, found, findings))
    return [*checks, _costs(found, findings)]


def _all(name: str, problems: Iterator[str], fine: str) -> Check:
    said = list(problems)
    return Check(name, not said, "; ".join(said) or fine)


def _signature(folder: Path, signers: Path | None, identity: str | None) -> Check:
    signature = folder / SIGNATURE
    if not signature.is_file():
        if signers is not None or identity is not None:
            return Check("signature", False, "the folder is not signed")
        return Check("signature", None, "the folder is not signed: its digests do not show who made it")
    found = signing.check(folder / MANIFEST, signature, signers, identity)
    return Check("signature", found.holds, found.words)


def _plan(found: LiveRun) -> Check:
    plan, problems = found.plan, list[str]()
    if plan.digest != found.run.plan:
        problems.append(f"the run is by the plan {found.run.plan}, the file is {plan.digest}")
    if items_digest(found.items) != plan.sample.items:
        problems.append("the sample is not the plan's")
    if len(found.items) != plan.sample.judgments or sum(one.right for one in found.items) != plan.sample.right:
        problems.append("the plan counts other judgments than the sample has")
    fine = (
        f"{plan.digest}, for these {len(found.items):,} judgments; that it came before the first call shows only where "
    )
    return _all("plan", iter(problems), fine + "this digest was published before")


def _prompts(found: LiveRun) -> Check:
    """Whether this version would send what the plan fixes; another version may not be able to tell."""
    try:
        here = panel_digests(found.plan.setup)
    except MetajudgeError as error:
        return Check("prompts", None, f"the agents cannot be set up here: {error}")
    other = [name for name, value in found.plan.panels.items() if here.get(name) != value]
    if not other and set(here) == set(found.plan.panels):
        return Check("prompts", True, "models, settings, rubric and prompts are those of this version")
    words = f"{', '.join(other) or 'the agents'}: other prompts or rubrics than those of metajudge {__version__}"
    return Check("prompts", False if found.plan.metajudge == __version__ else None, words)


def _differing(items: Sequence[LiveItem], found: LiveRun) -> str:
    there, given = {one.judgment: one for one in found.items}, {one.judgment: one for one in items}
    missing = len(there.keys() - given.keys())
    changed = [name for name in there.keys() & given.keys() if there[name] != given[name]]
    return (
        f"{missing} judgments of the sample are not drawn from these data, and {len(changed)} differ in content, label "
        "or free evidence"
    )


def _figures(folder: Path, findings: LiveFindings) -> Check:
    try:
        said = json.loads((folder / REPORT).read_bytes())
    except (OSError, ValueError) as error:
        return Check("figures", False, f"{REPORT} cannot be read: {error}")
    problems = list(differences(said, findings.model_dump(mode="json")))
    shown = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
    return Check("figures", not problems, shown or "every figure of the report follows from the scores")


def differences(said: Any, computed: Any, where: str = "") -> Iterator[str]:
    """Where two JSON documents differ, numbers compared up to rounding."""
    if isinstance(said, Mapping) and isinstance(computed, Mapping):
        for name in dict.fromkeys([*said, *computed]):
            place = f"{where}.{name}" if where else str(name)
            if name not in said or name not in computed:
                yield f"{place} is {'missing' if name not in said else 'not computed'}"
            else:
                yield from differences(said[name], computed[name], place)
    elif isinstance(said, list) and isinstance(computed, list) and len(said) == len(computed):
        for number, (one, other) in enumerate(zip(said, computed, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif not _equal(said, computed):
        yield f"{where} is {_short(said)}, computed {_short(computed)}"


def _equal(said: Any, computed: Any) -> bool:
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in (said, computed)]
    if all(numbers):
        return bool(abs(said - computed) <= SAME * max(1.0, abs(said), abs(computed)))
    return type(said) is type(computed) and bool(said == computed)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _page(folder: Path, found: LiveRun, findings: LiveFindings) -> Check:
    made = to_html(report_of(found.plan, findings, found.run))
    same = (folder / PAGE).read_text("utf-8", errors="replace") == made
    if same:
        return Check("page", True, f"{PAGE} shows these figures")
    by = found.run.environment.get("metajudge-vet", "?")
    if by != __version__:
        return Check("page", None, f"{PAGE} was made by metajudge {by}; this is {__version__}, whose pages differ")
    return Check("page", False, f"{PAGE} is not the page of these figures")


def _costs(found: LiveRun, findings: LiveFindings) -> Check:
    """The scores' dollars against those of the budget, which also counts calls that gave no reply."""
    if findings.usd is None:
        return Check("costs", None, "a price or the usage of a call is unknown")
    spent = found.run.spent_usd
    words = f"${findings.usd:.4f} by the scores, ${spent:.4f} by the budget"
    if findings.usd > spent + 1e-6:
        return Check("costs", False, f"{words}, which should be no less")
    return Check("costs", True, words)
