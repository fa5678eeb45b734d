import errno
import json
import logging
import os
import re
from pathlib import Path

import pytest

from benchmarks_uci.engine.records import ResultsError, read
from benchmarks_uci.engine.store import Store, StoreError
from benchmarks_uci.engine.study import Task
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci._runs import a_record

TASK = Task("random80", "default", "boston", "marginal", 3)
EXPECTED = {"settings_id": "abc", "data_hash": "d", "split_hash": "s"}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results", STUDY)


def records(store):
    return read(store.folder, STUDY)


def files(store):
    return sorted(p.relative_to(store.folder).as_posix() for p in store.folder.rglob("*.*"))


def test_a_written_record_is_found_unchanged(store):
    assert store.find(TASK, **EXPECTED) is None
    record = a_record(TASK, nll=float("inf"), **EXPECTED)
    store.write(record)
    assert store.find(TASK, **EXPECTED) == record
    assert records(store) == [record]
    assert files(store) == ["random80/default/boston/marginal/03.json"]


def without(field):
    return json.dumps({k: v for k, v in a_record(TASK).items() if k != field})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "damaged"),
        (json.dumps(a_record(TASK))[:-20], "damaged"),
        ("<html>", "damaged"),
        ("\xff\x00", "damaged"),
        ("[]", "expected a JSON object"),
        (without("nll"), "lacks the field 'nll'"),
        (without("settings_id"), "lacks the field 'settings_id'"),
        (without("versions"), "lacks the field 'versions'"),
        (without("machine"), "lacks the field 'machine'"),
        (without("n_test"), "lacks the field 'n_test'"),
        (without("status"), "status"),
        (json.dumps(a_record(TASK, nll=None)), "lacks the field 'nll'"),
        (json.dumps(a_record(TASK, split=4)), "random80/default/boston/marginal/4"),
    ],
)
def test_a_file_that_is_no_record_of_its_task_is_never_used(store, caplog, text, why):
    store.write(a_record(TASK))
    path = store.path(TASK)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ResultsError, match=f"{path.name} is not a result: .*{why}"):
        records(store)
    assert path.exists(), "reading a folder changes nothing"
    with caplog.at_level(logging.WARNING):
        assert store.find(TASK) is None
    [message] = caplog.messages
    assert str(path) in message
    assert why in message
    assert files(store) == ["random80/default/boston/marginal/03.json.bad"]
    store.write(a_record(TASK))
    assert store.find(TASK) == a_record(TASK)


def test_files_of_a_killed_run_are_never_read_and_the_next_write_deletes_them(store):
    store.write(a_record(TASK))
    folder = store.path(TASK).parent
    half, other = folder / ".03.json.x1y2.tmp", folder / ".04.json.x1y2.tmp"
    half.write_text('{"protocol": "ran')
    other.write_text(json.dumps(a_record(TASK)))
    assert records(store) == [a_record(TASK)]
    store.write(a_record(TASK, nll=2.0))
    assert records(store) == [a_record(TASK, nll=2.0)]
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
def test_results_of_another_run_are_an_error_and_kept(store, there, here, expected):
    record = a_record(TASK, **{**EXPECTED, **there})
    store.write(record)
    with pytest.raises(StoreError) as caught:
        store.find(TASK, **EXPECTED, **here)
    message = str(caught.value)
    assert str(store.path(TASK)) in message
    assert "another results folder" in message
    assert "heads" not in message
    assert [text for text in expected if text not in message] == []
    assert records(store) == [record]


def test_longer_hashes_of_older_files_agree(store):
    expected = {**EXPECTED, "data_hash": "d" * 12, "split_hash": "0123456789ab"}
    older = {**expected, "data_hash": "d" * 64, "split_hash": "0123456789abcdef" * 4}
    store.write(a_record(TASK, **older))
    assert store.find(TASK, **expected) == records(store)[0] == a_record(TASK, **expected)
    store.write(a_record(TASK, **{**older, "data_hash": "e" + "d" * 63}))
    with pytest.raises(StoreError, match="data_hash is 'eddddddddddd' there, 'dddddddddddd' here"):
        store.find(TASK, **expected)


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


