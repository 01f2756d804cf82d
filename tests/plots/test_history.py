import numpy as np
import pytest

from lifemix import plots
from lifemix.errors import InputError

HISTORY = [
    {"member": member, "epoch": e, "train_loss": 2 / e + member, "validation_loss": 3 / e + member}
    for member in (0, 1)
    for e in (1, 2, 3)
]


def test_each_member_has_two_lines_and_its_best_epoch_is_marked():
    axes = plots.training_history(HISTORY, [3, 2])
    curves = [line.get_ydata() for line in axes.lines[:4]]
    np.testing.assert_allclose(curves, [[2, 1, 2 / 3], [3, 2, 5 / 3], [3, 1.5, 1], [4, 2.5, 2]])
    np.testing.assert_allclose(axes.lines[4].get_data(), [[3, 2], [1, 2.5]])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["training rows", "held-out rows", "kept epoch"]
    assert axes.lines[0].get_color() != axes.lines[2].get_color()


def test_without_held_out_rows_the_best_epoch_lies_on_the_training_loss():
    line, best = plots.training_history(
        [record | {"validation_loss": np.nan} for record in HISTORY[:3]], 2
    ).lines
    np.testing.assert_allclose(line.get_ydata(), [2, 1, 2 / 3])
    np.testing.assert_allclose(best.get_ydata(), [1])


def test_unsuitable_histories_are_refused():
    with pytest.raises(InputError, match=r"model.history_.*'epoch', 'train_loss'"):
        plots.training_history([{"loss": 1}])
    with pytest.raises(InputError, match="one epoch per member, 2 in all; got 1"):
        plots.training_history(HISTORY, 1)
