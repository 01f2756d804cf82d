"""What two ranks and one process with the same batches differ by is rounding: nearly none in double precision."""

import numpy as np
from benchmarks.rounding import double_precision, losses_of_one, losses_of_ranks

ROLES = {"time": "time", "event": "event", "drop": ["patient"], "weight": "weight", "shuffle_rows": 400}
SETTINGS = {
    "hidden": (8,),
    "activation": "tanh",
    "n_members": 2,
    "batch_size": 64,
    "learning_rate": 5e-3,
    "max_epochs": 6,
    "patience": 50,
}


def test_ranks_take_the_steps_of_one_process_to_the_last_digits_of_double_precision(folder):
    one, two = losses_of_one(folder, ROLES, SETTINGS), losses_of_ranks(folder, ROLES, SETTINGS)
    assert len(one) == 12  # two members, 6 epochs: some 100 steps
    assert one[5, 0] < one[0, 0] - 0.05  # they have learned
    assert np.abs(two - one).max() < 1e-5
    with double_precision():
        one, two = losses_of_one(folder, ROLES, SETTINGS), losses_of_ranks(folder, ROLES, SETTINGS)
    assert np.abs(two - one).max() < 1e-12
