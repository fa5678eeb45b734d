import dataclasses
import json
import warnings

import numpy as np
import pytest

import sk_deltauq
from benchmarks_uci import methods, scores, tasks
from benchmarks_uci.methods import Method
from benchmarks_uci.methods.rivals import MarginalGaussian
from benchmarks_uci.protocols import PROTOCOLS, split_hash
from benchmarks_uci.tasks import Task, plan, run_task
from tests.benchmarks_uci._helpers import toy_dataset

MEASURED = (*scores.NAMES, "fit_seconds", "predict_seconds", "quantile_frequencies")
SECONDS = {"fit_seconds", "predict_seconds"}


@pytest.fixture
def method(monkeypatch):
    """Add a method by a function of its seed, and get a task of it."""

    def add(make, **fields):
        made = Method("new", "new", "", "", lambda preset, n_rows, seed: make(seed), **fields)
        monkeypatch.setitem(methods.ALL, "new", made)
        return Task("random80", "default", "toy", "new", 3)

    return add


def quick(seed):
    return sk_deltauq.DeltaUQRegressor(5, max_iter=3, random_state=seed)


def without_seconds(record):
    return {key: value for key, value in record.items() if key not in SECONDS}


def test_record_says_what_was_run_and_is_json():
    dataset = toy_dataset()
    record = run_task(Task("gap", "default", "toy", "marginal", 1), dataset)
    split = PROTOCOLS["gap"].splits(dataset)[1]
    expected = {
        **{"protocol": "gap", "preset": "default", "data": "toy", "method": "marginal"},
        **{"split": 1, "split_name": "feature x1", "status": "done", "error": ""},
        **{"n_train": 40, "n_test": 20, "n_features": 3, "warnings": []},
        "settings": {"class": "MarginalGaussian"},
        "data_hash": dataset.content_hash,
        "split_hash": split_hash(split, dataset),
        "source": "made for a test",
    }
    assert {key: record[key] for key in expected} == expected
    assert {*expected, *MEASURED, "settings_id", "versions", "machine"} == {*record}
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["versions"]["sk_deltauq"] == sk_deltauq.__version__
    assert record["versions"]["scikit-learn"].count(".") >= 1
    assert record["machine"]["cores"] >= 1
    assert all(isinstance(record[name], float) for name in (*scores.NAMES, *SECONDS))


def test_scores_are_those_of_the_model_on_the_test_rows():
    dataset = toy_dataset()
    split = PROTOCOLS["random80"].splits(dataset)[2]
    model = MarginalGaussian().fit(dataset.X[split.train], dataset.y[split.train])
    found = run_task(Task("random80", "paper", "toy", "marginal", 2), dataset)
    X, y = dataset.X[split.test], dataset.y[split.test]
    expected = scores.score(y, *model.predict(X, return_std=True), model.predict_dist(X))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.usefixtures("global_state_is_kept")
def test_task_is_a_pure_function(method):
    task, dataset = method(quick), toy_dataset()
    other = dataclasses.replace(task, split=1)
    first, second, again = (run_task(t, dataset) for t in (task, other, task))
    assert without_seconds(first) == without_seconds(again)
    assert first["nll"] != second["nll"]
    assert first["settings_id"] == second["settings_id"]
    assert "max_iter=3" in first["warnings"][0]
    assert first["status"] == "done"
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.split = 1


def test_method_sees_the_training_rows_alone(method):
    seen = {}

    class Spy(MarginalGaussian):
        def fit(self, X, y):
            seen["X"], seen["y"] = X, y
            return super().fit(X, y)

        def predict_dist(self, X):
            seen["tested"] = X
            return super().predict_dist(X)

    dataset = toy_dataset()
    run_task(method(lambda seed: Spy()), dataset)
    split = PROTOCOLS["random80"].splits(dataset)[3]
    assert np.array_equal(seen["X"], dataset.X[split.train])
    assert np.array_equal(seen["y"], dataset.y[split.train])
    assert np.array_equal(seen["tested"], dataset.X[split.test])


