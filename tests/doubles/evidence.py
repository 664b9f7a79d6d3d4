"""Free evidence on judgments at hand."""

from dataclasses import replace

from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.verdicts import collected


def signals_of(judgments):
    """Id -> signals of each judgment among the others."""
    facts = collected(judgments)
    rules = facts.rules()
    columns = signal_columns(facts, compare(replace(facts, copies=dependence_of(facts, rules).copies), rules))
    return {
        one.id: {name: value for name, column in columns.items() if (value := column.at(row)) is not None}
        for row, one in enumerate(judgments)
    }
