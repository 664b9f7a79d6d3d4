"""One live experiment from data to result folder: plan it, fix it, ask, write."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from metajudge.errors import InputError
from metajudge.providers.shared_budget import SharedBudget
from metajudge.readers import JudgmentSource
from metajudge.runs.loop import RunEnd, Stop
from metajudge.types import Judgment, Right

from ..bench import Bench, Request
from ..grid_plan import PlannedRow, family_note
from ..grid_run import engines
from ..observations import IN_WORDS
from ..own_files import NAME as FILE
from .answers import LiveFindings
from .folder import PLAN, LiveRun, fix_plan, read_run, write_results
from .plan import MOST_QUESTIONS, LivePlan, check_items, judgments_of, make_plan
from .pricing import affordable
from .records import LiveItem, RunRecord
from .running import ask, ended, environment, now, work_folder
from .sampling import Candidates, candidates_of, draw
from .setup import LiveSetup, with_agents, with_models


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command asks for.

    Attributes:
        setup: the experiment; the models of ``given`` are replaced by its agents where a plan is given.
        agents: models in place of the setup's.
        effort_agent: a model in place of the one with two efforts.
        given: an existing plan to carry out.
        questions: at most so many; None for what the budget pays for.
    """

    setup: LiveSetup
    agents: tuple[str, ...] = ()
    effort_agent: str | None = None
    given: LivePlan | None = None
    questions: int | None = None
    per_question: int = 1
    seed: int = 0
    budget_usd: float = 20.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with its data.

    Attributes:
        run: of the folder where it was begun before; None for a new one.
    """

    plan: LivePlan
    items: list[LiveItem]
    judgments: list[Judgment]
    run: RunRecord | None = None


def read_candidates(
    source: JudgmentSource | None,
    *,
    benchmark: str | None = None,
    data: Path | None = None,
    judges: Sequence[str] = (),
    rule: Right | None = None,
) -> tuple[Candidates, str]:
    """What can be drawn, and the data in words.

    Args:
        source: labelled judgments of one's own; None for a benchmark's.
        benchmark: name of the benchmark whose records ``data`` has.
        data: folder of the benchmark.
        judges: whose judgments can be drawn; none for all. Free evidence comes from all records.
        rule: what counts as right.
    """
    request = Request(benchmark=benchmark or FILE, data=data, judges=tuple(judges) or None, rule=rule)
    bench = Bench(request, source)
    words = bench.card.title if benchmark else ", ".join(sorted(set(bench.source.formats.values())))
    return candidates_of(bench), words


def prepare(wanted: Wanted, candidates: Candidates, source: str, out: Path) -> Prepared:
    """The plan of a command: the one its folder has, the one given, or a new one.

    Raises:
        InputError: the folder has another plan, or the data are not those of the plan given.
        ConfigurationError: a budget that pays for nothing, or agents that make no sense together.
    """
    begun = read_run(out) if (out / PLAN).is_file() else None
    model = wanted.given or (None if begun is None else begun.plan)
    given = wanted.given
    change = (wanted.setup, with_agents) if given is None else (given.setup, with_models)
    setup = change[1](change[0], wanted.agents, wanted.effort_agent)
    if model is not None:
        count, per_question, seed = model.sample.questions, model.sample.per_question, model.sample.seed
        if wanted.given is None:
            per_question, seed = wanted.per_question, wanted.seed
            count = min(count, wanted.questions or count)
    else:
        per_question, seed = wanted.per_question, wanted.seed
        count = _count(wanted, setup, candidates)
    budget = wanted.budget_usd if begun is None else begun.plan.budget_usd
    plan, items = make_plan(
        setup, candidates, source=source, questions=count, per_question=per_question, seed=seed, budget_usd=budget
    )
    if wanted.given is not None:
        check_items(wanted.given, items)
    judgments = judgments_of(candidates, items)
    if begun is None:
        return Prepared(plan, items, judgments)
    _check_same(begun.plan, plan, out)
    return Prepared(begun.plan, items, judgments, begun.run)


def kinship_note(prepared: Prepared) -> str | None:
    """Which agents are of the family of a judge or of a model that wrote the responses; None without any."""
    setup = prepared.plan.setup
    judges = sorted({one.judge for one in prepared.judgments})
    candidates = {name for one in prepared.judgments for name in (one.item.models or {}).values()}
    rows = [PlannedRow(name, judge, setup.panel_of(name)) for name in setup.agents for judge in judges]
    return family_note(rows, candidates)


def _count(wanted: Wanted, setup: LiveSetup, candidates: Candidates) -> int:
    most = min(candidates.questions, wanted.questions or MOST_QUESTIONS)
    if not most:
        why = ", ".join(f"{count:,}: {IN_WORDS.get(reason, reason)}" for reason, count in candidates.left_out.items())
        raise InputError(f"no judgment of these data can be drawn ({why or 'none is right or wrong by a label'})")
    return affordable(
        setup,
        lambda count: draw(candidates, count, wanted.per_question, wanted.seed),
        lambda items: judgments_of(candidates, items),
        most,
        wanted.budget_usd,
    )


def _check_same(there: LivePlan, made: LivePlan, out: Path) -> None:
    """Refuses to continue a run by another plan."""
    beside = {"metajudge", "prices", "budget_usd", "power"}
    one, other = there.model_dump(mode="json", exclude=beside), made.model_dump(mode="json", exclude=beside)
    differing = [name for name in one if one[name] != other[name]]
    if differing:
        raise InputError(
            f"{out} has the plan {there.digest}, and these options or data make another one ({', '.join(differing)} "
            "differ): give the same as before to continue it, or another --out"
        )


def fix(out: Path, prepared: Prepared) -> RunRecord:
    """Writes the plan before anything is asked; a folder that was begun keeps its own.

    Raises:
        InputError: the folder holds something else.
    """
    if prepared.run is not None:
        return prepared.run
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is no folder of a live experiment and not empty: choose another --out")
    run = RunRecord(run_id=uuid4().hex, plan=prepared.plan.digest, fixed_at=now(), environment=environment())
    fix_plan(out, prepared.plan, prepared.items, run)
    return run


async def carry_out(
    out: Path,
    prepared: Prepared,
    run: RunRecord,
    *,
    budget_usd: float,
    concurrency: int,
    stop: Stop,
    say: Callable[[str], None],
) -> tuple[LiveFindings, RunEnd]:
    """Asks what is not asked yet, and writes the results, whatever the end.

    Prompts and replies are kept beside the result (:func:`~metajudge.benchmarks.live.running.work_folder`).
    """
    work = work_folder(out)
    work.mkdir(parents=True, exist_ok=True)
    budget = SharedBudget(work / "budget.sqlite", usd=budget_usd)
    try:
        factory = engines(
            store=work / "metajudge.duckdb", concurrency=concurrency, budget=budget, batch=None, notify=say
        )
        lines, end, notices = await ask(prepared.plan.setup, prepared.judgments, factory, stop=stop, say=say)
        spent = budget.totals().spent.usd
    finally:
        budget.close()
    run = ended(run, end, budget_usd=budget_usd, spent_usd=spent, notices=notices)
    return write_results(out, LiveRun(prepared.plan, prepared.items, lines, run)), end
