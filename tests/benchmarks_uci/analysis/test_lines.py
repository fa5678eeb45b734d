import pytest

from benchmarks_uci.analysis import lines
from benchmarks_uci.regression.methods import METHODS
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import (
    MACHINE,
    failed,
    identifier,
    make_run,
    record,
    records,
)


def problems(found):
    return lines.describe_problems(found, make_run(found), STUDY)


def test_data_are_described_by_the_records():
    found = lines.describe_data(records(("boston", "wine"), n_splits=4), STUDY)
    assert found == [
        f"{name}: 100 rows, 4 features; 4 splits of the 20 of the protocol; {name}.csv."
        for name in ("boston", "wine")
    ]


@pytest.mark.parametrize(("protocol", "n_splits", "full"), [("random80", 20, 20), ("hl90", 5, 5)])
def test_full_run_names_no_missing_splits(protocol, n_splits, full):
    found = records(("protein",), ("deltauq",), n_splits=n_splits, protocol=protocol)
    [line] = lines.describe_data(found, STUDY)
    assert f"{full} splits;" in line


def test_problems_are_counted():
    found = [
        *(record(split=s, warnings=["few epochs", "few epochs"]) for s in range(2)),
        failed(split=2),
        record(method="pbp"),
    ]
    assert problems(found) == [
        "boston, deltauq: 1 of 3 splits failed.",
        "boston, pbp: run on 1 of 3 splits.",
        "Error, boston, deltauq, 1 splits: ValueError: no",
        "Warning, boston, deltauq, 2 of 3 splits: few epochs",
    ]
    assert problems(records()) == []


def test_environments_are_counted():
    other = record(split=1, machine=MACHINE | {"cores": 64})
    found = lines.describe_environments([record(), record(split=2), other])
    assert sorted(line[line.index("Linux") :] for line in found) == [
        "Linux, a processor, 2 cores: 2 tasks.",
        "Linux, a processor, 64 cores: 1 tasks.",
    ]
    assert found[0].startswith("python 3.11.7, sk_deltauq 0.1")


def test_settings_come_from_the_records_and_their_choice_from_the_methods():
    method = METHODS["deltauq"]
    wider = {"class": "Deltauq", "width": 100}
    found = [
        *(record(data) for data in ("boston", "wine")),
        record("protein", settings=wider, settings_id=identifier(wider)),
        record(method="gone", settings={"class": "G", "inner": {"class": "H", "a": 1}}),
        failed(method="lost", settings=None, settings_id=None),
    ]
    assert lines.describe_settings(found, make_run(found), STUDY) == [
        f"deltauq: Delta-UQ. {method.description} Settings: Deltauq(width=50); protein: "
        f"width=100. How chosen: {method.chosen}",
        "gone: a method that the study no longer has. Settings: G(inner=H(a=1)).",
        "lost: a method that the study no longer has. Settings: unknown, because no task came "
        "so far.",
    ]
