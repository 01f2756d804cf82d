"""Training time: which fits, and their cells."""

from collections import Counter

import pytest

from experiments.records import read_records
from experiments.run import run_jobs, study_records
from experiments.scaling import scaling_study


@pytest.mark.slow
def test_a_quick_study_gives_time_parameters_and_growth(tmp_path):
    study = scaling_study("metabric", quick=True)
    run_jobs([job for job in study.jobs if job.model in ("cph", "deepsurv")], tmp_path)
    cells, _ = study.summarise(study_records(study, tmp_path))
    table = cells.pivot_table(index="selection", columns=["model", "measure"], values="mean")
    assert set(table.index) == {"fixed", *(f"n={n}" for n in (188, 375, 750, 1500, 3000, 6000))}
    assert table.loc["fixed", ("cph", "parameters")] == 9
    assert (table["cph", "seconds"] > 0).all()
    assert {record["setting"]["rows"] for record in read_records(tmp_path).values()} > {1500}


def test_all_rows_are_fitted_once_per_repeat():
    counts = Counter(job.model for job in scaling_study("support").jobs)
    assert set(counts.values()) == {3 + 6}
