"""Committed results have the settings of today: `--known` finds them."""

from pathlib import Path

import pytest

from benchmarks_uci.classification import image_study, natural_study, outlier_study, shift_study
from benchmarks_uci.engine.records import read_compact
from benchmarks_uci.engine.settings import settings_id
from benchmarks_uci.engine.study import get_task
from tests.benchmarks_uci._helpers import read_settings_of_today

RESULTS = Path(__file__).parents[3] / "benchmarks_uci" / "results" / "classification"
STUDIES = {
    "images": image_study.STUDY,
    "natural": natural_study.STUDY,
    "outliers": outlier_study.STUDY,
    "shift": shift_study.STUDY,
}


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.csv")), ids=lambda path: path.stem)
def test_committed_results_have_the_settings_of_today(path):
    study = STUDIES[path.stem.split("-")[0]]
    records, read = read_compact(path, study), read_settings_of_today(study)
    for record in records:
        assert record["settings_id"] == settings_id(read(record)), str(get_task(record))
    assert len(records)
