"""``metajudge audit``: what is a judge worth, on the verdicts at hand?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from metajudge.audit.card import CheckName
from metajudge.auditing import Audited, audited_by
from metajudge.cli.audit_report import print_audit, write_folder
from metajudge.cli.inputs import Reading, reads_judgments
from metajudge.cli.options import JsonOption
from metajudge.errors import ConfigurationError
from metajudge.readers.joined_labels import parse_labels_map, parse_on
from metajudge.readers.label_files import LabelRows, read_labels
from metajudge.report.audit.commands import Given, flags, next_commands
from metajudge.report.audit.published import AuditDocument, published
from metajudge.report.audit.sheet import SHEET
from metajudge.runs.exit_codes import RunCounts, exit_code

if TYPE_CHECKING:
    from metajudge.readers import JudgmentSource

ANY = "any"
CHECKS = (ANY, *get_args(CheckName))
