"""What ``metajudge calibrate`` prints."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.calibration.profiles import Drift
    from metajudge.calibration.quality import Quality, Resampled
    from metajudge.calibration.table import SignalTable


def right_line(kind: str, rule: str) -> str:
    """What was vetted, and what counts as right."""
    return f"Verdicts: {kind}; right by the rule {rule}"


def fit_lines(calibration: "Calibration") -> Iterator[str]:
    """The fit, the models tried, and the out-of-fold quality of the probabilities."""
    made = calibration.provenance
    yield (
        f"Fitted on {made.n} judgments of {len(made.questions)} questions by {len(calibration.identity.judges)} "
        f"judge(s); signals {', '.join(calibration.identity.signals)}"
    )
    yield right_line(calibration.identity.kind, calibration.identity.right)
    if made.selection is not None:
        yield f"  {made.selection}"
    for group in calibration.groups:
        who = group.judges[0] if len(group.judges) == 1 else f"{len(group.judges)} judges together"
        tried = ", ".join(f"{one.name} {one.log_loss:.3f}" for one in group.tried[:4])
        yield f"  {who}: {group.chosen} (out-of-fold log loss: {tried}{', ...' if len(group.tried) > 4 else ''})"
        prior = group.levels[0].prior
        if prior is not None:
            yield f"  Added to the shipped prior: log-odds {prior.level:+.3f} {prior.slope:+.3f} x share of peers"
    yield (
        f"The figures below are of models fitted on {made.folds - 1} of {made.folds} parts of the questions, mean over "
        f"{made.repeats} division(s); the stored model was fitted on all of them."
    )
    yield ""
    yield from quality_lines(calibration.quality)


def shipped_lines(calibration: "Calibration") -> Iterator[str]:
    """The shipped default: its two numbers, what it was fitted on, and what it does for each kind of verdicts."""
    from metajudge.types import VERDICT_KINDS

    prior = calibration.shipped
    assert prior is not None
    yield f"The shipped default of {prior.made}: transferred probabilities, for any judge, without any guarantee"
    yield (
        f"  log-odds {prior.level:+.3f} {prior.slope:+.3f} x log-odds of (agree + 1) / (n + 2), of n peers on the "
        "item; nothing without peers"
    )
    yield from (f"  {prior.sentence(kind)}" for kind in VERDICT_KINDS)


def show_lines(calibration: "Calibration") -> Iterator[str]:
    """The same with identity, reliability and guarantees."""
    if calibration.is_shipped:
        yield from shipped_lines(calibration)
        return
    identity, made = calibration.identity, calibration.provenance
    yield f"For judgments by {', '.join(identity.judges)}"
    if identity.agents:
        agents = ", ".join(f"{name} ({model})" for name, model in identity.agents.items())
        yield f"Agents {agents}; rubrics {', '.join(identity.rubrics)}; prompts {', '.join(identity.prompts)}"
    yield f"Data digest {made.data}, seed {made.seed}, {made.folds} folds by question, {made.repeats} time(s)"
    if calibration.recipe is not None:
        yield f"Recipe: unit {calibration.unit}, fit {calibration.recipe.fit}"
    yield from fit_lines(calibration)
    yield ""
    yield "Reliability out of fold: of judgments with a probability in a bin, how many are right (95 %, by question)"
    for one in calibration.quality[""].reliability:
        yield (
            f"  {one.low:.1f} to {one.high:.1f}  n {one.n:>6}  mean probability {100 * one.probability:5.1f}  "
            f"right {100 * one.right:5.1f} ({100 * one.right_low:.1f} to {100 * one.right_high:.1f})"
        )
    yield ""
    if not calibration.guarantees:
        yield "No guaranteed threshold stored; run `metajudge calibrate threshold` to find one."
    for meaning in calibration.meanings:
        yield f"Guarantee: {meaning}"
    for look in () if calibration.looks is None else calibration.looks.entries:
        whose = f"  {', '.join(look.judges) or 'all judges'}: "
        yield f"{whose}{look.line()}"


def show_json(calibration: "Calibration") -> str:
    """Identity, quality, models tried and guarantees, without coefficients and stored probabilities."""
    data = calibration.model_dump(mode="json", include={"identity", "quality", "guarantees", "recipe"})
    if calibration.shipped is not None:
        data["shipped"] = calibration.shipped.model_dump(mode="json")
    looks = () if calibration.looks is None else calibration.looks.entries
    data["looks"] = [one.model_dump(mode="json", exclude={"result"}) for one in looks]
    made = calibration.provenance
    data["provenance"] = made.model_dump(exclude={"questions"}) | {"questions": len(made.questions)}
    data["groups"] = [group.model_dump(mode="json", exclude={"levels"}) for group in calibration.groups]
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def quality_lines(figures: "dict[str, Quality]") -> Iterator[str]:
    """One line for all judges and one for each."""
    width = max(len(name) for name in (*figures, "all judges"))
    head = f"{'out of fold':<{width}} {'n':>6} {'right':>6} {'best 80 %':>9} {'60 %':>6} {'40 %':>6}"
    yield f"{head}  AUC, log loss, Brier (95 %, questions resampled)"
    for name, found in figures.items():
        best = [100 * found.precision_at[share] for share in ("80", "60", "40")]
        measures = ", ".join(_figure(one) for one in (found.auc, found.log_loss, found.brier))
        yield (
            f"{name or 'all judges':<{width}} {found.n:>6} {100 * found.base:>6.1f} {best[0]:>9.1f} {best[1]:>6.1f} "
            f"{best[2]:>6.1f}  {measures}"
        )


def drift_lines(found: "Sequence[Drift]") -> Iterator[str]:
    """Signals by population stability index, those that shifted first."""
    shifted = [one for one in found if one.shifted]
    yield ""
    yield (
        f"Drift against the fit: {len(shifted)} of {len(found)} signals shifted (population stability index above .25 "
        f"beyond chance; fit n {found[0].n}, here n {found[0].m})"
    )
    for one in found[:12]:
        yield f"  {one.signal:<40} {one.psi:7.3f}  by chance {one.expected:.3f}{'  SHIFTED' if one.shifted else ''}"


def diagnosis_lines(table: "SignalTable", *, seed: int) -> Iterator[str]:
    """Independence of the judges, unanimity, importance of signals; the reason if a figure is not available."""
    from metajudge.calibration.diagnostics import importances, panel_independence, unanimity
    from metajudge.errors import InputError

    try:
        panel = panel_independence(table, seed)
        found = panel.resampled
        spread = "" if found is None else f"95 % {found.low:.2f} to {found.high:.2f}, questions "
        yield (
            f"{len(panel.judges)} judges are worth {panel.effective:.2f} independent ones ({spread}"
            f"{'resampled; ' if spread else ''}mean correlation of their errors {panel.mean_correlation:.2f})"
        )
        for pair in sorted(panel.pairs, key=lambda one: -one.correlation)[:5]:
            yield f"  {pair.first} and {pair.second}: {pair.correlation:.2f} over {pair.items} items"
        if panel.left_out:
            yield f"  left out: {', '.join(panel.left_out)}"
    except InputError as error:
        yield f"Independence: {error}"
    if "peers" in table.signals:
        yield ""
        yield "Right by peer support of the verdict (95 %, by question)"
        for one in unanimity(table):
            right = one.right
            yield (
                f"  {one.peers:<13} n {one.n:>6}  right {100 * right.estimate:5.1f} ({100 * right.low:.1f} to "
                f"{100 * right.high:.1f})"
            )
    if len(table.signals) > 1:
        yield ""
        yield (
            "Out-of-fold log loss without each group of signals, minus that with all (above 0 the group helps; 95 %, "
            "questions resampled)"
        )
        try:
            for group in importances(table, seed=seed):
                gain = group.gain
                yield (
                    f"  {group.group:<10} {gain.estimate:+.4f} ({gain.low:+.4f} to {gain.high:+.4f})  "
                    f"{group.without:.4f} against {group.loss:.4f}"
                )
        except InputError as error:
            yield f"  not available: {error}"


def _figure(found: "Resampled | None") -> str:
    if found is None:
        return "-"
    if found.low is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
