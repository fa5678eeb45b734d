from types import SimpleNamespace

import pytest
from benchmarks_uci.report import sentences
from tests.benchmarks_uci.analysis._helpers import MACHINE, failed, identifier, record, records

from benchmarks_uci import methods


def test_data_are_described_by_the_records():
    lines = sentences.data_lines(records(("boston", "wine"), n_splits=4))
    assert lines == [
        f"{name}: 100 rows, 4 features; 4 splits of the 20 of the protocol; {name}.csv."
        for name in ("boston", "wine")
    ]


@pytest.mark.parametrize(("protocol", "n_splits", "full"), [("random80", 20, 20), ("hl90", 5, 5)])
def test_full_run_has_nothing_to_add(protocol, n_splits, full):
    [line] = sentences.data_lines(
        records(("protein",), ("deltauq",), n_splits=n_splits, protocol=protocol)
    )
    assert f"{full} splits;" in line


def test_problems_are_counted():
    found = [
        *(record(split=s, warnings=["few epochs", "few epochs"]) for s in range(2)),
        failed(split=2),
        record(method="pbp"),
    ]
    assert sentences.problem_lines(found) == [
        "boston, deltauq: 1 of 3 splits failed.",
        "boston, pbp: run on 1 of 3 splits.",
        "Error, boston, deltauq, 1 splits: ValueError: no",
        "Warning, boston, deltauq, 2 of 3 splits: few epochs",
    ]
    assert sentences.problem_lines(records()) == []


def test_environments_are_counted():
    other = record(split=1, machine=MACHINE | {"cores": 64})
    lines = sentences.environment_lines([record(), record(split=2), other])
    assert sorted(line[line.index("Linux") :] for line in lines) == [
        "Linux, a processor, 2 cores: 2 tasks.",
        "Linux, a processor, 64 cores: 1 tasks.",
    ]
    assert lines[0].startswith("python 3.11.7, sk_deltauq 0.1")


def test_settings_come_from_the_records_and_their_choice_from_the_methods(monkeypatch):
    known = {"deltauq": SimpleNamespace(title="Delta-UQ", description="A net.", chosen="By hand.")}
    monkeypatch.setattr(methods, "ALL", known)
    wider = {"class": "Deltauq", "width": 100}
    found = [
        *(record(data) for data in ("boston", "wine")),
        record("protein", settings=wider, settings_id=identifier(wider)),
        record(method="gone", settings={"class": "G", "inner": {"class": "H", "a": 1}}),
        failed(method="pbp", settings=None, settings_id=None),
    ]
    assert sentences.settings_lines(found) == [
        "deltauq: Delta-UQ. A net. Settings: Deltauq(width=50); protein: width=100. "
        "How chosen: By hand.",
        "gone: a method that the harness no longer has. Settings: G(inner=H(a=1)).",
        "pbp: a method that the harness no longer has. Settings: not known, no task came so far.",
    ]
