import numpy as np
import pytest

from benchmarks_uci.analysis import plots
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, make_run, record, records

pytest.importorskip("matplotlib")


def plot_calibration(found):
    return plots.plot_curve(found, STUDY, "quantile_frequencies")


def plot_ranks(found):
    return plots.plot_ranks(make_run(found), STUDY, "nll")


def test_calibration_plot_shows_the_mean_of_the_splits():
    low, high = [0.1] * 19, [0.3] * 19
    found = [
        record(quantile_frequencies=low),
        record(split=1, quantile_frequencies=high),
        failed(split=2),
        record("wine", "pbp"),
    ]
    figure = plot_calibration(found)
    boston, wine = (axis for axis in figure.axes if axis.axison)
    assert [axis.get_title() for axis in (boston, wine)] == ["boston", "wine"]
    diagonal, curve = boston.lines
    np.testing.assert_allclose(curve.get_ydata(), 0.2)
    np.testing.assert_allclose(curve.get_xdata(), np.linspace(0.05, 0.95, 19))
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    [legend] = figure.legends
    assert [text.get_text() for text in legend.texts] == ["deltauq", "pbp"]


def test_panels_without_a_set_are_hidden():
    data = ("boston", "concrete", "energy", "wine")
    figure = plot_calibration(records(data, n_splits=1))
    assert [axis.axison for axis in figure.axes] == [True] * 4 + [False] * 2


def test_rank_plot_has_the_best_on_top():
    figure = plot_ranks(records())
    [axis] = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "pbp",
        "mcdropout",
        "deltauq",
    ]
    averages = [line.get_xdata()[0] for line in axis.lines]
    assert averages == [3, 2, 1]


def test_nothing_to_plot():
    assert plot_calibration([failed()]) is None
    assert plot_ranks(records(methods=("deltauq",))) is None


def test_every_method_has_its_own_style():
    names = ["deltauq", *(f"m{i}" for i in range(25))]
    styles = plots._style(names, STUDY)
    assert len({(s["color"], s.get("linestyle")) for s in styles.values()}) == len(names)
