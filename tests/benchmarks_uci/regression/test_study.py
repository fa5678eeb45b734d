from pathlib import Path

import pytest

from benchmarks_uci.engine.records import read_compact
from benchmarks_uci.engine.settings import settings, settings_id
from benchmarks_uci.engine.study import task_of
from benchmarks_uci.regression.study import STUDY

RESULTS = Path(__file__).parents[3] / "benchmarks_uci" / "results"


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.csv")), ids=lambda path: path.stem)
def test_committed_results_have_the_settings_of_today(path):
    """Otherwise `--known benchmarks_uci/results` would not match a single task."""
    seen = {}
    for record in read_compact(path, STUDY):
        task = task_of(record)
        key = task.method, task.preset, record["n_train"]
        if key not in seen:
            seen[key] = settings_id(settings(STUDY.make(task, record["n_train"])))
        assert record["settings_id"] == seen[key], str(task)
    assert seen


def test_defaults_show_five_members_beside_one_network():
    names = STUDY.defaults["methods"].split(",")
    assert {"deltauq", "deltauq-5", "deepensemble"} <= set(names) <= set(STUDY.methods)


def test_every_name_in_the_study_exists():
    names = {**STUDY.methods, **STUDY.variants}
    assert {*STUDY.references, *STUDY.readme} <= names.keys()
    assert {*STUDY.overview, *STUDY.costs} <= STUDY.metrics.keys()
    assert {*STUDY.sentences} >= {"scores", "ranks", "published", "readme"}
    for key, method in names.items():
        assert method.name == key
    for key, value in {**STUDY.metrics, **STUDY.protocols}.items():
        assert value.name == key
