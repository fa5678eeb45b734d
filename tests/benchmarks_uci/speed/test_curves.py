import json
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks_uci.speed import curves


def test_curves_survive_json():
    found = curves.measure(quick=True)
    assert [curve.varied for curve in found] == list(curves.QUICK_VALUES)
    for curve in found:
        assert len(curve.values) == len(curve.fit) == len(curve.predict) == 2
        assert min(curve.fit + curve.predict) > 0
    written = json.loads(json.dumps([asdict(curve) for curve in found]))
    assert [curves.Curve(**entry) for entry in written] == found


def test_every_curve_includes_the_base_case():
    for values, base in (
        (curves.VALUES, curves.BASE),
        (curves.QUICK_VALUES, curves.QUICK_BASE),
    ):
        assert values.keys() <= base.keys() == curves.TITLES.keys()
        assert all(base[varied] in of_varied for varied, of_varied in values.items())


def test_plot_has_one_panel_per_curve():
    pytest.importorskip("matplotlib")
    found = [
        curves.Curve("n_rows", [10, 100], [1.0, 5.0], [0.1, 1.0]),
        curves.Curve("width", [4, 8, 16], [1.0, 1.5, 2.0], [0.1, 0.2, 0.4]),
    ]
    figure = curves.plot(found)
    assert [axis.get_xlabel() for axis in figure.axes] == ["rows (n)", curves.TITLES["width"]]
    fit, predict, proportional = (
        np.asarray(line.get_ydata()).tolist() for line in figure.axes[1].lines
    )
    assert (fit, predict) == (found[1].fit, found[1].predict)
    assert proportional == pytest.approx([0.1, 0.2, 0.4])
