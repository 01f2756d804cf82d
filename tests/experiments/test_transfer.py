"""Transfer from one event to another: which rows, which records, which cells."""

import numpy as np
import pytest

from experiments.protocol import DataSource, Protocol
from experiments.records import Record, RecordStore
from experiments.reproduction import write_results, write_study
from experiments.runner import run_job, run_jobs
from experiments.transfer import REPRESENTATIONS, TransferJob, halves, transfer_study
from lifemix.datasets.synthetic import synthetic_means
from lifemix.metrics import concordance
from lifemix.splits import EventStratifiedKFold

TINY = Protocol(DataSource("synthetic"), 5, (0, 1, 2, 3, 4), (0.0,), (), run="quick", rows=800)


def test_each_half_has_one_event_type_and_no_row_is_in_both():
    (first, y1), (second, y2) = halves(TINY)
    data = TINY.dataset()
    assert not set(first.index) & set(second.index)
    events = dict(zip(data.X.index, data.y["event"], strict=True))
    for table, y, own, other in ((first, y1, 1, 2), (second, y2, 2, 1)):
        codes = np.array([events[row] for row in table.index])
        assert other not in codes
        np.testing.assert_array_equal(y["event"], codes == own)
    dropped = len(data.X) - len(first) - len(second)
    assert 0 < dropped < (data.y["event"] > 0).sum()


def test_the_upper_bound_is_the_concordance_of_the_true_mean():
    records = run_job(TransferJob(TINY, "truth", {}))
    X, y = halves(TINY)[1]
    for record, (_, test) in zip(records, EventStratifiedKFold(5, 0).split(X, y), strict=True):
        own = concordance(y[test], -synthetic_means(X.to_numpy()[test])[:, 1])
        assert record.test["concordance"] == [[pytest.approx(own, abs=1e-6)]]


@pytest.mark.parametrize("model", ["dsm", "tuned", "kpca", "nnmf", "vae", "raw"])
def test_learners_give_one_record_per_fold(model):
    setting = {"layers": 1, "nodes": 5} if REPRESENTATIONS[model][1] else {}
    job = TransferJob(TINY, model, setting)
    records = run_job(job)
    assert [record.key for record in records] == job.keys()
    values = [
        score
        for record in records
        for score in (record.test["concordance"], record.inner["concordance"])
    ]
    assert np.shape(values) == (10, 1, 1)
    assert ((0.3 < np.array(values)) & (np.array(values) < 0.9)).all()


def test_full_run_has_the_papers_widths_and_depths():
    jobs = transfer_study().jobs(["dsm", "kpca", "truth"])
    assert [job.setting for job in jobs if job.model == "truth"] == [{}]
    assert {
        (job.setting["layers"], job.setting["nodes"]) for job in jobs if job.model == "dsm"
    } == {(layers, nodes) for layers in (1, 2) for nodes in (25, 50, 100)}
    assert len({key for job in jobs for key in job.keys()}) == (6 + 3 + 1) * 5


def _record(model, layers, nodes, fold, value, inner, run="full"):
    setting = {"layers": layers, "nodes": nodes}
    scores, chosen = {"concordance": [[value]]}, {"concordance": [[inner]]}
    return Record("transfer", model, setting, 0.0, fold, 0, run, scores, chosen)


def test_cells_of_shapes_stand_beside_the_chosen_one():
    study = transfer_study()
    values = {(1, 25): [0.6, 0.62], (2, 100): [0.7, 0.72]}
    records = [
        _record("dsm", *shape, fold, v, 1 - v)
        for shape, own in values.items()
        for fold, v in enumerate(own)
    ]
    cells, selected = study.summarise(records, "both")
    assert {cell.event for cell in cells} == {2}
    found = {cell.selection: cell.mean for cell in cells}
    assert found == pytest.approx({"paper": 0.71, "nested": 0.61, "1x25": 0.61, "2x100": 0.71})
    assert [one.candidates for one in selected] == [2, 2]


def test_tables_have_the_papers_numbers_and_the_explanation(tmp_path):
    study = transfer_study(quick=True)
    store = RecordStore(tmp_path / study.folder)
    store.add(_record("dsm", 1, 50, fold, 0.7 + fold / 100, 0.7, "quick") for fold in range(5))
    page = write_results(tmp_path, [study])
    text = (tmp_path / study.folder / "tables.md").read_text()
    assert "| DSM, paper’s settings | fixed | 0.7200 ± 0.0071 | 0.7724 ± 0.0012 |" in text
    assert "The upper bound is" in text
    assert "Knowledge transfer" in page.read_text()


def test_quick_study_runs_from_start_to_end(tmp_path):
    study = transfer_study(quick=True)
    run_jobs(study.jobs(["raw", "truth"]), RecordStore(tmp_path / study.folder))
    cells, selected, facts = write_study(tmp_path, study)
    assert [len(one.records) for one in selected] == [5, 5]
    assert facts["records"] == 10
    assert facts["command"] == "python -m experiments transfer --quick"
    means = {cell.model: cell.mean for cell in cells}
    assert means["truth"] > means["raw"] + 0.1
