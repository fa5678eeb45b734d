import importlib.util

import numpy as np
import pytest

from benchmarks_uci.engine.execute import run_task
from benchmarks_uci.engine.plan import explain_exclusion, find_finished, plan
from benchmarks_uci.engine.store import Store, StoreError
from benchmarks_uci.engine.study import Task
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci._helpers import toy_dataset

SMALL = {"small": toy_dataset(40, name="small")}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results", STUDY)


def test_plan_has_all_combinations_in_order():
    datasets = {"one": toy_dataset(), "two": toy_dataset()}
    found, left_out = plan(STUDY, "random80", "paper", datasets, ["marginal", "deltauq"], 2)
    assert left_out == []
    assert len(set(found)) == 8
    assert [str(task) for task in found[:3]] == [
        "random80/paper/one/marginal/0",
        "random80/paper/one/marginal/1",
        "random80/paper/one/deltauq/0",
    ]
    assert len(plan(STUDY, "random80", "paper", datasets, ["marginal"])[0]) == 40
    assert len(plan(STUDY, "gap", "paper", datasets, ["marginal"], 20)[0]) == 6


def test_plan_names_what_it_leaves_out():
    datasets = {
        "large": toy_dataset(n_rows=2600),
        "sorted": toy_dataset(in_original_order=False),
    }
    found, left_out = plan(STUDY, "hl90", "default", datasets, ["marginal", "gp"], 1)
    assert found == [Task("hl90", "default", "large", "marginal", 0)]
    (gp, too_many), (other, order) = left_out
    assert (gp, other) == ("large gp", "sorted")
    assert "at most 2000 training rows" in too_many
    assert "another order" in order


def test_plan_leaves_out_a_set_without_splits():
    datasets = {"coarse": toy_dataset(X=np.arange(180).reshape(60, 3) % 2.0)}
    found, left_out = plan(STUDY, "gap", "default", datasets, ["marginal", "gp"])
    assert found == []
    assert left_out == [("coarse", "no feature has 10 distinct values.")]


def test_a_method_that_cannot_run_is_explained(monkeypatch):
    methods = STUDY.methods
    assert explain_exclusion(methods["marginal"], "default", 10**7) == ""
    assert explain_exclusion(methods["gp"], "default", 2000) == ""
    assert "at most 2000 training rows" in explain_exclusion(methods["gp"], "default", 2001)
    ablation = STUDY.variants["deltauq-k1"]
    assert explain_exclusion(ablation, "paper", 100) == ""
    assert "presets default, paper" in explain_exclusion(ablation, "refined", 100)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    reason = explain_exclusion(methods["ngboost"], "default", 100)
    assert reason.startswith("ngboost is not installed: pip install")


def test_only_finished_tasks_are_found(store):
    tasks, _ = plan(STUDY, "random80", "default", SMALL, ["marginal"], 3)
    assert find_finished(STUDY, tasks, SMALL, store) == {}
    for task in tasks[:2]:
        store.write(run_task(STUDY, task, SMALL["small"]))
    found = find_finished(STUDY, tasks, SMALL, store)
    assert list(found) == tasks[:2]
    assert [record["split"] for record in found.values()] == [0, 1]


@pytest.mark.parametrize("field", ["settings_id", "data_hash", "split_hash"])
def test_results_of_another_run_are_never_used(store, field):
    tasks, _ = plan(STUDY, "random80", "default", SMALL, ["marginal"], 1)
    store.write({**run_task(STUDY, tasks[0], SMALL["small"]), field: "other"})
    with pytest.raises(StoreError, match=f"{field} is 'other' there"):
        find_finished(STUDY, tasks, SMALL, store)
