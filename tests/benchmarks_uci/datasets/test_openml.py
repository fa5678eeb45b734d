"""OpenML's real client against a server on the loopback device."""

import os
import shutil
import socket
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from benchmarks_uci.datasets import (
    SETS,
    DataCorrupt,
    DataUnavailable,
    embedded,
    load,
    openml,
    openml_cache,
    openml_session,
)
from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.openml_cache import Entry
from tests.benchmarks_uci.datasets import _folders
from tests.benchmarks_uci.datasets._openml import BOSTON, PAGE, XHTML, fails, files, fill
from tests.benchmarks_uci.datasets.conftest import served
from tests.benchmarks_uci.datasets.openml_server import Fault, ServedSet, error

DESCRIPTION, ARFF, PARQUET = r"/api/v1/xml/data/531", r"\.arff", r"GET .*\.pq"


# ------------------------------------------------------------------------------- what goes well


def test_download_then_cache_give_the_rows_of_the_repository(server, sources):
    downloaded = openml.download(BOSTON, sources)
    assert server.asked == ["GET /api/v1/xml/data/531", "GET /data/v1/download/531/boston.arff"]
    assert downloaded.source == "OpenML data set 531 (boston, version 1), downloaded"
    folder = Entry.of(sources.cache_dir, 531).folder
    assert sorted(files(sources.cache_dir)) == sorted(
        str((folder / name).relative_to(sources.cache_dir))
        for name in ("dataset.arff", "description.xml")
    )
    server.close()
    cached = openml.read_cache(BOSTON, sources)
    assert len(server.asked) == 2
    assert cached.source == "OpenML data set 531 (boston, version 1), from its cache"
    expected = embedded.load(BOSTON)
    for table in (downloaded, cached):
        assert table.values.dtype == np.float64
        dataset = build(BOSTON, table)
        # RAD and CHAS are nominal there: their values and not the codes of their categories.
        np.testing.assert_array_equal(dataset.X, expected.X)
        np.testing.assert_array_equal(dataset.y, expected.y)
        assert dataset.in_original_order


def test_small_whole_numbers_do_not_overflow(server, sources):
    """openml makes them uint8."""
    server.sets.append(served("wine"))
    table = openml.download(SETS["wine"], sources)
    np.testing.assert_array_equal(table.values[:, -1], embedded.load(SETS["wine"]).y)
    assert table.values.dtype == np.float64


def test_all_columns_are_given_also_those_that_openml_ignores(server, sources):
    """Which of them are inputs is what the registry says, the same for all sources."""
    energy = SETS["energy"]
    columns = ["X1", "heating_load", "cooling_load"]
    rows = [[1.5, "?", 300], [2, 7, 8]]
    small = ServedSet(energy.openml_id, "energy", columns, rows, ignored=["cooling_load"])
    server.sets.append(small)
    fill(sources, small, server)
    server.close()
    table = openml.read_cache(energy, sources)
    assert table.columns == ("X1", "heating_load", "cooling_load")
    np.testing.assert_array_equal(table.values, [[1.5, np.nan, 300], [2, 7, 8]])


def test_load_downloads_once(server, sources, monkeypatch):
    spec, values = _folders.made_up(monkeypatch, "naval")
    monkeypatch.setitem(SETS, "naval", spec)
    columns = [spec.openml_target if c == spec.target else c for c in spec.columns]
    server.sets.append(
        ServedSet(spec.openml_id, "naval", columns, values.tolist(), ignored=["turbine_decay"])
    )
    downloaded = load("naval", sources)
    server.close()
    cached = load("naval", replace(sources, offline=True))
    assert (downloaded.source[-10:], cached.source[-14:]) == ("downloaded", "from its cache")
    for dataset in (downloaded, cached):
        assert dataset.X.shape == (30, 14)
        np.testing.assert_array_equal(dataset.y, values[:, spec.columns.index(spec.target)])


def test_load_asks_no_server_for_what_the_repository_holds(server, sources):
    assert load("wine", sources).source.startswith("embedded")
    assert server.asked == []


def test_parquet_where_the_arff_is_gone(server, sources):
    server.sets = [served("boston", nominal=("CHAS", "RAD"), parquet=True)]
    server.faults = [Fault(ARFF, "answer", 404, PAGE)]
    table = openml.download(BOSTON, sources)
    np.testing.assert_array_equal(build(BOSTON, table).X, embedded.load(BOSTON).X)
    folder = Entry.of(sources.cache_dir, 531).folder
    assert sorted(files(folder)) == ["dataset_531.pq", "description.xml"]
    server.close()
    server.asked.clear()
    np.testing.assert_array_equal(openml.read_cache(BOSTON, sources).values, table.values)
    assert server.asked == []


def test_an_incomplete_entry_is_completed(server, sources, cached):
    cached.data_file().unlink()
    assert openml.read_cache(BOSTON, sources) is None
    offline = replace(sources, offline=True)
    fails(DataUnavailable, lambda: openml.download(BOSTON, offline), "--offline")
    assert list(files(cached.folder)) == ["description.xml"]


