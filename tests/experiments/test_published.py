"""The paper's numbers as data."""

import csv
import hashlib
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from scipy.integrate import quad
from scipy.stats import norm, t

from experiments import published
from experiments.published import (
    PLUS_MINUS,
    PUBLISHED,
    STATISTICS,
    interval_to_error,
    published_cells,
)
from lifemix.baselines.deephit import DEEPHIT_PAPER
from lifemix.errors import SettingError

ROOT = Path(__file__).parents[2]
TEX = ROOT.parent / "shared" / "paper" / "deep_survival_machines.tex"
SINGLE = {"cph", "deepsurv", "deephit", "rsf", "dsm"}
COMPETING = {"cs-cph", "fg", "cs-rsf", "deephit", "dsm"}


@pytest.fixture(scope="module")
def tex():
    if not TEX.exists():
        pytest.skip("the paper's source is not beside the project")
    return re.sub(r"(?<!\\)%.*", "", TEX.read_text())


def by_place(data):
    return {
        (c.model, c.measure, c.event, c.horizon, c.censoring): (c.mean, c.error)
        for c in published_cells(data)
    }


@pytest.mark.parametrize("data", ["support", "metabric"])
def test_single_risk_tables_are_complete(data):
    places = by_place(data)
    assert len(places) == len(published_cells(data)) == 5 * 2 * 3 * 3
    assert {place[0] for place in places} == SINGLE
    assert Counter(place[1] for place in places) == {"ctd": 45, "brier": 45}
    assert {place[2:] for place in places} == {
        (1, h, c) for h in (0.25, 0.5, 0.75) for c in (0.0, 0.25, 0.5)
    }


@pytest.mark.parametrize("data", ["synthetic", "seer"])
def test_competing_risk_tables_are_complete(data):
    places = by_place(data)
    assert len(places) == len(published_cells(data)) == 5 * 2 * 4
    assert {place[0] for place in places} == COMPETING
    assert {place[1:] for place in places} == {
        ("ctd", event, horizon, 0.0) for event in (1, 2) for horizon in (0.25, 0.5, 0.75, 1.0)
    }


def test_transfer_table_is_complete():
    places = by_place("transfer")
    assert {place[0] for place in places} == {"nnmf", "vae", "kpca", "deepsurv", "deephit", "dsm"}
    assert len(places) == 6


# Typed by hand from the tables.
@pytest.mark.parametrize(
    ("data", "place", "printed"),
    [
        ("support", ("cph", "ctd", 1, 0.25, 0.0), (0.794, 0.002)),
        ("support", ("dsm", "ctd", 1, 0.75, 0.5), (0.735, 0.004)),
        ("support", ("deephit", "brier", 1, 0.5, 0.25), (0.336, 0.006)),
        ("support", ("rsf", "brier", 1, 0.25, 0.5), (0.143, 0.004)),
        ("support", ("deepsurv", "ctd", 1, 0.5, 0.0), (0.767, 0.003)),
        ("metabric", ("dsm", "brier", 1, 0.5, 0.25), (0.210, 0.003)),
        ("metabric", ("rsf", "ctd", 1, 0.25, 0.25), (0.710, 0.016)),
        ("metabric", ("cph", "brier", 1, 0.75, 0.0), (0.249, 0.002)),
        ("metabric", ("deephit", "ctd", 1, 0.75, 0.5), (0.583, 0.006)),
        ("synthetic", ("fg", "ctd", 1, 1.0, 0.0), (0.548, 0.004)),
        ("synthetic", ("dsm", "ctd", 2, 0.25, 0.0), (0.803, 0.011)),
        ("synthetic", ("cs-rsf", "ctd", 2, 0.75, 0.0), (0.638, 0.010)),
        ("seer", ("cs-cph", "ctd", 1, 0.25, 0.0), (0.891, 0.004)),
        ("seer", ("deephit", "ctd", 2, 1.0, 0.0), (0.889, 0.001)),
        ("transfer", ("kpca", "concordance", 2, 1.0, 0.0), (0.7422, 0.0055)),
    ],
)
def test_spot_values(data, place, printed):
    assert by_place(data)[place] == printed


# What the tests below read in the paper's source, held by figures of our own where that is not beside the project.


def test_the_file_of_published_numbers_is_the_one_that_was_compared_with_the_paper():
    content = Path(published.__file__).with_name("published.csv").read_bytes()
    assert (
        hashlib.sha256(content).hexdigest()
        == "357bb1117855b590bb68d159608ca165963b4adfe5dc2b6924ab0a4211d6c2d6"
    )
    assert content.count(b"\n") == 1 + 266
    sums = {data: round(sum(cell.mean for cell in published_cells(data)), 4) for data in PUBLISHED}
    assert sums == {
        "support": 43.959,
        "metabric": 38.838,
        "synthetic": 25.959,
        "seer": 34.344,
        "transfer": 4.2256,
    }