def test_a_known_result_is_used_and_kept_if_there_is_no_file(store):
    other = Task("random80", "default", "boston", "marginal", 4)
    failed = Task("random80", "default", "boston", "marginal", 5)
    store.write(a_record(TASK, **EXPECTED))
    known = [
        a_record(TASK, nll=9.0, **EXPECTED),
        a_record(other, nll=7.0, **EXPECTED),
        a_record(failed, status="failed"),
    ]
    store = Store(store.folder, STUDY, known)
    assert [store.has(task) for task in (TASK, other, failed)] == [True, True, False]
    assert store.find(TASK, **EXPECTED)["nll"] == 1.5
    assert store.find(other, **EXPECTED) == known[1]
    assert store.find(failed, **EXPECTED) is None
    assert records(store) == [a_record(TASK, **EXPECTED), known[1]]


def test_a_known_result_of_another_run_is_an_error_and_not_kept(store):
    store = Store(store.folder, STUDY, [a_record(TASK, **{**EXPECTED, "data_hash": "e"})])
    with pytest.raises(StoreError, match=r"known result of random80.*data_hash is 'e' there"):
        store.find(TASK, **EXPECTED)
    assert files(store) == []


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_full_disk_is_an_error_and_old_results_stay(store, monkeypatch, function):
    store.write(a_record(TASK))

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, function, full)
    for task in (TASK, Task("random80", "default", "boston", "mlp", 0)):
        with pytest.raises(StoreError, match=r"No space left on device.*are kept") as caught:
            store.write(a_record(task, nll=2.0))
        assert str(store.path(task)) in str(caught.value)
    assert files(store) == ["random80/default/boston/marginal/03.json"]
    assert records(store) == [a_record(TASK)]


def test_a_write_cut_short_leaves_no_half_record(store):
    resource = pytest.importorskip("resource", reason="only Unix has such limits")
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
    assert records(store) == [a_record(TASK)]


def test_a_result_has_the_same_permissions_as_other_files(store, tmp_path):
    store.write(a_record(TASK))
    other = tmp_path / "other"
    other.write_text("")
    assert store.path(TASK).stat().st_mode == other.stat().st_mode


def test_a_file_that_cannot_be_moved_aside_is_an_error_and_stays(store, monkeypatch):
    store.write(a_record(TASK))
    path = store.path(TASK)
    path.write_text("damaged")

    def refuse(*args):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StoreError, match=f"could not move aside {re.escape(str(path))}: Perm"):
        store.find(TASK)
    assert path.read_text() == "damaged"


def test_a_file_is_readable_text(store):
    """One field per line, so that a diff of committed results shows what changed."""
    record = a_record(TASK)
    store.write(record)
    text = store.path(TASK).read_text()
    assert text == json.dumps(record, indent=1) + "\n"
    assert all(f'\n "{field}": ' in text for field in record)


def test_remains_that_another_process_deletes_are_no_error(store, monkeypatch):
    store.write(a_record(TASK))
    folder, glob = store.path(TASK).parent, Path.glob

    def find_more(self, pattern):
        return [*glob(self, pattern), folder / ".03.json.gone.tmp"]

    monkeypatch.setattr(Path, "glob", find_more)
    store.write(a_record(TASK, nll=2.0))
    monkeypatch.undo()
    assert records(store) == [a_record(TASK, nll=2.0)]


def test_a_results_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "results").write_text("mine")
    with pytest.raises(StoreError, match="could not write"):
        Store(tmp_path / "results", STUDY).write(a_record(TASK))
    assert (tmp_path / "results").read_text() == "mine"


def test_a_folder_without_write_permission_is_an_error(store, monkeypatch):
    # Not by real permissions: the user who runs the tests may be root.
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("benchmarks_uci.engine.store.open", refuse, raising=False)
    with pytest.raises(StoreError, match="Permission denied"):
        store.write(a_record(TASK))
