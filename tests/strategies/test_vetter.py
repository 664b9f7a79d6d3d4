"""Vetting one judgment: routing, keys, and what never reaches a model."""

from metajudge.strategies import Vetter
from tests.doubles.judgments import judgment
from tests.strategies.vetted import SHORT, panel


class TestProvenance:
    def test_the_key_changes_with_judgment_panel_and_seed_and_not_with_the_label(self):
        base = Vetter(panel(5))
        keys = {
            base.key(judgment()),
            base.key(judgment("j2")),
            base.key(judgment(verdict="A>>B")),
            Vetter(panel(5, rubric=SHORT)).key(judgment()),
            Vetter(panel(5), seed=1).key(judgment()),
        }
        assert len(keys) == 5
        assert base.key(judgment(label=None)) == base.key(judgment())
