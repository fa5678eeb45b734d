"""The README and the pages agree with the code: examples run, and every name in them exists."""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from benchmarks_uci.__main__ import COMMANDS, cli
from benchmarks_uci.commands import common, run
from benchmarks_uci.datasets import EMBEDDED, SETS
from benchmarks_uci.regression.study import STUDY
from docs.conftest import has_close_numbers

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BENCHMARK = (ROOT / "docs" / "benchmark.rst").read_text(encoding="utf-8")
FILES = sorted(
    path for folder in ("docs", "docs/how_to") for path in (ROOT / folder).glob("*.rst")
)
PAGES = "".join(path.read_text(encoding="utf-8") for path in FILES)
PARAMETERS = {name: cli.get_command(None, name).params for name in COMMANDS}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class CloseNumbers(doctest.OutputChecker):
    """Compare words exactly and numbers to 2 %, because other processors round differently."""

    def check_output(self, want, got, optionflags):
        return has_close_numbers(want, got, rtol=0.02, atol=0)


def examples():
    """Pairs (Python code, its printed output or None)."""
    blocks = list(FENCE.finditer(README))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] == "python":
            adjacent = following and not README[block.end() : following.start()].strip()
            output = following[2] if adjacent and following[1] in ("", "text") else None
            yield block[2], output


@pytest.mark.parametrize(("code", "output"), list(examples()))
def test_readme_example_prints_the_output_that_the_readme_shows(code, output):
    checker = CloseNumbers()
    if ">>> " in code:
        example = doctest.DocTestParser().get_doctest(code, {}, "README", "README.md", 0)
        report = io.StringIO()
        doctest.DocTestRunner(checker).run(example, out=report.write)
        assert not report.getvalue(), report.getvalue()
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert output is not None, "show what the example prints, in a block right after it"
    assert checker.check_output(output, printed.getvalue(), 0), printed.getvalue()


def test_readme_has_an_example():
    assert list(examples())


def test_readme_links_to_files_that_exist():
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|src=\"([^\"]+)\"", README)
    local = [a or b for a, b in targets if "://" not in (a or b)]
    assert [target for target in local if not (ROOT / target).exists()] == []
    # Code hosts do not know the roles and directives of Sphinx.
    assert [target for target in local if target.partition("#")[0].endswith(".rst")] == []


def command_lines():
    """The text after `python -m benchmarks_uci` in each command of the README and the pages."""
    text = re.sub(r"\\\n\s*", "", README + PAGES)  # commands of several lines
    found = re.findall(r"python -m benchmarks_uci *([^`\n]*)", text)
    return sorted({re.sub(r"\s*(?:> .*|#.*)$", "", line) for line in found})


