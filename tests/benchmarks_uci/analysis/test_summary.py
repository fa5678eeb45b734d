import math

import numpy as np
import pytest

from benchmarks_uci.analysis.summary import rank, summarise
from benchmarks_uci.regression.metrics import METRICS
from tests.benchmarks_uci.analysis._helpers import failed, make_run, record, records

NLL = METRICS["nll"]


def summary(found, metric=NLL):
    return summarise(make_run(found), metric)


def summary_of(nll_by_method, data=("boston", "wine")):
    """Methods with one split per set; `nll_by_method[method][i]` on the i-th set."""
    return summary(
        [
            record(name, method, 0, values[i])
            for method, values in nll_by_method.items()
            for i, name in enumerate(data)
        ]
    )


def best(found):
    return {*found.index[found["best"]]}


def test_mean_and_standard_error():
    cell = summary([record(split=i, nll=nll) for i, nll in enumerate((1.0, 2.0, 4.0))]).iloc[0]
    assert cell["mean"] == pytest.approx(7 / 3)
    # The sample variance of (1, 2, 4) is 7/3.
    assert cell["error"] == pytest.approx(math.sqrt(7 / 9))
    assert (cell["n"], cell["n_splits"], cell["complete"]) == (3, 3, True)
    assert math.isnan(summary([record()]).iloc[0]["error"])


def test_failed_task_is_not_averaged_away():
    found = summary([record(nll=1.0), failed(split=1), record(method="pbp", split=1)])
    cell = found.loc["boston", "deltauq"]
    assert cell[["mean", "n", "n_run", "n_failed", "n_splits"]].tolist() == [1, 1, 2, 1, 2]
    assert not cell["complete"]
    assert rank(found).empty
    assert best(found) == set()


def test_method_that_was_not_run_on_a_set_has_no_splits():
    found = summary([record(), record("wine", "pbp")])
    assert [*found.index] == [(d, m) for d in ("boston", "wine") for m in ("deltauq", "pbp")]
    cell = found.loc["wine", "deltauq"]
    assert cell[["n", "n_run", "n_failed", "n_splits"]].tolist() == [0, 0, 0, 1]
    assert math.isnan(cell["mean"])


def test_best_is_the_lowest_of_two_or_more():
    found = summary_of({"deltauq": [1, 2], "pbp": [0.5, 2], "bnn": [3, 3]})
    assert best(found) == {("boston", "pbp"), ("wine", "deltauq"), ("wine", "pbp")}
    assert best(summary_of({"deltauq": [1, 2]})) == set()


@pytest.mark.parametrize(
    ("metric", "better", "worse"),
    [("coverage", 0.91, 0.8), ("coverage", 0.88, 0.99), ("std_error_correlation", 0.7, 0.1)],
)
def test_best_depends_on_the_metric(metric, better, worse):
    found = [record(**{metric: worse}), record(method="pbp", **{metric: better})]
    assert best(summary(found, METRICS[metric])) == {("boston", "pbp")}


def test_nothing_is_best_if_no_value_is_better():
    found = summary(records(), METRICS["width"])
    assert best(found) == set()
    assert rank(found).empty


def test_infinite_score_is_the_worst():
    found = summary_of({"deltauq": [math.inf], "pbp": [5.0]}, data=["boston"])
    assert best(found) == {("boston", "pbp")}
    assert rank(found).loc["boston"].to_dict() == {"deltauq": 2, "pbp": 1}


def test_fractions_that_are_equal_share_a_rank():
    # 0.9 - 0.8 and 1.0 - 0.9 differ in binary.
    found = [record(coverage=0.8), record(method="pbp", coverage=1.0)]
    assert rank(summary(found, METRICS["coverage"])).loc["boston"].tolist() == [1.5, 1.5]


def test_ranks_are_those_of_counting_pairs():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, size=(5, 2)).astype(float)  # (method, set), with ties
    names = [f"m{i}" for i in range(5)]
    found = rank(summary_of(dict(zip(names, scores, strict=True))))
    for j, data in enumerate(("boston", "wine")):
        for i, name in enumerate(names):
            lower = np.sum(scores[:, j] < scores[i, j])
            ties = np.sum(scores[:, j] == scores[i, j]) - 1
            assert found.loc[data, name] == 1 + lower + ties / 2


def test_only_methods_on_all_sets_are_ranked():
    found = [
        *(record(data, method, 0, nll) for data in ("boston", "wine") for method, nll in
          (("deltauq", 2.0), ("pbp", 1.0))),
        record("boston", "gp", 0, 0.0),
    ]  # fmt: skip
    assert rank(summary(found)).mean().to_dict() == {"deltauq": 2, "pbp": 1}


def test_one_method_alone_is_not_ranked():
    assert rank(summary_of({"deltauq": [1, 2]})).empty
