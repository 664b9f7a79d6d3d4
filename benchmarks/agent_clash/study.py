"""The whole recomputation: every id of the study, in order."""

from ..figure import Figures, FigureTable, to_json
from . import arena, mtbench, panel, record, repeats
from .figures import beside
from .records import Study, load_study

__all__ = ["load_study", "recompute", "to_json"]

PARTS = (mtbench.add, arena.add, repeats.add, record.add_self_votes, panel.add, record.add_cycles, record.add_audit)


def recompute(study: Study) -> Figures:
    """Every figure of the study, by id."""
    table = FigureTable(__package__)
    for add in PARTS:
        add(table, study)
    return {name: beside(name, one) for name, one in table.found.items()}
