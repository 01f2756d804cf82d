"""A tiny version of the tables: two folds of some rows of METABRIC, and of SYNTHETIC for competing risks."""

from dataclasses import replace

from experiments.protocol import COMPETING, DataSource, Protocol
from experiments.table_study import table_study

TINY = Protocol(DataSource("metabric"), 3, (0, 1), (0.0, 0.5), run="quick", rows=240)
SYNTHETIC = Protocol(DataSource("synthetic"), 3, (0,), (0.0,), COMPETING, run="quick", rows=300)
STUDY = table_study("metabric", TINY)
MODELS = ["dsm", "cph", "floor"]


def scores(store):
    """Return the records of a store without the seconds, which differ from run to run."""
    return [replace(record, seconds=0.0) for record in store.records()]
