"""A case judge: one model that scores the stages of cases."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from metajudge.agents.exchange import ask
from metajudge.cases.case import Case, CaseStage
from metajudge.cases.quotes import is_quoted
from metajudge.cases.replies import CriterionReply, case_schema, parse_case_reply
from metajudge.cases.result import CriterionResult, JudgeReply, Quote
from metajudge.cases.scoring import weighted_score
from metajudge.concurrency import off_the_loop
from metajudge.decision import CasePlan, StagePlan
from metajudge.prompts.briefing import Briefing
from metajudge.prompts.case import render_case_stage, render_case_system
from metajudge.prompts.fences import neutralise
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest, Parameters
from metajudge.rubric import Rubric
from metajudge.types.spent import as_kept


@dataclass(frozen=True, slots=True)
class CaseJudge:
    """One model that scores stages.

    Attributes:
        name: what it is called in records.
        prompt_version: of the prompt set.
        briefed: whose company, priorities, language and instructions the judge is told; None for nothing.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    prompt_version: int = FIRST
    briefed: CasePlan | None = None

    async def score(
        self, case: Case, stage: CaseStage, plan: StagePlan, rubric: Rubric, weights: Mapping[str, float]
    ) -> JudgeReply:
        """Scores one stage; a model's failure ends in the reply, typed.

        Args:
            rubric: with the stage's criteria alone.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        length = len(stage.output_text) + len(stage.context_text or "")
        request = await off_the_loop(partial(self.request, case, stage, plan, rubric), length)
        answer = await ask(
            self.model,
            request,
            lambda text: parse_case_reply(text, rubric),
            asked=self.name,
            prompt_version=self.prompt_version,
        )
        criteria = None
        if answer.value is not None:
            criteria = await off_the_loop(partial(_checked, answer.value, stage, self.prompt_version), length)
        scores = {} if criteria is None else {name: result.score for name, result in criteria.items()}
        return JudgeReply(
            judge=self.name,
            model=self.model.name,
            criteria=criteria,
            weighted_score=weighted_score(scores, weights),
            failure=answer.failure,
            **as_kept(answer.spent),
            request_digest=answer.key,
            reported_model=answer.reported_model,
        )

    def request(self, case: Case, stage: CaseStage, plan: StagePlan, rubric: Rubric) -> ModelRequest:
        """The first request :meth:`score` sends: the same bytes for the same stage."""
        version = self.prompt_version
        told = None if self.briefed is None else briefing_of(self.briefed, plan.criteria)
        system = render_case_system(rubric, plan.title, told, version=version)
        text = render_case_stage(case.type, stage.name, stage.context_text, stage.output_text, version=version)
        return ModelRequest(system, (Message("user", text),), case_schema(rubric), self.parameters)


def briefing_of(plan: CasePlan, criteria: Collection[str]) -> Briefing | None:
    """What a policy tells judges of some criteria beside the rubric; None for nothing."""
    instructions = tuple(plan.instructions[name] for name in criteria if name in plan.instructions)
    found = Briefing(plan.company, plan.priorities, plan.language, instructions)
    return None if found == Briefing() else found


def _checked(replies: Mapping[str, CriterionReply], stage: CaseStage, version: int) -> dict[str, CriterionResult]:
    """Each criterion's reply with every quote looked up, in the text as it is and as the judge saw it."""
    output, context = stage.output_text, stage.context_text or ""
    texts = (output, neutralise(output, version)), (context, neutralise(context, version))
    return {name: _looked_up(reply, *texts) for name, reply in replies.items()}


def _looked_up(reply: CriterionReply, outputs: Sequence[str], contexts: Sequence[str]) -> CriterionResult:
    quotes = [
        Quote(
            quote=quote,
            in_output=any(is_quoted(quote, text) for text in outputs),
            in_context=any(is_quoted(quote, text) for text in contexts),
        )
        for quote in reply.evidence
    ]
    return CriterionResult(
        score=reply.score,
        confidence=reply.confidence,
        comment=reply.comment,
        evidence=tuple(quotes),
        weaknesses=reply.weaknesses,
    )
