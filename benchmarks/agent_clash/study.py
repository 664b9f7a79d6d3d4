"""The whole recomputation: every id of the study, in order."""

from ..figure import Figures, to_json
from . import arena, audit, end_to_end, mtbench, panel, repeats, self_votes
from .figures import beside
from .records import Study, load_study

__all__ = ["load_study", "recompute", "to_json"]


def recompute(study: Study) -> Figures:
    """Every figure of the study, by id."""
    found = {
        **mtbench.figures(study),
        **arena.figures(study),
        **repeats.figures(study),
        **self_votes.figures(study),
        **panel.figures(study),
        **end_to_end.figures(study),
        **audit.figures(study),
    }
    return {name: beside(name, one) for name, one in found.items()}
