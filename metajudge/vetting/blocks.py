"""Vetting a table of judgments, block by block: what panels find, what calibration and policy add, what is kept.

Every judgment takes this way, alone or among a million, and whether a model is asked about it or not.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metajudge.concurrency import all_of, off_the_loop
from metajudge.errors import FailureKind
from metajudge.evidence.grouping import Interned, Key
from metajudge.store import Store
from metajudge.store.rows import assessment_write
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.strategies.rule import rule_of
from metajudge.types import AgentResult, Assessment, Item, Judgment, Right, Status
from metajudge.vetting.annotating import AnnotatedColumn, Block, annotated_column
from metajudge.vetting.finishing import Completion, stored_key

if TYPE_CHECKING:  # what is read where free evidence is weighed, or a calibration speaks
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore
    from metajudge.vetting.alone import Alone
    from metajudge.vetting.intake import Intake
    from metajudge.vetting.outcomes import Outcomes
    from metajudge.vetting.probability import Probabilities

Rows = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Vetting:
    """Vets the judgments of one table.

    Args:
        table: None for a judgment whose result depends on nothing around it.
        policy: decides; None without one.
        store: None to keep nothing.
        keep_failures: whether judgments that ended unscored or failed before are left so.

    Attributes:
        evidence: what free evidence says, where a panel weighs it.
        probabilities: what the calibration says, where there is one, or of verdicts that stand alone stored fits.
    """

    table: "Intake | None"
    vetter: Vetter
    completion: Completion
    policy: "Policy | None" = None
    store: Store | None = None
    run_id: str = ""
    keep_failures: bool = False
    evidence: "Outcomes | None" = None
    probabilities: "Probabilities | Alone | None" = None
    _found: dict[tuple[int, int], tuple[int, Assessment]] = field(default_factory=dict)
    _earlier: dict[int, Assessment] = field(default_factory=dict)
    _keys_of: dict[int, str] = field(default_factory=dict)

    async def prepare(
        self,
        right: Right | None,
        rewards: "Iterable[RewardScore] | None" = None,
        *,
        strict: bool = True,
        own: "Calibration | None" = None,
    ) -> None:
        """Works out free evidence and probabilities where they are needed.

        Args:
            right: what counts as right; None for the default of each kind of verdict.
            rewards: reward models' scores, for a calibration that reads them.
            strict: whether a table of which no judge is one of the calibration's is an error.
            own: a calibration fitted to the labels of the table.

        Raises:
            InputError: the calibration is for something else, or a signal it reads is not there.
        """
        table = self.table
        if table is None:
            return
        by_evidence = any(panel.strategy is StrategyName.SIGNALS for panel in self.vetter.panels)

        def weighed() -> None:
            if by_evidence:
                from metajudge.vetting.outcomes import outcomes_of

                self.evidence = outcomes_of(table.facts, self.vetter.panel_of, right, table.wanted)
            if own is not None or self.completion.calibration is not None:
                wanted = np.zeros(len(table.facts), dtype=bool)
                wanted[table.wanted] = True
                self.probabilities = self.completion.probabilities(
                    table.facts, self.vetter, wanted=wanted, rewards=rewards, strict=strict, own=own
                )

        await off_the_loop(weighed, table.characters)
        if by_evidence and self.probabilities is None and self.completion.history is not None:
            self.probabilities = await self.completion.history.of(table)

    async def settle(self, records: "Sequence[tuple[int, int, Judgment | None]]") -> list[Block | None]:
        """Vets what needs no model: by free evidence, or as an earlier run has vetted it.

        Args:
            records: place, row and judgment of each; a judgment may be None where no panel asks.

        Returns:
            The block of each record; None where a model is to be asked (:meth:`ask`).
        """
        found: list[Block | None] = [None] * len(records)
        asked = [at for at, (_, _, one) in enumerate(records) if one is not None and self._asks(one)]
        done = await self._done([records[at] for at in asked]) if asked and self.store is not None else {}
        known = [at for at in asked if records[at][0] in done]
        chosen = set(asked)
        free = [at for at in range(len(records)) if at not in chosen]
        for ats in (free, known):
            if not ats:
                continue
            places, rows = [records[at][0] for at in ats], np.array([records[at][1] for at in ats], dtype=np.int64)
            judgments = [one for at in ats if (one := records[at][2]) is not None]
            if ats is free:
                block = await self.by_evidence(places, rows, judgments or None)
            else:
                block = await self.finish(places, rows, judgments, [done[at] for at in places], [True] * len(ats))
            for at in ats:
                found[at] = block
        return found

    async def ask(
        self, place: int, row: int, judgment: Judgment, heard: Callable[[AgentResult], None] | None = None
    ) -> Block:
        """Asks the panel about one judgment.

        Args:
            heard: called with each agent's result as it arrives.

        Raises:
            BudgetExceeded: nothing more may be spent.
        """
        retry = self._earlier.pop(place, None) is not None
        own = await self.vetter.vet(judgment, retry=retry, on_result=heard)
        return await self.finish([place], np.array([row]), [judgment], [own], [False])

    def _asks(self, judgment: Judgment) -> bool:
        return self.vetter.panel_for(judgment).strategy is not StrategyName.SIGNALS

    async def _done(self, records: "Sequence[tuple[int, int, Judgment | None]]") -> dict[int, Assessment]:
        """Place -> the earlier result that stands; what ended without a decision is asked about again."""
        assert self.store is not None
        keys = {place: self.vetter.key(one) for place, _, one in records if one is not None}
        self._keys_of |= keys
        stored = await self.store.find_assessments(list(keys.values()))
        done = {}
        for place, key in keys.items():
            earlier = stored.get(key)
            if earlier is None:
                continue
            hopeless = earlier.failure is not None and earlier.failure.kind is FailureKind.NO_VERDICT
            if self.keep_failures or hopeless or earlier.status is Status.ASSESSED:
                done[place] = earlier
            else:
                self._earlier[place] = earlier
        return done

    async def by_evidence(
        self, places: Sequence[int], rows: Rows, judgments: Sequence[Judgment] | None = None
    ) -> Block:
        """Vets some rows by free evidence, and keeps the results.

        Args:
            judgments: [m] where they are at hand.
        """
        table, evidence = self.table, self.evidence
        assert table is not None
        assert evidence is not None
        facts = table.facts
        pairs = zip(evidence.codes[rows].tolist(), facts.category[rows].tolist(), strict=True)
        kinds = [self._found.get(pair) or self._kind(pair) for pair in pairs]
        digests = table.digest_column(rows)
        items, judges = facts.items, facts.judges
        about = zip(rows.tolist(), facts.item[rows].tolist(), facts.judge[rows].tolist(), strict=True)
        owns = [
            kind.model_copy(
                update={
                    "judgment_id": facts.judgment_ids[row],
                    "item_id": items[item].id,
                    "judge": judges[judge],
                    "judgment_digest": digest,
                    "signals": None if kind.signals is None else signals,
                }
            )
            for (_, kind), (row, item, judge), digest, signals in zip(
                kinds, about, digests, evidence.signals_of(rows), strict=True
            )
        ]
        found = [kind for _, kind in self._found.values()]
        codes = np.array([code for code, _ in kinds], dtype=np.int64)
        said, finals = await self._annotated(found, codes, rows, owns)
        known = 0
        if self.store is not None:
            keys = evidence.stored_keys(self._keys(rows), rows)
            if judgments is None:
                known = await self._append(rows, keys, owns, finals)
            else:
                await self._save(keys, judgments, owns, finals)
        await self.completion.queue(finals, rows, judgments, self.vetter, self.policy, table)
        return Block(places, rows, finals, said, judgments, known=known)

    async def finish(
        self,
        places: Sequence[int],
        rows: Rows,
        judgments: Sequence[Judgment],
        owns: Sequence[Assessment],
        reused: Sequence[bool],
    ) -> Block:
        """Completes and keeps what panels found by asking.

        Args:
            owns: [m] by the panels alone.
            reused: [m] whether an earlier run had asked.
        """
        said, finals = await self._annotated(owns, np.arange(len(owns)), rows, owns)
        if self.store is not None:
            new = [at for at, earlier in enumerate(reused) if not (earlier and said.plain)]
            known = [self._keys_of.pop(place) for place in places]
            keys = [stored_key(known[at], owns[at]) for at in new]
            await self._save(keys, [judgments[at] for at in new], [owns[at] for at in new], [finals[at] for at in new])
        await self.completion.queue(finals, rows, judgments, self.vetter, self.policy, self.table)
        return Block(places, rows, finals, said, judgments, reused)

    async def _annotated(
        self, found: Sequence[Assessment], codes: Rows, rows: Rows, owns: Sequence[Assessment]
    ) -> tuple[AnnotatedColumn, Sequence[Assessment]]:
        """Adds what calibration and policy say to assessments by panels; ``codes`` are their places in ``found``."""
        if self.probabilities is None and self.policy is None:
            return AnnotatedColumn.without(found, codes), owns
        said = annotated_column(
            found,
            codes,
            self.vetter.panel_of,
            probabilities=self.probabilities,
            rows=rows,
            policy=self.policy,
            broken=await self.completion.broken_promises(),
        )
        return said, [said.at(at, own) for at, own in enumerate(owns)]

    def alike(self, block: Block) -> list[tuple[Assessment, int]]:
        """The best one of each class of a block by free evidence, and how many are like it, in input order.

        A class shares its ending but for numbers, and the state and sign of its signals.
        """
        assert self.table is not None
        assert self.evidence is not None
        plain = Interned[tuple[object, ...]]()
        codes = np.array([plain.code(_without_numbers(one)) for one in block.said.kinds], dtype=np.int64)
        key = Key.of(codes[block.said.codes], len(plain.values))
        if not block.said.plain:  # what no guarantee covers is counted by judge
            facts = self.table.facts
            key = key.then(facts.judge[block.rows], len(facts.judges))
        states = self.evidence.states(block.rows)
        classes = key.then(states.codes, states.bound).distinct()[0]
        scores = np.array([-np.inf if one.final_score is None else one.final_score for one in block.assessments])
        order = np.argsort(-scores, kind="stable")
        _, first, counts = np.unique(classes[order], return_index=True, return_counts=True)
        by_place = sorted(zip(order[first].tolist(), counts.tolist(), strict=True))
        return [(block.assessments[at], count) for at, count in by_place]

    def _kind(self, pair: tuple[int, int]) -> tuple[int, Assessment]:
        """An assessment with an outcome in a category; its judgment's own values are left open."""
        assert self.table is not None
        assert self.evidence is not None
        name = None if pair[1] < 0 else self.table.facts.categories[pair[1]]
        item = Item(id="-", question="", responses={"-": ""}, category=name)
        judgment = Judgment(id="-", item=item, judge="-", verdict=None, no_verdict="-")
        found = self.vetter.assessment(self.vetter.panel_of(name), judgment, self.evidence.results[pair[0]])
        return self._found.setdefault(pair, (len(self._found), found))

    def _keys(self, rows: Rows) -> list[str]:
        """As :meth:`Vetter.key` of each judgment; without agents there is no kinship."""
        table, vetter = self.table, self.vetter
        assert table is not None
        facts, panels = table.facts, dict[int, Panel]()
        keys = []
        places = zip(rows.tolist(), facts.category[rows].tolist(), table.vetting_digest_column(rows), strict=True)
        for row, category, digest in places:
            panel = panels.get(category)
            if panel is None:
                panel = vetter.panel_of(None if category < 0 else facts.categories[category])
                panels[category] = panel
            kin: list[str] | None = [] if panel.families == "forbid" else None
            keys.append(vetter.key_of(facts.judgment_ids[row], digest, panel, kin))
        return keys

    async def _save(
        self,
        keys: Sequence[str],
        judgments: Sequence[Judgment],
        owns: Sequence[Assessment],
        finals: Sequence[Assessment],
    ) -> None:
        """Keeps assessments of judgments at hand."""
        store = self.store
        assert store is not None
        each = zip(keys, judgments, finals, owns, strict=True)
        saves = [store.save_assessment(key, judgment, final, self.run_id, own) for key, judgment, final, own in each]
        if len(saves) == 1:
            await saves[0]
        else:
            await all_of(saves)

    async def _append(
        self, rows: Rows, keys: Sequence[str], owns: Sequence[Assessment], finals: Sequence[Assessment]
    ) -> int:
        """Keeps a block and its texts; returns how many of its assessments were there already."""
        table, store = self.table, self.store
        assert table is not None
        assert store is not None
        each = zip(keys, finals, owns, strict=True)
        writes = [assessment_write(key, None, final, own, self.run_id) for key, final, own in each]
        items = [table.facts.items[code].digest for code in np.unique(table.facts.item[rows]).tolist()]
        missing = await store.without_texts(items, [one.judgment_digest for one in owns])
        if any(missing):
            await store.keep_texts(*table.text_rows(rows, *missing))
        return len(writes) - await store.append_block(writes)


def _without_numbers(one: Assessment) -> tuple[object, ...]:
    """What an ending says beside its score and its probability."""
    action = None if one.decision is None else one.decision.action
    covered = None if one.guarantee is None else one.guarantee.threshold
    said = (one.probability_marks, one.outside_guarantee, one.calibrated, covered, action)
    return (one.status, one.accepted, repr(one.failure), one.threshold, one.strategy, rule_of(one), *said)
