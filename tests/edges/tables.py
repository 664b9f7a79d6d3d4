"""All series of commands, by the name of their recording."""

import os

from tests.edges.series import Series
from tests.edges.table_data import DATA_COMMANDS
from tests.edges.table_deciding import DECIDING
from tests.edges.table_judging import JUDGING
from tests.edges.table_measuring import MEASURING
from tests.edges.table_vet import VETTING

DATA = os.environ.get("METAJUDGE_DATA")
ALL: dict[str, Series] = VETTING | MEASURING | JUDGING | DECIDING | DATA_COMMANDS