@pytest.mark.parametrize("line", command_lines())
def test_commands_that_are_shown_have_valid_names_options_and_values(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line.replace("cuda", "cpu"))
    if "--help" in words or "deltauq,ridge" in words:  # ridge is a method of the reader
        return
    if not words or words[0].startswith("-"):
        words = ["run", *words]
    for i, word in enumerate(words):  # files and folders of the reader
        if words[i - 1] in ("--data-dir", "--known"):
            (tmp_path / word).mkdir(parents=True, exist_ok=True)
        if words[i - 1] == "--out":
            (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
    command = cli
    while isinstance(command, click.Group):  # such as: classification shift run
        command = command.get_command(click.Context(command), words.pop(0))
    command.make_context("command", words)  # raises an error for a wrong option or value


@pytest.mark.parametrize("text", [README, BENCHMARK], ids=["README", "page"])
def test_options_named_in_the_text_exist(text):
    options = {o for parameters in PARAMETERS.values() for p in parameters for o in p.opts}
    named = set(re.findall(r"`(--[a-z][a-z-]*)", text))
    assert named
    assert named <= options


def test_benchmark_page_defines_every_score_and_exit_status():
    defined = {
        name
        for names in re.findall(r"^(``.*``)$", BENCHMARK, re.M)
        for name in names[2:-2].split("``, ``")
    }
    assert defined >= STUDY.metrics.keys()
    assert defined >= STUDY.protocols.keys()
    statuses = {int(number) for number in re.findall(r"^   \* - (\d+)$", BENCHMARK, re.MULTILINE)}
    assert statuses == {0, 1, 2, common.UNAVAILABLE, common.CORRUPT, run.INTERRUPTED}


def test_readme_names_all_data_sets_and_protocols_of_the_benchmark():
    section = README.partition("## Benchmark")[2].partition("\n## ")[0]
    assert [name for name in [*SETS, *STUDY.protocols] if name not in section] == []


@pytest.mark.long
def test_tables_need_only_the_packages_of_the_documentation():
    """The stage `docs` makes the tables too, with all packages."""
    code = """
import sys
for name in ("openml", "distributed", "ngboost"):
    sys.modules[name] = None  # importing it is an ImportError from here on
sys.path.insert(0, "docs")
from tables import TABLES
print("\\0".join(make() for make in TABLES.values()))
"""
    command = [sys.executable, "-X", "utf8", "-c", code]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert all(part.strip() for part in done.stdout.decode("utf-8").split("\0"))


@pytest.fixture(scope="module")
def tables():
    """All tables; tables that no test reads are empty, because some take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        from tables import TABLES
    read = {"sets", "methods", "ablations", *(f"preset {name}" for name in STUDY.presets)}
    return {name: make().strip() if name in read else "" for name, make in TABLES.items()}


def list_arguments(directive):
    """List the arguments of a directive on all pages, in reStructuredText or MyST Markdown."""
    pattern = rf"^(?:\.\. {directive}::|`{{3}}\{{{directive}\}}) (.+)$"
    return sorted(re.findall(pattern, PAGES, re.MULTILINE))


def test_pages_show_every_table(tables):
    assert list_arguments("benchmark-table") == sorted(tables)


def test_pages_report_all_committed_results():
    """Results of the earlier version are shown only if this version has none of that name."""
    results = ROOT / "benchmarks_uci" / "results"
    names = {path.stem for path in results.glob("*.csv")}
    earlier = {path.stem for path in (results / "earlier-version").glob("*.csv")} - names
    assert list_arguments("benchmark-report") == sorted(
        [*names, *(f"earlier-version/{name}" for name in earlier)]
    )


def test_tables_list_every_set_and_method(tables):
    rows = {line.split("|")[1].strip(): line for line in tables["sets"].splitlines()[2:]}
    assert [*rows] == [f"`{name}`" for name in SETS]
    for name, spec in SETS.items():
        cells = [cell.strip() for cell in rows[f"`{name}`"].split("|")]
        assert {f"{spec.n_rows:,}", spec.licence} <= {*cells}
        assert ("embedded" in cells) == (name in EMBEDDED)
    for name, method in STUDY.methods.items():
        title = f"{method.title[0].upper()}{method.title[1:]}"
        assert f"- `{name}`: {title}. {method.description}" in tables["methods"]
    for name, method in STUDY.variants.items():
        assert f"| `{name}` " in tables["ablations"]
        assert method.title in tables["ablations"]


def test_tables_of_the_presets_show_changed_parameters(tables):
    default, paper, refined = (tables[f"preset {name}"].splitlines() for name in STUDY.presets)
    assert len(default) == len(paper) == len(refined) == 2 + len(STUDY.methods)
    assert [line.split()[3] for line in default if "| `deltauq` " in line] == [
        "`DeltaUQRegressor()`"
    ]
    [row] = [line for line in paper if "| `deltauq` " in line]
    small = "`DeltaUQRegressor(embedding=None, hidden_layer_sizes=(50,))`"
    assert f"{small}; above 30,000 training rows `DeltaUQRegressor(" in row
    [row] = [line for line in refined if "| `deepensemble` " in line]
    assert "`DeepEnsembleRegressor(refine_mean=True)`" in row


def test_reports_of_committed_results_are_markdown(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(ROOT / "docs")
    from reports import report

    text, sources_of_report = report("hl90-refined", tmp_path / "plots")
    assert text.startswith("## hl90, preset refined\n")
    assert "](plots/hl90-refined-calibration.svg)" in text
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == [
        "hl90-refined-calibration.svg",
        "hl90-refined-ranks.svg",
    ]
    assert [path.suffix for path in sources_of_report] == [".csv", ".json"]