def test_an_incomplete_entry_gives_way_to_a_download(server, sources):
    entry = Entry.of(sources.cache_dir, 531)
    entry.folder.mkdir(parents=True)
    entry.description.write_text("half of a desc")
    openml.download(BOSTON, sources)
    assert sorted(files(entry.folder)) == ["dataset.arff", "description.xml"]
    assert list(sources.cache_dir.glob(".download-*")) == []


def test_another_process_may_be_faster(server, sources, monkeypatch):
    def complete_it_meanwhile(spec, table):
        if not entry.folder.exists():
            shutil.copytree(next(sources.cache_dir.glob(".download-*/*/0/0/127/datasets")),
                            entry.folder.parent)  # fmt: skip

    entry = Entry.of(sources.cache_dir, 531)
    monkeypatch.setattr(openml, "build", complete_it_meanwhile)
    openml.download(BOSTON, sources)
    assert entry.data_file()
    assert openml.read_cache(BOSTON, sources) is not None


def test_settings_of_the_client_are_put_back(
    server, sources, openml_client, monkeypatch, tmp_path
):
    config, calls = openml_client.config, openml_client._api_calls
    monkeypatch.setattr(config, "apikey", "SECRET")
    monkeypatch.setenv("OPENML_SKIP_PARQUET", "perhaps")

    def settings():
        return dict(vars(config)), calls.requests, calls.minio, os.environ["OPENML_SKIP_PARQUET"]

    before = settings()
    openml.download(BOSTON, sources)
    assert settings() == before
    server.faults = [Fault(DESCRIPTION, "drop")]
    fails(DataUnavailable, lambda: openml.download(BOSTON, replace(sources, cache_dir=tmp_path)))
    assert settings() == before
    assert "SECRET" not in "".join(server.asked)


# ------------------------------------------------------------------------------------ what fails


def downloads_nothing(server, sources, kind, *texts):
    get = lambda: openml.download(BOSTON, sources)  # noqa: E731
    raised = fails(kind, get, "boston: ", *texts)
    assert files(sources.cache_dir) == {}
    assert list(sources.cache_dir.glob(".download-*")) == []
    return raised


@pytest.mark.parametrize(
    ("fault", "kind", "texts"),
    [
        (Fault(DESCRIPTION, "drop"), DataUnavailable, ["xml/data/531 could not be reached"]),
        (Fault(ARFF, "drop"), DataUnavailable, ["boston.arff could not be reached", "1 try"]),
        (Fault(ARFF, "truncate"), DataUnavailable, ["broke off", "--data-dir"]),
        (Fault(DESCRIPTION, "truncate"), DataUnavailable, ["broke off", "--data-dir"]),
        (Fault(DESCRIPTION, "answer", 502, PAGE), DataUnavailable, ["502", "Please log in"]),
        (Fault(DESCRIPTION, "answer", 404, XHTML), DataUnavailable, ["404", "Please log in"]),
        (Fault(DESCRIPTION, "answer", 500, ""), DataUnavailable, ["not OpenML's (status 500"]),
        (Fault(DESCRIPTION, "answer", 200, PAGE), DataUnavailable, ["a proxy or a login page"]),
        (Fault(DESCRIPTION, "answer", 200, XHTML), DataUnavailable, ["a proxy or a login page"]),
        (Fault(ARFF, "answer", 404, PAGE), DataUnavailable, [".arff answered", "404", "log in"]),
        (Fault(ARFF, "answer", 503, PAGE), DataUnavailable, [".arff answered", "503"]),
        (
            Fault(DESCRIPTION, "answer", 412, error(107, "Database connection error")),
            DataUnavailable,
            ["refused data set 531", "Database connection error"],
        ),
        (
            Fault(DESCRIPTION, "answer", 412, error(112, "No access granted")),
            DataUnavailable,
            ["refused data set 531", "No access granted"],
        ),
        (Fault(ARFF, "answer", 200, PAGE), DataCorrupt, ["531 does not have the MD5", "1 try"]),
    ],
    ids=lambda value: (
        f"{value.pattern}-{value.kind}-{value.status}" if isinstance(value, Fault) else ""
    ),
)
def test_faults_of_the_server(server, sources, fault, kind, texts):
    server.faults = [fault]
    raised = downloads_nothing(server, sources, kind, *texts)
    assert raised.__cause__ is not None


def test_unknown_id(server, sources):
    server.sets = []
    downloads_nothing(
        server,
        sources,
        DataUnavailable,
        "OpenML does not know data set 531 (code 111: Unknown dataset)",
        "withdrawn",
        "--data-dir",
    )


@pytest.mark.parametrize("fault", [Fault(DESCRIPTION, "stall"), Fault(ARFF, "stall_body")])
def test_a_server_that_stalls_is_given_up(server, sources, fault):
    """The one test that fails if openml moves what the time limit is hung on."""
    server.faults = [fault]
    hurried = replace(sources, timeout=0.3)
    downloads_nothing(server, hurried, DataUnavailable, "did not answer in time", "--timeout")


