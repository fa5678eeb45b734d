"""Examples of the gallery are short, and their figures have titles. `make docs` runs them."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def test_the_gallery_runs_every_file():
    assert len(EXAMPLES) >= 6
    assert [path.name for path in EXAMPLES if not path.name.startswith("plot_")] == []


@every_example
def test_example_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 120


@every_example
def test_example_says_what_to_conclude(path):
    text = path.read_text(encoding="utf-8")
    title, line, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert "# What to conclude\n" in text


@every_example
def test_every_figure_has_a_title_which_becomes_its_alternative_text(path):
    text = path.read_text(encoding="utf-8")
    for cell in text.split("# %%"):
        if "plt.show()" in cell:
            assert "title" in cell
