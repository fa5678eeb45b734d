import json
from pathlib import Path

import pytest

from benchmarks_uci.engine.records import read_compact
from benchmarks_uci.engine.settings import settings_id
from benchmarks_uci.engine.study import get_task
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci._helpers import read_settings_of_today

RESULTS = Path(__file__).parents[3] / "benchmarks_uci" / "results"


EARLIER = RESULTS / "earlier-version"
# Parameters that the package has gained since; with their defaults they change no setting.
ADDED = {
    "max_time": None,
    "target_transform": None,
    "categorical_features": "from_dtype",
    "missing_values": "indicator",
    "anchors": "random",
    "n_neighbors": 16,
    "neighbor_search": "exact",
    "anchor_pool": 100_000,
    "refine_mean": False,
}


def find_results(*folders):
    paths = [path for folder in folders for path in sorted(folder.glob("*.csv"))]
    return pytest.mark.parametrize("path", paths, ids=lambda p: f"{p.parent.name}-{p.stem}")


@find_results(RESULTS, RESULTS / "widening")
def test_committed_results_have_the_settings_of_today(path):
    """Otherwise `--known benchmarks_uci/results` would not match a single task."""
    records, read = read_compact(path, STUDY), read_settings_of_today(STUDY)
    for record in records:
        assert record["settings_id"] == settings_id(read(record)), str(get_task(record))
    assert len(records)


@find_results(EARLIER)
def test_earlier_results_lack_only_the_parameters_that_were_added_since(path):
    stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["settings"]
    records, read = read_compact(path, STUDY), read_settings_of_today(STUDY)
    for record in records:
        today = read(record)
        added = today.keys() - stored[record["settings_id"]].keys()
        assert {name: today.pop(name) for name in added}.items() <= ADDED.items()
        assert record["settings_id"] == settings_id(today), str(get_task(record))
    assert len(records)


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
