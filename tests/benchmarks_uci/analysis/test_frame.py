import math

import numpy as np
import pytest

from benchmarks_uci.analysis.frame import make_frame, rank, split_runs, summarise
from benchmarks_uci.engine.records import ResultsError
from benchmarks_uci.regression.metrics import METRICS
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, make_run, record, records


def test_frame_has_a_row_per_task_and_score():
    found = records()
    frame = make_frame(found, STUDY)
    assert len(frame) == len(found) * len(STUDY.metrics)
    keys = ["protocol", "preset", "data", "method", "split", "score"]
    values = frame.astype({"method": str}).set_index(keys)["value"].to_dict()
    for one in found:
        for score in STUDY.metrics:
            assert values[(*(one[key] for key in keys[:-1]), score)] == one[score]


def test_failed_task_has_missing_values():
    frame = make_frame([record(), failed(split=1)], STUDY)
    assert frame.groupby("split")["failed"].unique().map(list).to_dict() == {0: [False], 1: [True]}
    assert frame.groupby("split")["value"].count().to_dict() == {0: len(STUDY.metrics), 1: 0}


def test_methods_are_in_the_order_of_the_study():
    names = ("unknown", "pbp", "deltauq-k10", "marginal", "deltauq", "deltauq-k2", "deltauq-5")
    [(_, run)] = split_runs(make_frame([record(method=name) for name in names], STUDY))
    assert [*run["method"].cat.categories] == [
        *("deltauq-5", "deltauq", "marginal", "pbp", "deltauq-k2", "deltauq-k10", "unknown")
    ]


def test_runs_are_separated():
    both = make_frame([*records(), *records(protocol="gap", methods=("pbp",))], STUDY)
    runs = dict(split_runs(both))
    assert [*runs] == [("gap", "paper"), ("random80", "paper")]
    assert [*runs["gap", "paper"]["method"].cat.categories] == ["pbp"]
    assert sum(map(len, runs.values())) == len(both)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            record(split=1, settings_id="other"),
            ["random80/paper/boston/deltauq (protocol, preset, data, method)", "other (1 tasks)"],
        ),
        (record(method="pbp", data_hash="other"), ["boston (data)", "`data_hash`"]),
        (record(method="pbp", split_hash="other"), ["random80/boston/0", "the same rows"]),
        (record(), ["more than one record: random80/paper/boston/deltauq/0."]),
    ],
)
def test_records_of_different_experiments_are_an_error(other, words):
    with pytest.raises(ResultsError) as error:
        make_frame([record(), other], STUDY)
    assert [word for word in words if word not in str(error.value)] == []


def test_settings_may_differ_between_sets_and_presets():
    found = [
        record(),
        record(data="wine", settings_id="other"),
        record(preset="default", settings_id="third"),
    ]
    assert len(make_frame(found, STUDY)) == 3 * len(STUDY.metrics)


def test_task_that_failed_early_has_no_settings_to_compare():
    early = failed(split=1, settings=None, settings_id=None, split_hash=None)
    assert len(make_frame([record(), early], STUDY)) == 2 * len(STUDY.metrics)


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


def test_ranks_equal_counts_of_pairs():
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
