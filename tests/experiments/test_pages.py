"""The pages of experiments; the numbers on them are made up."""

import re
import sys
from dataclasses import replace
from html import unescape

import pytest

from experiments.comparison import paper_of
from experiments.pages import RunFacts, write_index, write_page
from experiments.pages.costs_section import cost_cells
from experiments.pages.index import summary_of
from experiments.pages.tables import comparison_table, paired_table
from experiments.published import published_cells
from invented import facts, records, selected, table_cells
from lifemix.errors import SettingError


def plain(html):
    return unescape(re.sub(r"<[^>]*>", " ", html))


def lines(html):
    """Return the rows of a table's body as text, single spaces."""
    return [
        " ".join(plain(row).split())
        for row in re.findall(r"<tr>(.*?)</tr>", html.split("<tbody>")[1])
    ]


def page(site, name):
    return (site / f"{name}.html").read_text()


def some(measure="ctd", censoring=0.0, cells=None):
    return [
        c
        for c in cells or table_cells()
        if (c.measure, c.censoring, c.event) == (measure, censoring, 1)
    ]


def test_a_table_has_our_number_the_papers_and_the_difference():
    cells = [
        replace(c, mean=0.84, error=0.004)
        for c in some()
        if (c.model, c.selection) == ("dsm", "paper")
    ]
    rows = lines(comparison_table(cells, paper_of(["support"]), facts(), "t"))
    dsm = next(row for row in rows if row.startswith("DSM, paper’s settings"))
    # The paper: 0.832 ± 0.002, 0.788 ± 0.003, 0.750 ± 0.003.
    assert dsm == (
        "DSM, paper’s settings paper’s selection 0.840 ± 0.004 0.832 ± 0.002 · +0.008 "
        "0.840 ± 0.004 0.788 ± 0.003 · +0.052 ▲ 0.840 ± 0.004 0.750 ± 0.003 · +0.090 ▲"
    )


def test_for_a_brier_score_lower_is_better():
    cells = [replace(c, mean=0.2, error=0.001) for c in some("brier") if c.model == "dsm"]
    html = comparison_table(cells, paper_of(["support"]), facts(), "t")
    assert "0.107 ± 0.002 · +0.093 ▼" in plain(html)
    best = comparison_table(some("brier"), {}, facts(), "t")
    lowest = min(c.mean for c in some("brier") if c.horizon == 0.25 and c.model != "floor")
    assert re.findall(r'class="best">(\d\.\d+)', best)[0] == f"{lowest:.3f}"


def test_models_of_the_paper_that_were_not_run_have_its_number_alone():
    cells = [c for c in some() if c.model == "tuned"]
    rows = lines(comparison_table(cells, paper_of(["support"]), facts(), "t"))
    assert len(rows) == 6
    assert (
        "Cox (CPH) in the paper only – paper 0.794 ± 0.002 – paper 0.756 ± 0.004 – paper 0.733 ± 0.003"
        in rows
    )


def test_every_published_number_of_a_data_set_is_on_its_page(site):
    text = plain(page(site, "support"))
    for cell in published_cells("support"):
        assert f"{cell.mean:.3f} ± {cell.error:.3f}" in text


def test_the_true_distribution_is_shown_and_never_the_best(site):
    html = page(site, "synthetic-quick")
    rows = [row for row in re.findall(r"<tr>(.*?)</tr>", html) if "True distribution" in row]
    assert rows
    assert not any("best" in row for row in rows)


def test_paired_differences_are_in_favour_of_our_model_where_positive():
    rows = lines(paired_table(some("brier"), facts(), "t", "tuned"))
    forest = next(row for row in rows if row.startswith("Tuned forest"))
    ours, theirs = (
        next(c for c in some("brier") if c.model == m and c.horizon == 0.25)
        for m in ("tuned", "forest")
    )
    assert forest.split()[4] == f"+{theirs.mean - ours.mean:.3f}"
    assert "▲" in forest
    assert not any("No covariates" in row for row in rows)


def test_both_brier_scores_and_both_selections_are_told_apart(site):
    text = plain(page(site, "support"))
    assert "Brier score, G before artificial censoring" in text
    assert "paper’s selection" in text
    assert "nested selection" in text
    assert "the setting with the best cross-validated score" in text


def test_the_run_is_at_the_top(site):
    text = plain(page(site, "support")).split("How to read the tables", 2)[1]
    top = plain(page(site, "support"))[: -len(text)]
    for word in (
        "python -m experiments support",
        "Random seed",
        "72 minutes",
        "Machine",
        "torch",
        "Python",
    ):
        assert word in top


def test_a_quick_run_says_so(site):
    assert "Quick run." in plain(page(site, "synthetic-quick"))
    assert "A <note> of ours." in plain(page(site, "synthetic-quick"))
    assert "Quick run." not in plain(page(site, "support"))


