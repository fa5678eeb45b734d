import dataclasses
import json
import re
import shutil
import subprocess
import warnings

import numpy as np
import pytest

import sk_deltauq
from benchmarks_uci.engine import execute
from benchmarks_uci.engine.study import Method, Task
from benchmarks_uci.regression import scores
from benchmarks_uci.regression.external import MarginalGaussian
from benchmarks_uci.regression.methods import METHODS
from benchmarks_uci.regression.protocols import PROTOCOLS
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci._helpers import toy_dataset

MEASURED = (*STUDY.metrics, "quantile_frequencies")
SECONDS = {"fit_seconds", "predict_seconds"}


def run_task(task, dataset):
    return execute.run_task(STUDY, task, dataset)


@pytest.fixture
def method(monkeypatch):
    """Add a method by a function of its seed, and get a task of it."""

    def add(make, **fields):
        made = Method("new", "new", "", "", lambda preset, n_rows, seed: make(seed), **fields)
        monkeypatch.setitem(METHODS, "new", made)
        return Task("random80", "default", "toy", "new", 3)

    return add


def quick(seed):
    return sk_deltauq.DeltaUQRegressor(hidden_layer_sizes=5, max_iter=3, random_state=seed)


def without_seconds(record):
    return {key: value for key, value in record.items() if key not in SECONDS}


def test_record_describes_the_run_and_is_json():
    dataset = toy_dataset()
    record = run_task(Task("gap", "default", "toy", "marginal", 1), dataset)
    split = PROTOCOLS["gap"].splits(dataset)[1]
    expected = {
        **{"protocol": "gap", "preset": "default", "data": "toy", "method": "marginal"},
        **{"split": 1, "split_name": "feature x1", "status": "done", "error": ""},
        **{"n_train": 40, "n_test": 20, "n_features": 3, "warnings": []},
        "settings": {"class": "MarginalGaussian"},
        "data_hash": dataset.content_hash[:12],
        "split_hash": split.hash(dataset),
        "source": "made for a test",
    }
    assert {key: record[key] for key in expected} == expected
    assert {*expected, *MEASURED, "settings_id", "versions", "machine"} == {*record}
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["versions"]["sk_deltauq"] == sk_deltauq.__version__
    assert record["versions"]["scikit-learn"].count(".") >= 1
    assert record["machine"]["cores"] >= 1
    assert all(isinstance(record[name], float) for name in STUDY.metrics)


def test_scores_measure_the_model_on_the_test_rows():
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
def test_errors_that_no_method_causes_are_raised(method, error):
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


def test_failure_outside_the_task_has_the_fields_of_a_record():
    task, dataset = Task("random80", "default", "toy", "marginal", 1), toy_dataset()
    record, failed = (
        run_task(task, dataset),
        execute.make_failure(STUDY, task, dataset, "It died."),
    )
    assert [*failed] == [*record]
    assert (failed["status"], failed["error"]) == ("failed", "It died.")
    assert [name for name in MEASURED if failed[name] is not None] == []
    for name in ("settings_id", "split_hash", "n_train"):
        assert failed[name] == record[name]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (Task("hl90", "default", "toy", "marginal", 0), "are in another order"),
        (Task("gap", "default", "toy", "marginal", 3), "IndexError"),
        (Task("random80", "papr", "toy", "marginal", 0), "one of default, paper"),
    ],
)
def test_impossible_task_is_a_record_too(task, text):
    record = run_task(task, toy_dataset(in_original_order=False))
    assert record["status"] == "failed"
    assert text in record["error"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_of_a_checkout_is_found(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True)

    assert execute.find_commit(tmp_path) == {}
    (tmp_path / "file").write_text("one")
    git("init")
    assert execute.find_commit(tmp_path) == {}  # no commit yet
    git("add", "file")
    git("commit", "-m", "first")
    clean = execute.find_commit(tmp_path)["commit"]
    assert re.fullmatch("[0-9a-f]{7,40}", clean)
    (tmp_path / "file").write_text("two")
    assert execute.find_commit(tmp_path) == {"commit": f"{clean}-dirty"}
