"""The only imports of the edges from inner modules: what the documentation of the Python API names, and the service."""

from metajudge.adapters.datasets import kept as kept_rows
from metajudge.adapters.datasets import vetted as vetted_rows
from metajudge.adapters.promptfoo import call_api, get_assert
from metajudge.auditing import audit_judgments
from metajudge.calibration.guarantee import guaranteed_threshold
from metajudge.cases.run import judge_cases
from metajudge.clashes.run import clash as clash_on
from metajudge.clashes.standings import standings_of
from metajudge.client import AsyncClient, Client
from metajudge.exports import ExportRequest, Selection, check, export
from metajudge.judging.run import grade_items, judge_items
from metajudge.panels.config import PanelConfig, load_panel_file, panel_config
from metajudge.peers import Options, analyse
from metajudge.peers.run import run_peers as run_peers_on
from metajudge.stats.panels import panel_ablation
from metajudge.voting import borda, bradley_terry, dawid_skene, kemeny
from metajudge.webhooks.webhook import verify
from tests.api.conftest import app_module, running

ServiceOptions = app_module.ServiceOptions

DOCUMENTED = (
    *(audit_judgments, guaranteed_threshold, judge_cases, clash_on, standings_of, grade_items, judge_items),
    *(load_panel_file, panel_config, analyse, run_peers_on, check, export, panel_ablation, borda, bradley_terry),
    *(dawid_skene, kemeny, verify, call_api, get_assert, kept_rows, vetted_rows, Client, AsyncClient),
)
"""Public callables that do not stand in ``metajudge.__all__``."""

__all__ = ["ExportRequest", "Options", "PanelConfig", "Selection", "running"]
"""Names of inner modules that nothing here uses."""
