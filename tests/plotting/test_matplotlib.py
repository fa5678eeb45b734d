import sys

import pytest
from matplotlib.figure import Figure

from sk_deltauq.plotting import RiskCoverageDisplay, UncertaintyPartsDisplay
from sk_deltauq.plotting._matplotlib import merge_area_style, merge_line_style


def test_only_plot_needs_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = RiskCoverageDisplay([0.5, 1.0], [1.0, 2.0])
    with pytest.raises(ImportError, match=r"RiskCoverageDisplay.plot .*'sk-deltauq\[plotting\]'"):
        display.plot()


def test_plot_draws_on_given_axes():
    ax = Figure().subplots()
    display = UncertaintyPartsDisplay.from_predictions([1.0], [2.0], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_given_style_replaces_defaults_by_any_alias():
    assert merge_line_style({"color": "red", "marker": "."}, {"c": "blue"}) == {
        "color": "blue",
        "marker": ".",
    }
    assert merge_line_style({"color": "red"}, None) == {"color": "red"}
    assert merge_area_style({"color": "red"}, {"color": "blue"})["color"] == "blue"
