"""The code of docs/works_with.rst runs as printed."""

import os
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

from sk_deltauq import DeltaUQRegressor

PAGE = Path(__file__).parents[2] / "docs" / "works_with.rst"

# The module to import for the section of each package
MODULES = {
    "mapie": "mapie",
    "crepes": "crepes",
    "skpro": "skpro",
    "scoringrules": "scoringrules",
    "scikit-optimize": "skopt",
    "optuna": "optuna",
    "scikit-activeml": "skactiveml",
    "skrub": "skrub",
    "polars": "polars",
    "dask": "distributed",
    "dask-ml": "dask_ml.wrappers",
    "shap": "shap",
    "captum": "captum.attr",
    "skops": "skops.io",
    "mlflow": "mlflow",
    "onnx runtime": "onnxruntime",
}


@cache
def read_blocks():
    """Pairs (title of the section, code), in the order of the page."""
    pattern = r"^(?P<title>.+)\n[=~-]{3,}$|^\.\. code-block:: python\n\n(?P<code>(?:   .*\n|\n)+)"
    title, blocks = None, []
    for match in re.finditer(pattern, PAGE.read_text("utf-8"), re.MULTILINE):
        title = match["title"] or title
        if match["code"]:
            blocks.append((title.lower(), textwrap.dedent(match["code"])))
    return blocks


@pytest.fixture(scope="module")
def prepared():
    """The names that the first block of the page defines."""
    names = {}
    exec(read_blocks()[0][1], names)
    assert isinstance(names["model"], DeltaUQRegressor)
    return names


@pytest.mark.parametrize(("title", "code"), [pytest.param(*b, id=b[0]) for b in read_blocks()[1:]])
# The packages warn about their own internals, as in their own tests here.
@pytest.mark.filterwarnings(
    "ignore:.*Any type hint is inferred:UserWarning",
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
)
def test_block(prepared, title, code, tmp_path, monkeypatch):
    pytest.importorskip(MODULES[title])
    if title == "dask" and os.environ.get("WORKS_WITH") != "required":
        pytest.skip("it starts processes; make works-with runs it")
    monkeypatch.chdir(tmp_path)  # some blocks write files
    exec(code, dict(prepared))
