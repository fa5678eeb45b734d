import math

import numpy as np
import pytest
from benchmarks_uci.report.cells import Cell, average_ranks, best, cells, ranks
from benchmarks_uci.report.metrics import METRICS
from tests.benchmarks_uci.analysis._helpers import failed, record, records

NLL = METRICS["nll"]


def found_with(nll_by_method, data=("boston", "wine")):
    """Cells of methods with one split a set; `nll_by_method[method][i]` on the i-th set."""
    found = [
        record(name, method, 0, values[i])
        for method, values in nll_by_method.items()
        for i, name in enumerate(data)
    ]
    return cells(found, NLL)


def test_mean_and_standard_error():
    cell = Cell((1.0, 2.0, 4.0), n_splits=3)
    assert cell.mean == pytest.approx(7 / 3)
    # Sample variance of (1, 2, 4) is 7/3
    assert cell.standard_error == pytest.approx(math.sqrt(7 / 9))
    assert cell.text(NLL) == "2.333 ± 0.882"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell((1.0,), n_splits=1), "1.000"),
        (Cell((1.0, 1.0), n_splits=3), "1.000 ± 0.000 (2/3)"),
        (Cell((1.0, 1.0), n_failed=1, n_splits=3), "1.000 ± 0.000 (2/3, 1 failed)"),
        (Cell((), n_failed=3, n_splits=3), "failed (3)"),
        (Cell((), n_splits=3), "-"),
    ],
)
def test_what_is_missing_is_marked(cell, text):
    assert cell.text(NLL) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0.000451, 0.000461), "0.000456 ± 0.000005"),
        ((12345.0, 12347.0), "12346 ± 1"),
        ((3.0, 4.0), "3.50 ± 0.50"),
    ],
)
def test_units_of_the_target_keep_three_digits(values, text):
    assert Cell(values, n_splits=2).text(METRICS["rmse"]) == text


def test_failed_task_is_not_averaged_away():
    found = cells([record(nll=1.0), failed(split=1), record(method="pbp", split=1)], NLL)
    cell = found["boston", "deltauq"]
    assert (cell.values, cell.n_failed, cell.n_splits) == ((1.0,), 1, 2)
    assert not cell.complete
    assert ranks(found, NLL) == {}
    assert best(found, NLL) == set()


def test_method_that_was_not_run_on_a_set_has_an_empty_cell():
    found = cells([record(), record("wine", "pbp")], NLL)
    assert found["wine", "deltauq"] == Cell((), n_splits=1)
    assert list(found) == [(d, m) for d in ("boston", "wine") for m in ("deltauq", "pbp")]


def test_best_is_the_lowest_of_two_or_more():
    found = found_with({"deltauq": [1, 2], "pbp": [0.5, 2], "bnn": [3, 3]})
    assert best(found, NLL) == {("boston", "pbp"), ("wine", "deltauq"), ("wine", "pbp")}
    assert best(found_with({"deltauq": [1, 2]}), NLL) == set()


@pytest.mark.parametrize(
    ("metric", "better", "worse"),
    [("coverage", 0.91, 0.8), ("coverage", 0.88, 0.99), ("std_error_correlation", 0.7, 0.1)],
)
def test_best_depends_on_the_metric(metric, better, worse):
    found = [record(**{metric: worse}), record(method="pbp", **{metric: better})]
    assert best(cells(found, METRICS[metric]), METRICS[metric]) == {("boston", "pbp")}


def test_nothing_is_best_where_no_value_is():
    found = cells(records(), METRICS["width"])
    assert best(found, METRICS["width"]) == set()
    assert ranks(found, METRICS["width"]) == {}


def test_score_that_is_not_a_number_is_the_worst():
    found = found_with({"deltauq": [math.nan], "pbp": [5.0]}, data=["boston"])
    assert best(found, NLL) == {("boston", "pbp")}
    assert average_ranks(found, NLL) == {"deltauq": 2, "pbp": 1}


def test_ranks_are_those_of_counting_pairs():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, size=(5, 2)).astype(float)  # (method, set), with ties
    names = [f"m{i}" for i in range(5)]
    found = ranks(found_with(dict(zip(names, scores, strict=True))), NLL)
    for j, data in enumerate(("boston", "wine")):
        for i, name in enumerate(names):
            lower = np.sum(scores[:, j] < scores[i, j])
            ties = np.sum(scores[:, j] == scores[i, j]) - 1
            assert found[name][data] == 1 + lower + ties / 2


def test_only_methods_on_all_sets_are_ranked():
    found = [
        *(record(data, method, 0, nll) for data in ("boston", "wine") for method, nll in
          (("deltauq", 2.0), ("pbp", 1.0))),
        record("boston", "gp", 0, 0.0),
    ]  # fmt: skip
    assert average_ranks(cells(found, NLL), NLL) == {"deltauq": 2, "pbp": 1}


def test_one_method_alone_is_not_ranked():
    assert ranks(found_with({"deltauq": [1, 2]}), NLL) == {}