class Broken(MarginalGaussian):
    def __init__(self, error=None):
        self.error = error

    def fit(self, X, y):
        warnings.warn("about to break", stacklevel=1)
        raise self.error


def test_failure_is_a_record(method):
    record = run_task(method(lambda seed: Broken(ValueError("it diverged"))), toy_dataset())
    assert record["status"] == "failed"
    assert record["error"].startswith("Traceback")
    assert record["error"].endswith("ValueError: it diverged\n")
    assert record["warnings"] == ["about to break"]
    assert (record["n_train"], record["n_test"]) == (48, 12)
    assert [name for name in MEASURED if record[name] is not None] == []
    assert record["settings_id"]
    assert {*record} == {*run_task(method(lambda seed: MarginalGaussian()), toy_dataset())}


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, SystemExit])
def test_what_is_not_the_methods_own_goes_through(method, error):
    with pytest.raises(error):
        run_task(method(lambda seed: Broken(error())), toy_dataset())


def test_score_that_is_not_finite_is_a_failure(method):
    class Wide(MarginalGaussian):
        def fit(self, X, y):
            self.mean_, self.noise_std_ = 1e308, 1e-10
            return self

    record = run_task(method(lambda seed: Wide()), toy_dataset())
    assert record["status"] == "failed"
    assert "nll is inf" in record["error"]
    assert record["nll"] is None
    json.dumps(record, allow_nan=False)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (Task("hl90", "default", "toy", "marginal", 0), "stand in another order"),
        (Task("gap", "default", "toy", "marginal", 3), "IndexError"),
        (Task("random80", "papr", "toy", "marginal", 0), "one of default, paper"),
    ],
)
def test_task_that_cannot_be_is_a_record_too(task, text):
    record = run_task(task, toy_dataset(in_original_order=False))
    assert record["status"] == "failed"
    assert text in record["error"]


def test_settings_tell_methods_and_presets_apart():
    found = {}
    for name in ("mlp", "mlp-5", "deltauq", "deltauq-5"):
        for preset in methods.PRESETS:
            settings = methods.settings(methods.make(name, preset, 300, random_state=0))
            found[name, preset] = tasks.settings_id(settings)
    assert len(set(found.values())) == len(found)
    assert all(len(digits) == 12 and int(digits, 16) for digits in found.values())
    assert tasks.settings_id({"a": 1, "b": 2}) == tasks.settings_id({"b": 2, "a": 1})


def test_plan_is_all_combinations_in_order():
    datasets = {"one": toy_dataset(), "two": toy_dataset()}
    found, left_out = plan("random80", "paper", datasets, ["marginal", "deltauq"], 2)
    assert left_out == []
    assert len(set(found)) == 8
    assert [str(task) for task in found[:3]] == [
        "random80/paper/one/marginal/0",
        "random80/paper/one/marginal/1",
        "random80/paper/one/deltauq/0",
    ]
    assert len(plan("random80", "paper", datasets, ["marginal"])[0]) == 40
    assert len(plan("gap", "paper", datasets, ["marginal"], 20)[0]) == 6


def test_plan_names_what_it_leaves_out():
    datasets = {
        "large": toy_dataset(n_rows=2600),
        "sorted": toy_dataset(in_original_order=False),
    }
    found, left_out = plan("hl90", "default", datasets, ["marginal", "gp"], 1)
    assert found == [Task("hl90", "default", "large", "marginal", 0)]
    (gp, too_many), (other, order) = left_out
    assert (gp, other) == ("large gp", "sorted")
    assert "at most 2000 training rows" in too_many
    assert "another order" in order


def test_plan_leaves_out_a_set_without_splits():
    datasets = {"coarse": toy_dataset(X=np.arange(180).reshape(60, 3) % 2.0)}
    found, left_out = plan("gap", "default", datasets, ["marginal", "gp"])
    assert found == []
    assert [what for what, _ in left_out] == ["coarse"]
