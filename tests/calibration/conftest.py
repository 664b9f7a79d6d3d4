"""Fixtures that tests of several modules share."""

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from tests.calibration.fitted_crowd import FREE
from tests.doubles.crowds import crowd


@pytest.fixture(scope="module")
def records():
    return crowd(60)


@pytest.fixture(scope="module")
def table(records):
    return build_table(records, FREE)


@pytest.fixture(scope="module")
def fitted(table):
    return fit_calibration(table, repeats=1)


@pytest.fixture(scope="module")
def fresh():
    return build_table(crowd(40, seed=9, prefix="new"), FREE)
