import pytest

from benchmarks_uci.analysis.frame import make_frame, split_runs
from benchmarks_uci.engine.compact import ResultsError
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, record, records


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
