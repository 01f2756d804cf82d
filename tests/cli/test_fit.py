"""``lifemix fit``: what it understands, chooses, measures and writes."""

from collections import Counter

import numpy as np
import pytest

from commands import COLUMNS, QUICK, make_table
from lifemix import load
from lifemix.cli.settings_search import candidates
from lifemix.preprocessing import tabular
from lifemix.preprocessing.columns import read_column
from lifemix.report import check_table


def fit(run, path, *options, quick=QUICK, columns=COLUMNS):
    outcome = run("fit", path, *columns, *quick, "-o", path.with_name("m.safetensors"), *options)
    assert outcome.code == 0, outcome.err
    return outcome


def test_says_what_it_understood_of_each_column(run, write, frame):
    out = fit(
        run, write(frame.assign(number=range(1, 201), name=[f"n{i}" for i in range(200)]))
    ).out
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "200 rows, 9 columns" in out
    assert "mean, and an indicator" in lines["dose"]
    assert "3 levels" in lines["stage"]
    assert "left out: one value" in lines["hospital"]
    assert "row numbers" in lines["number"]
    assert "left out: all values differ" in lines["name"]
    assert "patient" not in lines


def test_the_file_remembers_the_columns_and_the_quality(run, model):
    saved = load(model)
    assert list(saved.feature_names_in_) == ["age", "dose", "stage"]
    assert saved.metadata_["roles"]["time"] == "days"
    assert saved.metadata_["roles"]["id"] == "patient"
    quality = saved.metadata_["held_out"]["quality"]
    assert [one["model"] for one in quality] == [
        "Deep Survival Machines",
        "Cox regression",
        "Kaplan-Meier",
    ]
    assert quality[0]["rows"] == 40
    assert quality[2]["values"]["concordance"]["1"] == pytest.approx([0.5, 0.5, 0.5])


def test_the_same_seed_gives_the_same_file(run, write, frame):
    path = write(frame)
    files = []
    for seed in (3, 3, 4):
        fit(run, path, "--seed", seed)
        files.append(path.with_name("m.safetensors").read_bytes())
    assert files[0] == files[1] != files[2]


def test_json_is_all_there_is_on_stdout(run, write, frame):
    result = fit(run, write(frame), "--json").json
    assert result["settings"] == {"hidden": [4]}
    assert result["held_out"]["quality"][0]["log_likelihood"] < 0
    assert result["rows"] == 200


def test_quiet_shows_only_results(run, write, frame):
    outcome = fit(run, write(frame), "--quiet", "--holdout", "0")
    assert outcome.out == outcome.err == ""


def test_held_out_rows_stay_out_without_refit(run, write, frame):
    path = write(frame)
    fit(run, path, "--no-refit")
    assert len(load(path.with_name("m.safetensors")).training_target_) == 160
    fit(run, path)
    assert len(load(path.with_name("m.safetensors")).training_target_) == 200


def test_held_out_rows_can_be_written_for_evaluate(run, write, frame, tmp_path):
    path, rest = write(frame), tmp_path / "rest.csv"
    quality = fit(run, path, "--holdout-to", rest, "--json").json["held_out"]["quality"][0]
    evaluated = run("evaluate", path.with_name("m.safetensors"), rest, "--json").json["quality"][0]
    assert evaluated["rows"] == 40
    assert evaluated["values"] == quality["values"]
    assert evaluated["log_likelihood"] == quality["log_likelihood"]


