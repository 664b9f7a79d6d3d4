"""Vetting one judgment: choose the panel, ask it, and return the result with full provenance."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.installation import __version__
from metajudge.providers.families import Kinship, kinships
from metajudge.strategies.discussion import discuss
from metajudge.strategies.outcome import Outcome, asked_each, not_vetted
from metajudge.strategies.panel import Panel, StrategyName
from metajudge.strategies.rule import own_rule
from metajudge.types import AgentResult, Assessment, Judgment, digest
from metajudge.types.spent import Spent, total


def _ignore_notice(_notice: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Vetter:
    """A default panel and the panels of particular item categories.

    Attributes:
        default: vets every judgment without a route of its own.
        routes: item category -> panel.
        notice: called with notices for the user, for instance that an agent is of the judge's family.
    """

    default: Panel
    routes: Mapping[str, Panel] = field(default_factory=dict)
    seed: int | None = None
    notice: Callable[[str], None] = field(default=_ignore_notice, compare=False, repr=False)

    @property
    def panels(self) -> list[Panel]:
        """The default panel and those of routes."""
        return [self.default, *self.routes.values()]

    def panel_for(self, judgment: Judgment) -> Panel:
        """The panel of the item's category, or the default one."""
        return self.panel_of(judgment.item.category)

    def panel_of(self, category: str | None) -> Panel:
        """The panel of a category, or the default one."""
        return self.routes.get(category or "", self.default)

    def key(self, judgment: Judgment) -> str:
        """Identity of this vetting: the judgment as vetted, and everything about the panel that could change it."""
        panel = self.panel_for(judgment)
        # Kinship depends on who wrote the responses, which is not part of the digest.
        kin = [str(one) for one in _kin(panel, judgment)] if panel.families == "forbid" else None
        return self.key_of(judgment.id, judgment.vetting_digest, panel, kin)

    def key_of(self, name: str, vetting_digest: str, panel: Panel, kin: list[str] | None) -> str:
        """:meth:`key` by its parts; ``kin`` is None where the panel does not forbid families."""
        parts: list[Any] = [name, vetting_digest, panel.digest, self.seed]
        return digest(parts if kin is None else [*parts, kin])

    async def vet(
        self, judgment: Judgment, *, retry: bool = False, on_result: Callable[[AgentResult], None] | None = None
    ) -> Assessment:
        """Vets one judgment; every failure of a model ends in the assessment, typed.

        Args:
            judgment: may lack a verdict; then it is ``failed`` with kind ``no_verdict``.
            retry: an earlier vetting ended without a decision; unusable stored replies are requested again.

        Raises:
            BudgetExceeded: the run's budget is spent; the judgment is not assessed.
        """
        panel = self.panel_for(judgment)
        return self.assessment(panel, judgment, await self._outcome(panel, judgment, retry, on_result))

    def refused(self, judgment: Judgment, reason: str) -> Assessment:
        """The assessment of a judgment that is not vetted, because of its data."""
        return self.assessment(self.panel_for(judgment), judgment, not_vetted(reason))

    async def _outcome(
        self, panel: Panel, judgment: Judgment, retry: bool, on_result: Callable[[AgentResult], None] | None
    ) -> Outcome:
        if judgment.verdict is None:
            return without_verdict(judgment.no_verdict)
        if panel.strategy is StrategyName.SIGNALS:
            raise ConfigurationError("strategy signals asks no model: it weighs a judgment among others (Engine.vet)")
        if not judgment.item.has_texts:
            return not_vetted(NO_TEXTS)
        if kin := _kin(panel, judgment):
            if panel.families == "forbid":
                reasons = "; ".join(map(str, kin))
                return not_vetted(
                    f"{reasons}: the panel forbids it (families); choose other agents, or allow it with --families warn"
                )
            for one in kin:
                self.notice(f"{one}: models favour their own family's work; --families forbid leaves such cases out")
        heard = on_result or (lambda _result: None)
        if panel.strategy is StrategyName.PANEL_DISCUSSION:
            return await discuss(panel, judgment, retry=retry, on_result=heard)
        if panel.strategy is StrategyName.REJUDGE:
            from metajudge.strategies.rejudge import rejudge  # its prompts are read only where it is used

            return await rejudge(panel, judgment, retry=retry, on_result=heard)
        return await asked_each(panel, lambda agent: agent.assess(judgment, retry=retry), heard)

    def assessment(self, panel: Panel, judgment: Judgment, outcome: Outcome) -> Assessment:
        """The assessment that an outcome makes, with its provenance."""
        rule = outcome.rule
        if rule is None and outcome.accepted is not None:
            rule = own_rule(panel.threshold, typed=panel.threshold_typed)
        took = [*outcome.agents, *((outcome.summariser,) if outcome.summariser else ())]
        return Assessment(
            judgment_id=judgment.id,
            item_id=judgment.item.id,
            judge=judgment.judge,
            status=outcome.status,
            final_score=outcome.final_score,
            score_bounds=outcome.score_bounds,
            accepted=outcome.accepted,
            decided_by=None if rule is None else rule.by,
            cut=None if rule is None else rule.cut,
            cut_from=None if rule is None else rule.cut_from,
            renormalised=outcome.renormalised,
            failure=outcome.failure,
            not_applicable=_left_out(took),
            agents=outcome.agents,
            summariser=outcome.summariser,
            signals=outcome.signals,
            strategy=panel.strategy.value,
            threshold=panel.threshold,
            category=judgment.item.category,
            route=panel.route,
            rubric=panel.rubric,
            rubric_digest=panel.rubric_digest,
            prompt_digest=panel.prompt_digest,
            prompt_version=panel.prompt_version,
            panel_digest=panel.digest,
            judgment_digest=judgment.digest,
            seed=self.seed,
            **dict(total(Spent, took)),
            metajudge_version=__version__,
        )


NO_TEXTS: Final = (
    "no texts: neither the question nor a response is known, so an agent has nothing to read; give them, or vet by "
    "free evidence (--strategy signals)"
)


def without_verdict(reason: str | None) -> Outcome:
    """The outcome of a judgment whose judge gave no verdict, for this reason."""
    return not_vetted(f"the judge gave no verdict: {reason}", FailureKind.NO_VERDICT)


def _left_out(results: list[AgentResult]) -> tuple[str, ...]:
    """Criteria that were left out by rule, by any of the agents."""
    given = (pair for result in results for pair in (result.criteria or {}).items())
    return tuple(dict.fromkeys(name for name, one in given if one.not_applicable is not None))


def _kin(panel: Panel, judgment: Judgment) -> list[Kinship]:
    if panel.families == "ignore":
        return []
    members = ((agent.name, agent.model.name) for agent in panel.members)
    return kinships(members, judgment.judge, (judgment.item.models or {}).values())
