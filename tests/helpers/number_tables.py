"""Random tables of numbers, some of them missing, for Hypothesis."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

NUMBERS = st.floats(-1e6, 1e6) | st.just(np.nan)


def number_tables(elements=NUMBERS, n_columns=(1, 4)):
    """Return tables of 2 to 30 rows, float64."""
    shapes = st.tuples(st.integers(2, 30), st.integers(*n_columns))
    return hnp.arrays(np.float64, shapes, elements=elements)