@pytest.mark.parametrize("kind", ["stall", "stall_body"])
def test_parquet_that_stalls_is_given_up(server, sources, kind):
    server.sets = [served("boston", nominal=("CHAS", "RAD"), parquet=True)]
    server.faults = [Fault(ARFF, "answer", 404, PAGE), Fault(PARQUET, kind)]
    downloads_nothing(server, replace(sources, timeout=0.3), DataUnavailable, "boston: ")


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (Fault(PARQUET, "truncate"), DataUnavailable, "broke off"),
        (Fault(PARQUET, "answer", 200, PAGE), DataCorrupt, "cannot be read"),
        (Fault(PARQUET, "answer", 403, PAGE), DataUnavailable, "not OpenML's"),
    ],
    ids=["truncated", "page", "forbidden"],
)
def test_parquet_that_is_not_to_be_had_either(server, sources, fault, kind, text):
    server.sets = [served("boston", nominal=("CHAS", "RAD"), parquet=True)]
    server.faults = [Fault(ARFF, "answer", 404, PAGE), fault]
    downloads_nothing(server, sources, kind, text)


def test_two_tries_when_nobody_listens(server, sources, monkeypatch):
    server.close()
    monkeypatch.setattr(openml_session, "TRIES", 2)
    downloads_nothing(server, sources, DataUnavailable, "could not be reached", "2 tries")


def test_a_server_that_did_not_answer_is_left_alone_for_a_while(server, sources):
    server.faults = [Fault(DESCRIPTION, "drop")]
    downloads_nothing(server, sources, DataUnavailable, "could not be reached")
    server.asked.clear()
    wine = SETS["wine"]
    fails(DataUnavailable, lambda: openml.download(wine, sources), "wine: ", "a moment ago")
    assert server.asked == []


@pytest.mark.parametrize("hangs", [False, True])
def test_a_name_that_is_not_found(server, sources, monkeypatch, hangs):
    released = threading.Event()

    def look_up(host, *args, **kwargs):
        if hangs:
            released.wait(10)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(openml_cache, "SERVER", "http://unknown.invalid/api/v1/xml")
    monkeypatch.setattr(openml_session, "NAME_SECONDS", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    fails(
        DataUnavailable,
        lambda: openml.download(BOSTON, sources),
        "could not be reached (the name",
        "--data-dir",
    )
    released.set()


def test_names_are_left_to_a_proxy(server, sources, monkeypatch):
    """The fixture fails the test if the name of the server is looked for."""
    monkeypatch.setattr(openml_cache, "SERVER", "http://unknown.invalid/api/v1/xml")
    server.close()
    for variable in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(variable, server.base)
    downloads_nothing(server, sources, DataUnavailable, "could not be reached", "ProxyError")


def test_offline_and_not_cached(server, sources):
    offline = replace(sources, offline=True)
    assert openml.read_cache(BOSTON, offline) is None
    folder = Entry.of(sources.cache_dir, 531).folder
    fails(
        DataUnavailable,
        lambda: openml.download(BOSTON, offline),
        f"boston: not in the OpenML cache ({folder}) and --offline was given",
        "put boston.csv into a folder",
    )
    assert server.asked == []
    assert not sources.cache_dir.exists()


def test_no_id_is_known(sources):
    power = SETS["power"]
    assert openml.read_cache(power, sources) is None
    fails(DataUnavailable, lambda: openml.download(power, sources), "power: no OpenML id is known")


@pytest.mark.parametrize("offline", [False, True])
def test_openml_is_not_installed(cached, sources, monkeypatch, caplog, offline):
    sources = replace(sources, offline=offline)
    monkeypatch.setitem(sys.modules, "openml", None)
    assert openml.read_cache(BOSTON, sources) is None
    assert "openml is not installed" in caplog.text
    get = lambda: openml.download(BOSTON, sources)  # noqa: E731
    fails(DataUnavailable, get, "boston: the package openml is not", "sk-deltauq[openml]")


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"rows": served("boston").rows[:20]}, ["found 20 rows and 13 inputs", "expected 506"]),
        ({"md5": "0" * 32}, ["does not have the MD5"]),
        (
            {"columns": [*served("boston").columns[:-1], "price"]},
            ["(boston, version 1), downloaded", "column MEDV", "B, LSTAT, price"],
        ),
        (
            {
                "rows": [["low", *row[1:]] for row in served("boston").rows],
                "nominal": {"CRIM": ["low"]},
            },
            ["column CRIM is not of numbers", "low"],
        ),
    ],
    ids=["cut", "md5", "no target", "text"],
)
def test_other_data_than_expected_are_not_kept(server, sources, changes, texts):
    server.sets = [replace(served("boston"), **changes)]
    downloads_nothing(server, sources, DataCorrupt, *texts)


def test_a_description_of_another_set(server, sources):
    other = server.sets[0].description(server.base).replace(">531<", ">532<")
    server.faults = [Fault(DESCRIPTION, "answer", 200, other, "text/xml")]
    downloads_nothing(server, sources, DataCorrupt, "sent for data set 531 describes another")


def test_the_disk_is_full(server, sources, monkeypatch):
    def write(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", write)
    downloads_nothing(server, sources, DataUnavailable, "cache", "(No space left on device)")