def test_the_search_takes_what_was_told_as_given(run, write, frame):
    path = write(frame)
    result = fit(
        run, path, "--json", "--primitive", "loglogistic", quick=["--members", "1", "--epochs", "2"]
    ).json
    assert {one["settings"]["primitive"] for one in result["candidates"]} == {"loglogistic"}
    assert len(result["candidates"]) == 3
    scores = [one["log_likelihood"] for one in result["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert result["settings"] == result["candidates"][0]["settings"]


def test_every_candidate_is_different():
    for told in ({}, {"hidden": ()}, {"primitive": "weibull", "dropout": 0.1}, {"k": 1}):
        grid = [repr(candidate) for candidate in candidates(told)]
        assert len(set(grid)) == len(grid)
        for name in set(told) - {"dropout"}:
            assert all(candidate[name] == [told[name]] for candidate in candidates(told))


EVENTS = {
    "words": ({0: "alive", 1: "dead"}, [], {"dead"}),
    "coded words": ({0: "0:LIVING", 1: "1:DECEASED"}, [], {"1:DECEASED"}),
    "booleans": ({0: False, 1: True}, [], {"event"}),
    "yes and no": ({0: "no", 1: "yes"}, [], {"event"}),
    "1 and 2": ({0: 1, 1: 2}, ["--censored", "1"], {"event"}),
    "told words": ({0: "lost", 1: "relapse"}, ["--censored", "lost"], {"relapse"}),
}


@pytest.mark.parametrize("case", EVENTS)
def test_forms_of_the_event_column_give_the_same_model(case, run, write, frame, model):
    labels, options, names = EVENTS[case]
    path = write(frame.assign(died=frame["died"].map(labels)))
    result = fit(run, path, *options, "--json").json
    plain = load(model).metadata_["held_out"]["quality"][0]["values"]
    assert result["held_out"]["quality"][0]["values"] == plain
    described = run("describe", path.with_name("m.safetensors"), "--json").json
    assert set(described["events"]) == names


def test_names_with_brackets_are_shown_as_they_are(run, write, frame):
    path = write(frame.rename(columns={"age": "age [years]", "dose": "[red]"}), "[bold]x.csv")
    out = fit(run, path).out
    assert "[bold]x.csv: 200 rows" in out
    assert "age [years]" in out
    assert "[red] " in out
    assert "age [years]" in run("describe", path.with_name("m.safetensors")).out


def test_rows_without_outcome_are_left_out_only_when_asked(run, write, frame):
    path = write(frame.assign(days=frame["days"].where(frame.index > 4)))
    outcome = fit(run, path, "--skip-incomplete")
    assert "5 rows without time or event were left out" in outcome.err
    assert len(load(path.with_name("m.safetensors")).training_target_) == 195


def test_number_codes_become_categories(run, write, frame):
    path = write(frame.assign(ward=np.arange(200) % 4 + 1))
    fit(run, path, "--categorical", "ward")
    column = {c.name: c for c in load(path.with_name("m.safetensors")).preprocessor_.columns_}[
        "ward"
    ]
    assert column.levels == ("1", "2", "3", "4")
    assert run("predict", path.with_name("m.safetensors"), path, "--json").code == 0


def test_own_marks_of_missing_values(run, write, frame):
    path = write(frame.astype({"dose": object}).fillna({"dose": "unknown"}))
    fit(run, path, "--missing", "unknown")
    columns = {c.name: c for c in load(path.with_name("m.safetensors")).preprocessor_.columns_}
    assert columns["dose"].indicator
    assert run("predict", path.with_name("m.safetensors"), path, "--json").code == 0  # remembered


def test_late_entry_and_intervals(run, write):
    frame = make_table(200, 2)
    path = write(frame.assign(start=frame["days"] / 2))
    late = fit(run, path, "--entry", "start")
    assert "Antolini" in late.out
    assert "200 rows with late entry" in late.out
    path = write(frame.assign(end=frame["days"].where(frame["died"] == 0, frame["days"] + 5)))
    assert "interval-censored" in fit(run, path, "--upper", "end").out


REFUSED = {
    "held-out rows of none": (
        ["-o", "m.safetensors", "--holdout-to", "r.csv", "--holdout", "0"],
        "--holdout 0",
    ),
    "output's extension": (["-o", "model.pkl"], "must end in .safetensors"),
    "output's folder": (["-o", "nowhere/m.safetensors"], "there is no folder"),
    "primitive": (["-o", "m.safetensors", "--primitive", "cauchy"], "cauchy"),
    "hidden": (["-o", "m.safetensors", "--hidden", "many"], "--hidden must be widths"),
    "same column": (
        ["-o", "m.safetensors", "--entry", "days"],
        "--time and --entry are the same column",
    ),
    "dropped time": (["-o", "m.safetensors", "--drop", "days"], "both dropped and used"),
    "no such censored": (["-o", "m.safetensors", "--censored", "alive"], "no value 'alive'"),
    "all dropped": (
        ["-o", "m.safetensors", "--drop", "age,dose,stage,hospital"],
        "no covariates are left",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_options(case, data, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, expected = REFUSED[case]
    assert expected in refused("fit", data, *COLUMNS, *options)
    assert not list(tmp_path.iterdir())


def test_columns_are_offered_where_none_are_named(data, refused, tmp_path, write, frame):
    assert "The table has: patient, age" in refused("fit", data, "-o", tmp_path / "m.safetensors")
    path = write(frame.rename(columns={"died": "status", "days": "time"}))
    assert "--time time --event status" in refused("fit", path, "-o", tmp_path / "m.safetensors")


def test_one_fit_reads_each_column_once(run, write, frame, monkeypatch):
    read = Counter()

    def counted(column, values):
        read.update([column])
        return read_column(column, values)

    monkeypatch.setattr(tabular, "read_column", counted)
    path = write(frame.assign(ward=np.arange(200) % 4 + 1))
    quick = [
        "--members",
        "2",
        "--epochs",
        "2",
    ]  # with the search, Cox regression, both doctors and the fit to all rows
    fit(run, path, "--categorical", "ward", quick=quick)
    assert read == Counter(["age", "dose", "stage", "hospital", "ward"])


def fails(*arguments, **options):
    raise np.linalg.LinAlgError("eigenvalues did not converge")


def test_a_baseline_that_cannot_be_fitted_is_a_line(run, write, frame, monkeypatch):
    monkeypatch.setattr("lifemix.baselines.CoxPH.fit", fails)
    outcome = fit(run, write(frame), "--json")
    assert (
        "Cox regression is left out of the comparison: LinAlgError: eigenvalues did not converge"
        in outcome.err
    )
    assert [one["model"] for one in outcome.json["held_out"]["quality"]] == [
        "Deep Survival Machines",
        "Kaplan-Meier",
    ]


def test_a_baseline_that_cannot_be_measured_is_a_line(run, write, frame, monkeypatch):
    monkeypatch.setattr("lifemix.baselines.CoxPH._survival", fails)
    outcome = fit(run, write(frame))
    assert outcome.err.count("Cox regression is left out of the comparison: LinAlgError") == 1
    assert "Kaplan-Meier" in outcome.out


@pytest.mark.parametrize(
    "place", ["lifemix.cli.quality.measure_models", "lifemix.report.check_model"]
)
def test_the_model_is_saved_before_it_is_measured(place, run, write, frame, monkeypatch):
    monkeypatch.setattr(place, fails)
    path = write(frame)
    outcome = fit(run, path)
    assert outcome.err.count("LinAlgError: eigenvalues did not converge") == 1
    assert "Wrote" in outcome.out
    model = load(path.with_name("m.safetensors"))
    assert model.metadata_["held_out"]["rows"] == 40
    assert len(model.metadata_["held_out"]["quality"]) == (0 if "quality" in place else 3)


def test_a_column_of_huge_numbers_is_fitted_and_measured(run, write, frame):
    fit(run, write(frame.assign(huge=np.random.default_rng(0).standard_normal(200) * 1e150)))


def test_a_column_whose_squares_overflow_is_refused(refused, write, frame, tmp_path):
    path = write(frame.assign(huge=np.random.default_rng(0).standard_normal(200) * 1e160))
    assert "'huge' has numbers up to" in refused(
        "fit", path, *COLUMNS, *QUICK, "-o", tmp_path / "m.safetensors"
    )


def test_a_column_with_half_as_many_levels_as_rows_is_fitted(run, write):
    rng = np.random.default_rng(1)
    few = make_table().head(30).assign(level=[f"l{i}" for i in 2 * list(range(15))])
    for seed in range(2):
        fit(
            run,
            write(few.sample(frac=1, random_state=rng.integers(100))),
            "--force",
            "--seed",
            seed,
            "--keep",
            "level",
        )


ASKED = {
    "the event first": (("dead", "in care"), "--censored 'in care'", "--censored 'dead'"),
    "the event last": (("in care", "relapse"), "--censored 'in care'", "--censored 'relapse'"),
    "unknown words": (("a", "b"), "--censored 'a' or --censored 'b'", None),
    "R's codes": ((2, 1), "--censored 1", "--censored 2"),
}


@pytest.mark.parametrize("case", ASKED)
def test_the_example_of_a_censored_value_is_not_the_event(case, refused, write, frame, tmp_path):
    (event, other), expected, wrong = ASKED[case]
    path = write(frame.assign(died=frame["died"].map({1: event, 0: other})))
    message = refused("fit", path, *COLUMNS, *QUICK, "-o", tmp_path / "m.safetensors")
    assert expected in message
    assert wrong is None or wrong not in message


def test_what_the_doctor_calls_an_identifier_is_left_out_with_how_to_keep_it(run, write, frame):
    table = frame.assign(
        pid=np.random.default_rng(1).permutation(10**6)[:200],  # by its name
        number=np.arange(200) + 1000,  # counts the rows
        place=np.random.default_rng(2).permutation(
            200
        ),  # all differ, which by chance they would not
        subject_id=np.arange(200) // 2,
        platelets=np.random.default_rng(3).permutation(10**6)[
            :200
        ],  # all differ, which by chance they may
    )
    path = write(table)
    outcome = fit(run, path)
    facts = {one["name"]: one for one in load(path.with_name("m.safetensors")).metadata_["columns"]}
    left_out = {name: one["kind"] for name, one in facts.items() if "--keep" in one["action"]}
    assert left_out == {
        "pid": "identifier",
        "number": "row numbers",
        "place": "identifier",
        "subject_id": "repeated subjects",
    }
    assert facts["platelets"]["used"]
    assert "--keep" in outcome.out
    named = {
        one.text.split()[0]
        for one in check_table(table, (table["days"], table["died"]))
        if "identifier" in one.text
    }
    assert named == {*left_out, "patient"}
    fit(run, path, "--keep", "pid,place")
    assert {"pid", "place"} <= set(load(path.with_name("m.safetensors")).feature_names_in_)
