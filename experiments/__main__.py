"""Run the paper's experiments: ``python -m experiments support --quick``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lifemix.errors import LifemixError, SettingError
from lifemix.files import atomic_write

from .models import MODELS
from .page import Results, write_page
from .run import Study, run_jobs, run_suffix, study_records
from .studies import EXPERIMENTS, studies
from .tables import comparison_tables, data_title, result_tables

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def reproduce(
    studies: list[Study], output: Path, models: list[str] | None = None, n_jobs: int = 1
) -> Path:
    """Run the studies of an experiment, or resume them, and write tables and page; return the path of the page.

    models: only these, also those that run only on request; the records of others stay in the tables.
    """
    results = []
    for study in studies:
        jobs = [
            job
            for job in study.jobs
            if (job.model in models if models else not MODELS[job.model].on_request)
        ]
        run_jobs(jobs, output / study.folder, n_jobs)
        records = study_records(study, output / study.folder)
        if records.empty:
            raise SettingError(f"{study.folder} has no records of the models {models}.")
        results.append(Results(study, records, *study.summarise(records)))
        write_tables(results[-1], output / study.folder / "tables.md")
    name = studies[0].experiment + run_suffix(studies[0].protocol)
    return write_page(output, name, results)


def write_tables(result: Results, path: Path) -> None:
    """Write all tables of a study as Markdown."""
    title = f"# {data_title(result.study.data)}\n\nMean ± standard error over the folds; `{result.study.command}`."
    notes = [f"- {note}" for note in result.study.notes]
    tables = [*result_tables(result.cells), *comparison_tables(result.cells)]
    sections = [f"## {table.title}\n\n{table.markdown()}\n\n{table.note}" for table in tables]
    texts = (section.rstrip() for section in (title, "\n".join(notes), *sections))
    text = "\n\n".join(section for section in texts if section)
    with atomic_write(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


@app.command()
def main(
    experiment: Annotated[str, typer.Argument(help=f"{', '.join(EXPERIMENTS)}, or all but seer.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")] = Path(
        "results"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer settings, folds and levels of censoring.")
    ] = False,
    models: Annotated[str, typer.Option(help="Only these models, separated by commas.")] = "",
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Processes; -1: one per core.")] = 1,
    data: Annotated[str | None, typer.Option(help="Your own file, for synthetic and seer.")] = None,
    full_grid: Annotated[
        bool, typer.Option("--full-grid", help="All settings of the paper with competing risks.")
    ] = False,
) -> None:
    """Run one of the paper's experiments and write its tables and its page. An interrupted run resumes."""
    names = (
        [name for name in EXPERIMENTS if name != "seer"] if experiment == "all" else [experiment]
    )
    selected = [model.strip() for model in models.split(",") if model]
    try:
        if unknown := set(selected) - set(MODELS):
            raise SettingError(f"unknown models {unknown}; expected some of {', '.join(MODELS)}.")
        for name in names:
            page = reproduce(studies(name, quick, data, full_grid), output, selected, jobs)
            typer.echo(f"wrote {page}")
    except LifemixError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    app()
