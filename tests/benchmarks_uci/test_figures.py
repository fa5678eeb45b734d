import sys

import pytest

from benchmarks_uci import figures

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("fmt", figures.FORMATS)
def test_same_lines_give_same_bytes(fmt):
    def drawn():
        figure = figures.make_figure(2, 2)
        figure.subplots().plot([1, 2], label="line")
        figure.legend()
        return figures.as_bytes(figure, fmt)

    first = drawn()
    assert first == drawn()
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[fmt])


def test_missing_matplotlib_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'sk-deltauq\[plotting\]'"):
        figures.make_figure(2, 2)
