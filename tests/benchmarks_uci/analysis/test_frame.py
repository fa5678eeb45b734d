import pytest
from benchmarks_uci.report import ResultsError, check
from tests.benchmarks_uci.analysis._helpers import failed, record, records


def test_records_of_one_experiment_pass():
    found = records()
    assert check(found) is found


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
def test_what_does_not_belong_together_is_told(other, words):
    with pytest.raises(ResultsError) as error:
        check([record(), other])
    assert [word for word in words if word not in str(error.value)] == []


def test_settings_may_differ_between_sets_and_presets():
    check(
        [
            record(),
            record(data="wine", settings_id="other"),
            record(preset="default", settings_id="third"),
        ]
    )


def test_task_that_failed_early_has_no_settings_to_compare():
    check([record(), failed(split=1, settings=None, settings_id=None, split_hash=None)])
