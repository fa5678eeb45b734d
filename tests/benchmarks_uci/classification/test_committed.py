"""Committed results have the settings of today: `--known` finds them."""

from pathlib import Path

import pytest

from benchmarks_uci.classification import image_study, natural_study, outlier_study, shift_study
from benchmarks_uci.engine.records import read_compact
from benchmarks_uci.engine.settings import settings, settings_id
from benchmarks_uci.engine.study import task_of

RESULTS = Path(__file__).parents[3] / "benchmarks_uci" / "results" / "classification"
STUDIES = {
    "images": image_study.STUDY,
    "natural": natural_study.STUDY,
    "outliers": outlier_study.STUDY,
    "shift": shift_study.STUDY,
}


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.csv")), ids=lambda path: path.stem)
def test_committed_results_have_the_settings_of_today(path):
    study, seen = STUDIES[path.stem.split("-")[0]], {}
    for record in read_compact(path, study):
        task = task_of(record)
        key = task.method, task.preset, record["n_train"]
        if key not in seen:
            seen[key] = settings_id(settings(study.make(task, record["n_train"])))
        assert record["settings_id"] == seen[key], str(task)
    assert seen
