import errno
import json
import logging
import os

import pytest

from benchmarks_uci.store import Store, StoreError
from benchmarks_uci.task import Task
from tests.benchmarks_uci._runs import a_record

TASK = Task("random80", "default", "boston", "marginal", 3)
EXPECTED = {"settings_id": "abc", "data_hash": "d", "split_hash": "s"}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def files(store):
    return sorted(p.relative_to(store.folder).as_posix() for p in store.folder.rglob("*.*"))


def test_a_record_is_found_as_it_was_written(store):
    assert store.find(TASK, **EXPECTED) is None
    record = a_record(TASK, nll=float("inf"), **EXPECTED)
    store.write(record)
    assert store.find(TASK, **EXPECTED) == record
    assert store.records() == [record]
    assert files(store) == ["random80/default/boston/marginal/03.json"]


def test_records_come_in_the_order_of_their_paths(store):
    tasks = [Task("random80", "default", d, "m", s) for d in ("a", "b") for s in (2, 10)]
    for task in reversed(tasks):
        store.write(a_record(task))
    assert [(r["data"], r["split"]) for r in store.records()] == [
        *(("a", 2), ("a", 10)),
        *(("b", 2), ("b", 10)),
    ]


def without(field):
    return json.dumps({k: v for k, v in a_record(TASK).items() if k != field})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "damaged"),
        (json.dumps(a_record(TASK))[:-20], "damaged"),
        ("<html>", "damaged"),
        ("\xff\x00", "damaged"),
        ("[]", "no record"),
        (without("nll"), "lacks the field 'nll'"),
        (without("settings_id"), "lacks the field 'settings_id'"),
        (without("status"), "status"),
        (json.dumps(a_record(TASK, nll=None)), "lacks the field 'nll'"),
        (json.dumps(a_record(TASK, split=4)), "random80/default/boston/marginal/4"),
    ],
)
def test_what_is_no_record_of_its_task_is_never_used(store, caplog, text, why):
    store.write(a_record(TASK))
    path = store.path(TASK)
    path.write_bytes(text.encode("latin-1"))
    with caplog.at_level(logging.WARNING):
        assert store.records() == []
    assert path.exists(), "reading a folder changes nothing"
    assert store.find(TASK) is None
    assert all(str(path) in r.message and why in r.message for r in caplog.records)
    assert len(caplog.records) == 2
    assert files(store) == ["random80/default/boston/marginal/03.json.bad"]
    store.write(a_record(TASK))
    assert store.find(TASK) == store.records()[0] == a_record(TASK)


def test_what_a_killed_run_left_is_never_read_and_goes_with_the_next_write(store):
    store.write(a_record(TASK))
    folder = store.path(TASK).parent
    half, other = folder / ".03.json.x1y2.tmp", folder / ".04.json.x1y2.tmp"
    half.write_text('{"protocol": "ran')
    other.write_text(json.dumps(a_record(TASK)))
    assert store.records() == [a_record(TASK)]
    store.write(a_record(TASK, nll=2.0))
    assert store.records() == [a_record(TASK, nll=2.0)]
    assert not half.exists()
    assert other.exists()


@pytest.mark.parametrize(
    ("there", "here", "expected"),
    [
        ({"data_hash": "e"}, {}, ["data_hash is 'e' there, 'd' here"]),
        ({"split_hash": "t"}, {}, ["split_hash is 't' there, 's' here"]),
        (
            {"settings_id": "xyz", "settings": {"width": 50, "rate": 0.1, "heads": [1]}},
            {"settings": {"width": 100, "depth": 2, "heads": (1,)}},
            [
                "settings_id is 'xyz' there, 'abc' here",
                "setting width is 50 there, 100 here",
                "setting rate is 0.1 there, nothing here",
                "setting depth is nothing there, 2 here",
            ],
        ),
    ],
)
def test_results_of_something_else_are_an_error_and_kept(store, there, here, expected):
    record = a_record(TASK, **{**EXPECTED, **there})
    store.write(record)
    with pytest.raises(StoreError) as caught:
        store.find(TASK, **EXPECTED, **here)
    message = str(caught.value)
    assert str(store.path(TASK)) in message
    assert "another results folder" in message
    assert "heads" not in message
    assert [text for text in expected if text not in message] == []
    assert store.records() == [record]


@pytest.mark.parametrize(
    "there",
    [
        {"settings_id": "xyz", "settings": {"width": 50}},
        {"settings_id": None, "settings": None, "split_hash": None},
    ],
)
def test_a_failure_with_other_settings_does_not_count(store, there):
    store.write(a_record(TASK, status="failed", **there))
    assert store.find(TASK, **EXPECTED, settings={"width": 100}) is None


def test_a_known_result_is_taken_where_there_is_no_file_and_kept(store):
    other = Task("random80", "default", "boston", "marginal", 4)
    failed = Task("random80", "default", "boston", "marginal", 5)
    store.write(a_record(TASK, **EXPECTED))
    known = [
        a_record(TASK, nll=9.0, **EXPECTED),
        a_record(other, nll=7.0, **EXPECTED),
        a_record(failed, status="failed"),
    ]
    store = Store(store.folder, known)
    assert [store.has(task) for task in (TASK, other, failed)] == [True, True, False]
    assert store.find(TASK, **EXPECTED)["nll"] == 1.5
    assert store.find(other, **EXPECTED) == known[1]
    assert store.find(failed, **EXPECTED) is None
    assert Store(store.folder).records() == [a_record(TASK, **EXPECTED), known[1]]


def test_a_known_result_of_something_else_is_an_error_and_not_kept(store):
    store = Store(store.folder, [a_record(TASK, **{**EXPECTED, "data_hash": "e"})])
    with pytest.raises(StoreError, match=r"known result of random80.*data_hash is 'e' there"):
        store.find(TASK, **EXPECTED)
    assert store.records() == []


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_full_disk_is_told_and_what_was_there_stays(store, monkeypatch, function):
    store.write(a_record(TASK))

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, function, full)
    for task in (TASK, Task("random80", "default", "boston", "mlp", 0)):
        with pytest.raises(StoreError, match=r"No space left on device.*are kept") as caught:
            store.write(a_record(task, nll=2.0))
        assert str(store.path(task)) in str(caught.value)
    assert files(store) == ["random80/default/boston/marginal/03.json"]
    assert store.records() == [a_record(TASK)]


def test_a_write_that_the_system_cuts_short_leaves_no_half_record(store):
    resource = pytest.importorskip("resource", reason="Unix alone has such limits")
    store.write(a_record(TASK))
    assert store.path(TASK).stat().st_size > 300
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        with pytest.raises(StoreError, match="File too large"):
            store.write(a_record(TASK, nll=2.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files(store) == ["random80/default/boston/marginal/03.json"]
    assert store.records() == [a_record(TASK)]


def test_a_result_can_be_read_by_those_who_can_read_other_files(store, tmp_path):
    store.write(a_record(TASK))
    other = tmp_path / "other"
    other.write_text("")
    assert store.path(TASK).stat().st_mode == other.stat().st_mode


def test_a_results_folder_that_is_a_file_is_told(tmp_path):
    (tmp_path / "results").write_text("mine")
    with pytest.raises(StoreError, match="could not write"):
        Store(tmp_path / "results").write(a_record(TASK))
    assert (tmp_path / "results").read_text() == "mine"


def test_a_folder_that_may_not_be_written_is_told(store, monkeypatch):
    # Not by its permissions: the user who runs the tests may be root.
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("benchmarks_uci.store.open", refuse, raising=False)
    with pytest.raises(StoreError, match="Permission denied"):
        store.write(a_record(TASK))
