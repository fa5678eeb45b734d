"""`report`: tables, plots and pages from the files of earlier runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchmarks_uci import figures
from benchmarks_uci.report import ResultsError, by_run, read, readme, write_compact
from benchmarks_uci.report.contents import Plot, contents, main_table
from benchmarks_uci.report.metrics import METRICS
from benchmarks_uci.report.tables import FORMATS

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(context_settings={"show_default": True})
@click.argument("results", type=click.Path(path_type=Path), default="results")
@click.option("--out", type=FOLDER, help="Folder for report.md, report.html and the plots.")
@click.option("--metric", type=click.Choice(list(METRICS)), default="nll", help="Score to show.")
@click.option(
    "--format", "fmt", type=click.Choice(FORMATS), default="plain", help="Of the printed tables."
)
@click.option("--compact", type=FOLDER, help="Folder for one CSV file (and JSON) a run.")
@click.option(
    "--readme", "of_readme", is_flag=True, help="Write the committed results into the README."
)
@click.option(
    "--check", is_flag=True, help="With --readme: write nothing, fail if it does not agree."
)
def report(results, out, metric, fmt, compact, of_readme, check):
    """Show what earlier runs found; nothing is fitted, and no data are loaded.

    RESULTS is a results folder of the run command, or a CSV file or folder of --compact.
    """
    if check and not of_readme:
        raise click.UsageError("--check goes with --readme.")
    try:
        if of_readme:
            _readme(check)
            return
        records = read(results)
        for run in by_run(records).values():
            table, explained = main_table(run, metric)
            click.echo(f"{table.title}\n\n{table.render(fmt)}\n")
            click.echo("\n".join(explained) + "\n")
        if out is not None:
            _write_pages(records, metric, out)
        if compact is not None:
            for path in write_compact(records, compact):
                click.echo(f"wrote {path}")
    except (ResultsError, ImportError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _readme(check: bool):
    difference = readme.disagreement(readme.README, readme.RESULTS)
    if check and difference:
        click.echo(difference)
        click.echo(
            "The README does not agree with the results: report --readme mends it.", err=True
        )
        sys.exit(1)
    if difference:
        readme.write(readme.README, readme.RESULTS)
    click.echo("The README agrees with the results." if not difference else "README written.")


def _write_pages(records: list[dict], metric: str, out: Path):
    # Imported here: only the pages need matplotlib, an extra.
    from benchmarks_uci.report import html, markdown

    blocks = contents(records, metric)
    out.mkdir(parents=True, exist_ok=True)
    pages = {"report.md": markdown.page(blocks), "report.html": html.page(blocks)}
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
        click.echo(f"wrote {out / name}")
    for block in blocks:
        if isinstance(block, Plot):
            for fmt in figures.FORMATS:
                path = out / f"{block.name}.{fmt}"
                path.write_bytes(figures.as_bytes(block.figure, fmt))
                click.echo(f"wrote {path}")
