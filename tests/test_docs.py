"""The README and the pages say what is so: examples run, and what they name is there."""

import contextlib
import doctest
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks_uci.__main__ import cli
from benchmarks_uci.commands import run, sources
from benchmarks_uci.datasets import EMBEDDED, SETS
from benchmarks_uci.methods import METHODS
from benchmarks_uci.protocols import PROTOCOLS
from benchmarks_uci.report.metrics import METRICS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BENCHMARK = (ROOT / "docs" / "benchmark.rst").read_text(encoding="utf-8")
# The pages that show results, among others
PAGES = "".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs").glob("*.rst")))
NUMBER = r"-?\d+\.?\d*(?:e[+-]?\d+)?"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class NumbersNearby(doctest.OutputChecker):
    """The same words and spaces aside, the same numbers to 2 %: another CPU rounds otherwise."""

    def check_output(self, want, got, optionflags):
        # Spaces go, and a number may start or end in one, so compare what is between the numbers.
        same_text = [re.sub(NUMBER, "#", text).split() for text in (want, got)]
        numbers = [np.array(re.findall(NUMBER, text), dtype=float) for text in (want, got)]
        return (
            "".join(same_text[0]) == "".join(same_text[1])
            and numbers[0].shape == numbers[1].shape
            and np.allclose(*numbers, rtol=0.02)
        )


def examples():
    """Pairs (Python code, its printed output or None)."""
    blocks = list(FENCE.finditer(README))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] == "python":
            adjacent = following and not README[block.end() : following.start()].strip()
            output = following[2] if adjacent and following[1] in ("", "text") else None
            yield block[2], output


@pytest.mark.parametrize(("code", "output"), list(examples()))
def test_readme_example_prints_what_it_says(code, output):
    checker = NumbersNearby()
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


def command_lines():
    """What follows `python -m benchmarks_uci` on a line of the README or the pages."""
    found = re.findall(r"python -m benchmarks_uci *([^`\n]*)", README + PAGES)
    return sorted(set(found))


@pytest.mark.parametrize("line", command_lines())
def test_commands_and_options_that_are_shown_exist(line):
    words = line.split()
    name = words[0] if words and not words[0].startswith("-") else "run"
    options = {o for parameter in cli.commands[name].params for o in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options | {"--help"}


@pytest.mark.parametrize("text", [README, BENCHMARK], ids=["README", "page"])
def test_options_named_in_the_text_exist(text):
    options = {o for c in cli.commands.values() for p in c.params for o in p.opts}
    named = set(re.findall(r"`(--[a-z][a-z-]*)", text))
    assert named
    assert named <= options


def test_benchmark_page_defines_every_score_and_exit_status():
    defined = {
        name
        for names in re.findall(r"^(``.*``)$", BENCHMARK, re.M)
        for name in names[2:-2].split("``, ``")
    }
    assert defined >= METRICS.keys()
    assert defined >= PROTOCOLS.keys()
    statuses = {int(number) for number in re.findall(r"^   \* - (\d+)$", BENCHMARK, re.MULTILINE)}
    assert statuses == {0, 1, 2, sources.UNAVAILABLE, sources.CORRUPT, run.INTERRUPTED}


def test_readme_names_what_the_benchmark_has():
    section = README.partition("## Benchmark")[2].partition("\n## ")[0]
    assert [name for name in [*SETS, *PROTOCOLS] if name not in section] == []


@pytest.fixture(scope="module")
def tables():
    """All tables of the pages, made where only what the documentation needs is installed."""
    code = """
import sys
for name in ("openml", "distributed", "ngboost"):
    sys.modules[name] = None  # from here on, to import it is an ImportError
sys.path.insert(0, "docs")
from tables import TABLES
print("\\0".join(f"{name}\\0{make()}" for name, make in TABLES.items()))
"""
    command = [sys.executable, "-X", "utf8", "-c", code]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr.decode()
    parts = done.stdout.decode("utf-8").split("\0")
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_pages_show_every_table(tables):
    shown = re.findall(r"^\.\. benchmark-table:: (.+)$", PAGES, re.MULTILINE)
    assert sorted(shown) == sorted(tables)


def test_pages_report_all_results_that_are_committed():
    shown = re.findall(r"^\.\. benchmark-report:: (.+)$", PAGES, re.MULTILINE)
    committed = (ROOT / "benchmarks_uci" / "results").glob("*.csv")
    assert sorted(shown) == sorted(path.stem for path in committed)


def test_tables_list_every_set_and_method(tables):
    for name, spec in SETS.items():
        row = tables["sets"].partition(f"* - ``{name}``\n")[2].partition("* - ")[0]
        assert f"- {spec.n_rows:,}\n" in row
        assert f"- {spec.licence}\n" in row
        assert ("embedded" in row) == (name in EMBEDDED)
    for name, method in METHODS.items():
        assert f"``{name}``\n   {method.title[0].upper()}" in tables["methods"]
        assert method.description in tables["methods"]
    paper = tables["preset paper"]
    small = "``DeltaUQRegressor(embedding=None, hidden_layer_sizes=(50,))``"
    assert f"{small}; above 30,000 training rows ``" in paper