def test_times_of_the_horizons_are_given(site):
    assert "14 days" in plain(page(site, "support"))


def test_pictures_have_alternative_texts(site):
    numbers = {
        "support": 5 * 3 + 3 + 2,
        "synthetic-quick": 2 * (2 + 8) + 8 + 2,
        "transfer": 2,
        "scaling": 6,
    }
    for name, number in numbers.items():
        images = re.findall(r"<img ([^>]*)>", page(site, name))
        assert len(images) == number, name
        assert all(re.match(r'alt="[^"]{10,}" src="data:image/svg', image) for image in images)


def test_transfer_reads_the_papers_intervals_as_standard_errors(site):
    text = " ".join(plain(page(site, "transfer")).split())
    assert "0.7724 ± 0.0012" in text  # 0.0025 / 2.13
    assert "90%-CI" in text


def test_costs_come_from_the_records_where_no_cells_have_them():
    found = {(c.model, c.measure): c for c in cost_cells(records())}
    own = [r for r in records() if r.model == "dsm"]
    assert found["dsm", "seconds"].mean == pytest.approx(sum(r.seconds for r in own) / 5)
    assert ("rsf", "parameters") not in found


def test_the_name_of_a_row_says_that_a_rival_is_averaged_in(site):
    assert "DSM + trees nested selection" in " ".join(lines(_nested("support")))
    top = plain(page(site, "support")).split("How to read the tables", 2)[1]
    assert "DSM, tuned : DeepSurvivalMachines.tuned() , alone" in " ".join(top.split())


def _nested(data):
    cells = [
        replace(c, data=data, model="tuned-trees", selection="nested")
        for c in some()
        if c.model == "tuned"
    ]
    return comparison_table(cells, {}, facts(), "t")


def test_models_with_selected_settings_have_calibration_and_costs(site):
    html = page(site, "support")
    for anchor in ("support-calibration", "costs"):
        text = plain(html.split(f'id="{anchor}"')[1])
        assert "DSM, paper’s settings" in text
        assert "DSM, tuned" in text


def test_the_index_has_every_page_in_the_papers_order(site):
    html = (site / "index.html").read_text()
    links = re.findall(r'<a href="([^"#]+)"', html)
    assert links == [f"{n}.html" for n in ("support", "synthetic-quick", "transfer", "scaling")]
    assert html.count("A quick run") == 1
    assert all((site / link).exists() for link in links)
    assert 'href="index.html"' in page(site, "support")


def test_the_index_leaves_out_what_is_not_a_page_of_ours(tmp_path):
    for name, text in (
        ("other", "<html><head></head>hello"),
        ("bad", '<meta name="lifemix-experiment" content="{">'),
    ):
        (tmp_path / f"{name}.html").write_text(text)
        assert summary_of(tmp_path / f"{name}.html") is None
    assert "href" not in write_index(tmp_path).read_text().split("<body>")[1]


def test_the_same_cells_give_the_same_page(tmp_path):
    cells = [c for c in some() if c.horizon == 0.5]
    first, second = (write_page(tmp_path / n, cells, facts()).read_bytes() for n in "ab")
    assert first == second


def test_without_matplotlib_the_page_has_its_tables_and_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    html = write_page(tmp_path, some(), facts(), selected()).read_text()
    assert "<img" not in html
    assert "lifemix[plots]" in html
    assert "<table>" in html


def test_cells_that_are_not_numbers_leave_gaps(tmp_path):
    cells = [
        replace(c, mean=float("nan"), error=float("nan")) if c.model == "dsm" else c for c in some()
    ]
    html = write_page(tmp_path, cells, facts()).read_text()
    assert not re.search(r"\bnan\b", plain(html), re.IGNORECASE)


@pytest.mark.parametrize("name", ["", "index", "../up", "a b"])
def test_names_that_are_no_file_of_a_page_are_refused(tmp_path, name):
    with pytest.raises(SettingError, match="an experiment's name has letters"):
        write_page(tmp_path, some(), facts(name))


def test_no_cells_are_refused(tmp_path):
    with pytest.raises(SettingError, match="a page needs cells; got none"):
        write_page(tmp_path, [], facts())


@pytest.mark.parametrize(
    ("value", "shown"), [(42.6833, "42.7 months"), (252, "252 months"), (1825.4, "1,825 months")]
)
def test_times_have_three_digits_and_their_unit(value, shown):
    told = RunFacts("metabric", "x", horizons={"metabric": [[value]]}, units={"metabric": "months"})
    assert told.time("metabric", 1, 0) == shown
    assert (
        told.time("metabric", 1, 1)
        == told.time("metabric", 2, 0)
        == told.time("support", 1, 0)
        == ""
    )
