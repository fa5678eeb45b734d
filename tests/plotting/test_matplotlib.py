import sys

import pytest
from matplotlib.figure import Figure

from sk_deltauq.plotting import RiskCoverageDisplay, UncertaintyPartsDisplay
from sk_deltauq.plotting._matplotlib import merge_area_style, merge_line_style


def test_numbers_need_no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = RiskCoverageDisplay([0.5, 1.0], [1.0, 2.0])
    with pytest.raises(ImportError, match=r"RiskCoverageDisplay.plot .*'sk-deltauq\[plotting\]'"):
        display.plot()


def test_given_axes_are_drawn_on():
    ax = Figure().subplots()
    display = UncertaintyPartsDisplay.from_predictions([1.0], [2.0], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_given_style_wins_by_any_name():
    assert merge_line_style({"color": "red", "marker": "."}, {"c": "blue"}) == {
        "color": "blue",
        "marker": ".",
    }
    assert merge_line_style({"color": "red"}, None) == {"color": "red"}
    assert merge_area_style({"color": "red"}, {"color": "blue"})["color"] == "blue"
