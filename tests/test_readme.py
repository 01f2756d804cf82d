"""What the README shows runs as it stands there."""

from pathlib import Path

import numpy as np

from code_blocks import run_blocks

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs(capsys):
    names = run_blocks(README)
    brier = metrics_of(names)
    assert (brier < [0.115, 0.17, 0.2]).all()
    assert capsys.readouterr().out.count("[") > 3


def metrics_of(names):
    data, train, test = names["data"], names["train"], names["test"]
    return np.asarray(names["metrics"].brier_score(data.y[train], data.y[test], names["survival"], names["days"]))
