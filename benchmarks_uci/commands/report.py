"""`python -m benchmarks_uci report`: tables, plots and a page from the results of earlier runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from benchmarks_uci.analysis import readme
from benchmarks_uci.analysis.frame import make_frame, split_runs
from benchmarks_uci.analysis.tables import FORMATS
from benchmarks_uci.engine.records import ResultsError, read, write_compact
from benchmarks_uci.engine.study import Study
from benchmarks_uci.regression.study import STUDY

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks_uci" / "results"
FOLDER = click.Path(file_okay=False, path_type=Path)


def make_report(study: Study) -> click.Command:
    """Return the command that reports on a study."""

    @click.command("report", context_settings={"show_default": True})
    @click.argument("results", type=click.Path(path_type=Path), default="results")
    @click.option("--out", type=FOLDER, help="Folder for report.md and the plots.")
    @click.option(
        "--metric",
        type=click.Choice([*study.metrics]),
        default=next(iter(study.metrics)),
        help="Score to show.",
    )
    @click.option(
        "--format", "fmt", type=click.Choice([*FORMATS]), default="plain", help="Table format."
    )
    @click.option("--compact", type=FOLDER, help="Folder for one CSV and one JSON file per run.")
    @_readme_options(study)
    def report(results, out, metric, fmt, compact, of_readme=False, check=False):
        """Show the results of earlier runs. Nothing is fitted, and no data are loaded.

        RESULTS is a results folder of the run command, or a CSV file or folder of --compact.
        """
        if check and not of_readme:
            raise click.UsageError("--check needs --readme.")
        try:
            if of_readme:
                _refuse_others("results", "out", "metric", "fmt", "compact")
                _update_readme(study, check)
                return
            records = read(results, study)
            _print_tables(records, study, metric, fmt)
            if out is not None:
                _write_page(records, study, metric, out)
            if compact is not None:
                for path in write_compact(records, compact, study):
                    click.echo(f"wrote {path}")
        except (ResultsError, ImportError, OSError) as error:
            raise click.ClickException(str(error)) from error

    return report


def _readme_options(study: Study):
    """Return a decorator that adds the options for the README, if the study is shown there."""
    options = [
        click.option(
            "--readme",
            "of_readme",
            is_flag=True,
            help="Write the committed results into the README instead.",
        ),
        click.option(
            "--check",
            is_flag=True,
            help="With --readme: write nothing, fail if it does not agree.",
        ),
    ]

    def decorate(function):
        for option in reversed(options if study.readme else []):
            function = option(function)
        return function

    return decorate


def _refuse_others(*names: str) -> None:
    """Raise an error if one of these parameters was given besides `--readme`."""
    context = click.get_current_context()
    given = [n for n in names if context.get_parameter_source(n) is not ParameterSource.DEFAULT]
    if given:
        raise click.UsageError(
            "--readme takes the committed results and no other option than --check. Leave out: "
            f"{', '.join(given)}."
        )


def _update_readme(study: Study, check: bool):
    difference = readme.compare(README, RESULTS, study)
    if check and difference:
        click.echo(difference)
        click.echo(
            "The README does not agree with the results. Run report --readme to update it.",
            err=True,
        )
        sys.exit(1)
    if difference:
        text = README.read_text(encoding="utf-8")
        README.write_text(readme.update(text, RESULTS, study), encoding="utf-8")
    click.echo("README written." if difference else "The README agrees with the results.")


def _print_tables(records, study, metric, fmt):
    from benchmarks_uci.analysis.page import tabulate_run

    for _, run in split_runs(make_frame(records, study)):
        table, explained = tabulate_run(run, study, metric)
        click.echo(f"{table.title}\n\n{table.render(fmt)}\n")
        click.echo("\n".join(explained) + "\n")


def _write_page(records, study, metric, out: Path):
    # Imported here: only the page needs matplotlib, an optional package.
    from benchmarks_uci import figures
    from benchmarks_uci.analysis.page import write_page

    text, drawn = write_page(records, study, metric)
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.md").write_text(text, encoding="utf-8")
    click.echo(f"wrote {out / 'report.md'}")
    for name, figure in drawn.items():
        for fmt in figures.FORMATS:
            path = out / f"{name}.{fmt}"
            path.write_bytes(figures.as_bytes(figure, fmt))
            click.echo(f"wrote {path}")


report = make_report(STUDY)
