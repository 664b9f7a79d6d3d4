"""What ``metajudge calibrate`` prints."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.calibration.profiles import Drift
    from metajudge.calibration.quality import Figure, Quality
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
    yield from _sharing_lines(calibration)
    yield from _prior_lines(calibration)
    yield (
        f"The figures below are of models fitted on {made.folds - 1} of {made.folds} parts of the questions, mean over "
        f"{made.repeats} division(s); the stored model was fitted on all of them."
    )
    yield ""
    yield from quality_lines(calibration.quality)


def _prior_lines(calibration: "Calibration") -> Iterator[str]:
    """To what a fit was drawn, and whether it is better than the base rate of the labels."""
    transfer = calibration.transfer
    if transfer is None or transfer.own is None:
        return
    prior = transfer.prior
    yield f"  Drawn to the shipped prior of {prior.made} ({len(prior.sets)} inputs); C={transfer.own.penalty:g}"
    gain = transfer.own.gain
    if gain is None or gain.low is None or gain.high is None:
        return
    says = "Better than the base rate here" if gain.low > 0 else "No better than the base rate here"
    yield (
        f"  {says}: out-of-fold log loss lower by {gain.estimate:+.3f} "
        f"(95 % {gain.low:+.3f} to {gain.high:+.3f}, questions resampled)"
    )


def shipped_lines(calibration: "Calibration") -> Iterator[str]:
    """The shipped default: what it was fitted on, and what it does for each kind of verdicts."""
    assert calibration.transfer is not None
    prior = calibration.transfer.prior
    yield f"The shipped default of {prior.made}: transferred probabilities, for any judge, without any guarantee"
    for one in prior.sets:
        yield f"  fitted on {one.name}: {one.n:,} judgments ({one.kind}) of {one.questions:,} questions"
    for evidence, weights in prior.weights.items():
        (level, slope), (of_level, of_slope) = weights.mean, weights.variance
        yield (
            f"  evidence {evidence}: log-odds {level:+.2f} (sd over sets {of_level**0.5:.2f}) "
            f"{slope:+.2f} (sd {of_slope**0.5:.2f}) x evidence"
        )
    for standing in prior.standings:
        result = standing.result.replace("_", " ")
        yield f"  {standing.kind}, evidence {standing.evidence}: {result}: {standing.why}"


def _sharing_lines(calibration: "Calibration") -> Iterator[str]:
    found = calibration.sharing
    if found is None:
        return
    chosen = "one model a judge is used" if found.apart_is_better else "judges share a model"
    yield (
        f"  Out-of-fold log loss {found.apart:.3f} with one model a judge, {found.together:.3f} shared: difference "
        f"{found.apart - found.together:+.3f} (95 % {found.low:+.3f} to {found.high:+.3f}, questions resampled); "
        f"{chosen}"
    )


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
    if calibration.transfer is not None:
        data["transfer"] = calibration.transfer.model_dump(
            mode="json", exclude={"prior": {"questions"}, "own": {"added"}}
        )
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


def diagnosis_lines(table: "SignalTable", *, pooled: bool | None, seed: int) -> Iterator[str]:
    """Independence of the judges, unanimity, importance of signals; the reason if a figure is not available."""
    from metajudge.calibration.diagnostics import importances, panel_independence, unanimity
    from metajudge.errors import InputError

    try:
        panel = panel_independence(table, seed)
        spread = (
            "" if panel.interval is None else f"95 % {panel.interval[0]:.2f} to {panel.interval[1]:.2f}, questions "
        )
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
            for group in importances(table, pooled=pooled, seed=seed):
                yield (
                    f"  {group.group:<10} {group.gain:+.4f} ({group.low:+.4f} to {group.high:+.4f})  "
                    f"{group.without:.4f} against {group.loss:.4f}"
                )
        except InputError as error:
            yield f"  not available: {error}"


def _figure(found: "Figure | None") -> str:
    if found is None:
        return "-"
    if found.low is None:
        return f"{found.estimate:.3f}"
    return f"{found.estimate:.3f} ({found.low:.3f} to {found.high:.3f})"
