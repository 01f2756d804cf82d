"""Windows of an epoch: every row once, lanes of the same length, another order each epoch."""

import numpy as np
import pytest

from lifemix.streaming.schedule import plan_windows, stretch


def rows_of(windows, lane=None):
    return [
        (part.piece, row)
        for window in windows
        for number, slices in enumerate(window)
        if lane is None or number == lane
        for part in slices
        for row in range(part.start, part.stop)
    ]


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("rows", [[7], [100, 3, 50, 1, 80, 20, 20], [0, 5, 11]])
def test_every_row_is_in_one_window(rows, lanes):
    windows = plan_windows(rows, lanes, 30, seed=1, epoch=0)
    found = rows_of(windows)
    assert len(found) == len(set(found)) == sum(rows)
    sizes = [sum(part.stop - part.start for part in slices) for window in windows for slices in window]
    assert max(sizes) - min(sizes) <= 1
    assert max(sum(s.stop - s.start for own in window for s in own) for window in windows) <= 30 + lanes


def test_a_piece_is_read_in_order():
    windows = plan_windows([100, 90, 80, 70, 60], 2, 40, seed=0, epoch=3)
    for lane in range(2):
        position = {}
        for piece, row in rows_of(windows, lane):
            assert row > position.get(piece, -1)
            position[piece] = row


def test_a_window_mixes_several_pieces_and_epochs_differ():
    first, second = (plan_windows([1000] * 20, 1, 400, seed=0, epoch=epoch) for epoch in (0, 1))
    assert all(len({part.piece for part in window[0]}) >= 4 for window in first)
    assert first != second
    assert first == plan_windows([1000] * 20, 1, 400, seed=0, epoch=0)


def test_stretches_divide_the_rows():
    rows = [5, 0, 9, 2]
    parts = [stretch(rows, range(4), part, 3) for part in range(3)]
    sizes = [sum(one.stop - one.start for one in part) for part in parts]
    assert sum(sizes) == 16
    assert np.ptp(sizes) <= 1
