import numpy as np
import pytest
from benchmarks_uci.report import compact, metrics, plots
from tests.benchmarks_uci.analysis._helpers import failed, record, records

from benchmarks_uci import scores

pytest.importorskip("matplotlib")


def test_calibration_plot_shows_the_mean_of_the_splits():
    low, high = [0.1] * 19, [0.3] * 19
    found = [
        record(quantile_frequencies=low),
        record(split=1, quantile_frequencies=high),
        failed(split=2),
        record("wine", "pbp"),
    ]
    figure = plots.calibration_plot(found)
    boston, wine = (axis for axis in figure.axes if axis.axison)
    assert [axis.get_title() for axis in (boston, wine)] == ["boston", "wine"]
    diagonal, curve = boston.lines
    assert curve.get_label() == "deltauq"
    np.testing.assert_allclose(curve.get_ydata(), 0.2)
    np.testing.assert_allclose(curve.get_xdata(), np.linspace(0.05, 0.95, 19))
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    [legend] = figure.legends
    assert [text.get_text() for text in legend.texts] == ["deltauq", "pbp"]


def test_levels_and_coverage_are_those_that_were_scored():
    # Written twice, as reading results does without the package.
    np.testing.assert_array_equal(plots.LEVELS, scores.LEVELS)
    assert metrics.COVERAGE == scores.COVERAGE
    measured = {*scores.NAMES, "fit_seconds", "predict_seconds"}
    assert {*metrics.METRICS} == {*compact.FLOATS} == measured


def test_panels_without_a_set_are_off():
    data = ("boston", "concrete", "energy", "wine")
    figure = plots.calibration_plot(records(data, n_splits=1))
    assert [axis.axison for axis in figure.axes] == [True] * 4 + [False] * 2


def test_rank_plot_is_sorted_best_on_top():
    figure = plots.rank_plot(records())
    [axis] = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "pbp",
        "mcdropout",
        "deltauq",
    ]
    averages = [line.get_xdata()[0] for line in axis.lines]
    assert averages == [3, 2, 1]


def test_nothing_to_plot():
    assert plots.calibration_plot([failed()]) is None
    assert plots.rank_plot(records(methods=("deltauq",))) is None


def test_every_method_has_its_own_style():
    names = ["deltauq", *(f"m{i}" for i in range(25))]
    styles = plots._styles(names)
    assert len({(s["color"], s.get("linestyle")) for s in styles.values()}) == len(names)