def test_statistics_and_settings_are_those_that_were_compared_with_the_paper():
    assert {name: (s.rows, s.features, s.events, s.censored) for name, s in STATISTICS.items()} == {
        "support": (9105, 30, (6201,), 2904),
        "metabric": (1904, 9, (1103,), 801),
        "synthetic": (30000, 12, (7600, 7400), 15000),
        "seer": (65481, 21, (13564, 4245), 47672),
    }
    assert {name: tuple(setting.values()) for name, setting in DEEPHIT_PAPER.items()} == {
        "support": (3, 100, 3, 300, "elu", 0.1),
        "metabric": (3, 100, 1, 100, "tanh", 5.0),
        "synthetic": (3, 300, 2, 50, "elu", 0.1),
        "seer": (1, 100, 2, 50, "elu", 0.5),
    }
    assert {tuple(setting) for setting in DEEPHIT_PAPER.values()} == {
        ("shared_layers", "shared_nodes", "cause_layers", "cause_nodes", "activation", "alpha")
    }
    assert {name: (one.meaning, one.folds) for name, one in PLUS_MINUS.items()} == {
        "support": ("contradictory", 5),
        "metabric": ("contradictory", 10),
        "synthetic": ("contradictory", 5),
        "seer": ("contradictory", 5),
        "transfer": ("90 % interval", 5),
    }


def test_file_is_what_the_script_makes_of_the_paper(tex):
    rows = runpy.run_path(str(ROOT / "scripts" / "make_published.py"))["published"](tex)
    with Path(published.__file__).with_name("published.csv").open(newline="") as file:
        stored = list(csv.DictReader(file))
    assert [{name: str(value) for name, value in row.items()} for row in rows] == [
        {name: row[name] for name in made} for row, made in zip(stored, rows, strict=True)
    ]


def test_no_number_of_the_paper_is_left_out(tex):
    printed = re.findall(r"(\d\.\d{3,4})[\s$}]*\\pm[\s${]*(?:\\textbf\{)?(\d\.\d{3,4})", tex)
    ours = [(c.mean, c.error) for data in PUBLISHED for c in published_cells(data)]
    assert Counter((float(mean), float(error)) for mean, error in printed) == Counter(ours)
    assert tex.count(r"\pm") == len(ours)


def test_what_the_paper_says_about_plus_minus(tex):
    assert set(PLUS_MINUS) == set(PUBLISHED)
    assert "we report the standard error around the mean" in tex
    assert (
        r"The mean and the 90\% confidence interval of the $C^{td}$ were computed using 5-fold"
        in tex
    )
    assert r"C-Index (90\%-CI)" in tex
    assert "Except for METABRIC, where we perform 10-fold" in tex
    assert PLUS_MINUS["metabric"].folds == 10
    assert {name for name, one in PLUS_MINUS.items() if one.meaning == "90 % interval"} == {
        "transfer"
    }


@pytest.mark.parametrize("folds", [5, 10])
def test_an_interval_of_the_standard_errors_width_covers_nine_tenths(folds):
    error = interval_to_error(1.0, folds)
    assert quad(lambda x: t.pdf(x, folds - 1), -1 / error, 1 / error)[0] == pytest.approx(0.9)
    error = interval_to_error(1.0, folds, "normal")
    assert quad(norm.pdf, -1 / error, 1 / error)[0] == pytest.approx(0.9)


def test_intervals_are_turned_into_errors_only_when_asked():
    printed, turned = published_cells("transfer"), published_cells("transfer", interval="t")
    assert [cell.mean for cell in printed] == [cell.mean for cell in turned]
    assert turned[-1].error == pytest.approx(
        printed[-1].error / 2.131847
    )  # the 95 % point of t with 4 degrees
    with pytest.raises(SettingError, match="interval is None, 't' or 'normal'; got 'z'"):
        published_cells("transfer", interval="z")


def test_data_that_the_paper_lacks_have_no_cells():
    assert published_cells("flchain") == []


def test_statistics_are_the_papers(tex):
    head = tex.index(r"\label{tab:my_label}")
    table = tex[head : tex.index(r"\end{table*}", head)]
    for name, ours in STATISTICS.items():
        line = re.search(rf"\\textbf{{{name.upper()}}}(.*?)\\midrule", table, re.DOTALL)[1]
        counts = [ours.rows, ours.features, *ours.events, ours.censored]
        for count in counts:
            assert re.search(rf"(?<![\d,.]){count:,}(?![\d,.])", line), (name, count)
        assert sum(ours.events) + ours.censored == ours.rows


def test_deephits_settings_are_the_papers(tex):
    head = tex.index(r"\label{tab:deephit_param}")
    table = tex[head : tex.index(r"\end{table*}", head)]
    for name, setting in DEEPHIT_PAPER.items():
        line = re.search(rf"\\textbf{{{name.upper()}}}(.*?)\\midrule", table, re.DOTALL)[1]
        printed = [float(text) for text in re.findall(r"\$([\d.]+)\$", line)]
        keys = ("shared_layers", "shared_nodes", "cause_layers", "cause_nodes", "alpha")
        assert printed == [setting[key] for key in keys]
        assert re.search(r"\\textsf\{(\w+)\}", line)[1].lower() == setting["activation"]
