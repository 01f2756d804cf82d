"""The forest plot: what is drawn is what the summary holds."""

import numpy as np
import pandas as pd
import pytest

from lifemix import make_target, plots
from lifemix.baselines import CoxPH, FineGray
from lifemix.errors import InputError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(60, 10, 200), "income": RNG.choice(["<$9", "$9"], 200)})
EVENT = RNG.integers(0, 3, 200)
TIME = RNG.exponential(5, 200) + 0.1


def test_ratios_limits_and_reference_levels_are_drawn():
    summary = CoxPH().fit(X, make_target(TIME, EVENT > 0)).summary
    axes = plots.coefficients(summary)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["age", "income = $9 (reference)", "income = <$9"]
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    effects, reference = axes.lines[0], axes.lines[1]
    assert effects.get_xdata().tolist() == summary["hazard_ratio"][[0, 2]].tolist()
    assert effects.get_ydata().tolist() == [0, 2]
    assert (reference.get_xdata(), reference.get_ydata()) == ([1.0], [1.0])
    assert reference.get_markerfacecolor() == "white"
    limits = [segment[:, 0].tolist() for segment in axes.collections[0].get_segments()]
    assert limits == summary[["lower", "upper"]].iloc[[0, 2]].to_numpy().tolist()
    assert axes.get_xscale() == "log"
    assert axes.yaxis_inverted()


def test_event_types_have_colours_and_rows_without_a_ratio_are_left_out():
    summary = FineGray().fit(X.assign(twice=2 * X["age"]), make_target(TIME, EVENT)).summary
    assert summary["hazard_ratio"].isna().sum() == 2
    axes = plots.coefficients(summary)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["age", "income = $9 (reference)", "income = <$9"]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["event 1", "event 2"]
    assert axes.lines[0].get_color() != axes.lines[2].get_color()


def test_what_is_no_summary_is_refused():
    with pytest.raises(InputError, match=r"what model.summary returns; missing columns \['column'"):
        plots.coefficients(pd.DataFrame({"a": [1]}))
    summary = CoxPH().fit(X, make_target(TIME, EVENT > 0)).summary
    with pytest.raises(InputError, match="a row with a hazard ratio; got none"):
        plots.coefficients(summary.assign(hazard_ratio=np.nan))
