"""OpenML's real client against a server on the loopback device."""

import contextlib
import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks_uci.datasets import (
    SETS,
    DataCorrupt,
    DataUnavailable,
    Sources,
    embedded,
    load,
    openml,
    openml_cache,
    openml_session,
)
from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.openml_cache import Entry
from tests.benchmarks_uci.datasets import _folders
from tests.benchmarks_uci.datasets.conftest import served
from tests.benchmarks_uci.datasets.openml_server import Fault, ServedSet, error

BOSTON = SETS["boston"]
PAGE = "<!DOCTYPE html><html><br>Please log in to this network</html>"
XHTML = "<html xmlns='http://www.w3.org/1999/xhtml'><body>Please log in</body></html>"
DESCRIPTION, ARFF, PARQUET = r"/api/v1/xml/data/531", r"\.arff", r"GET .*\.pq"


@pytest.fixture
def sources(tmp_path):
    return Sources(cache_dir=tmp_path / "cache", timeout=5)


@pytest.fixture
def cached(server, sources):
    """The entry of Boston in a filled cache, whose server is gone."""
    openml.download(BOSTON, sources)
    server.close()
    server.asked.clear()
    return Entry.of(sources.cache_dir, 531)


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def fails(kind, get, *texts):
    """Call what must fail, and check that the message has the texts."""
    with pytest.raises(kind) as raised:
        get()
    message = str(raised.value)
    assert [text for text in texts if text not in message] == [], message
    return raised.value


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


# --------------------------------------------------------------------------- what is in the cache


def fill(sources, served_set, server):
    entry = Entry.of(sources.cache_dir, served_set.number)
    entry.folder.mkdir(parents=True)
    entry.description.write_text(served_set.description(server.base))
    (entry.folder / "dataset.arff").write_text(served_set.arff)
    return entry


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_file_is_named(sources, cached, damage):
    file = cached.data_file()
    text = file.read_text()
    file.write_text(text[: len(text) // 2] if damage == "cut" else text.replace("24,", "25,", 1))
    before = files(cached.folder)
    fails(
        DataCorrupt,
        lambda: openml.read_cache(BOSTON, sources),
        f"boston: the cached file {file} has MD5 ",
        "its description says",
        f"Delete the folder {cached.folder}",
    )
    assert files(cached.folder) == before


@pytest.mark.parametrize("text", ["", "<oml:data_set", XHTML, None])
def test_a_damaged_description_is_named(sources, cached, text):
    right = cached.description.read_text()
    cached.description.write_text(right.replace("531", "9", 1) if text is None else text)
    before = files(cached.folder)
    fails(
        DataCorrupt,
        lambda: openml.read_cache(BOSTON, sources),
        f"{cached.description} does not describe OpenML data set 531",
        f"Delete the folder {cached.folder}",
    )
    assert files(cached.folder) == before


def test_lines_may_end_as_on_windows(sources, cached):
    content = cached.data_file().read_bytes()
    cached.data_file().write_bytes(content.replace(b"\n", b"\r\n"))
    assert openml.read_cache(BOSTON, sources).values.shape == (506, 14)


class Unpickled:
    def __reduce__(self):
        return pytest.fail, ("a pickle was trusted",)


def test_pickles_in_the_cache_are_not_read(sources, cached):
    for content in (pickle.dumps(Unpickled()), b"\x80\x05cut"):
        cached.data_file().with_suffix(".pkl.py3").write_bytes(content)
        assert openml.read_cache(BOSTON, sources).values.shape == (506, 14)


def test_a_page_in_place_of_parquet(server, sources, cached):
    cached.data_file().unlink()
    (cached.folder / "dataset_531.pq").write_text(PAGE)
    fails(
        DataCorrupt,
        lambda: openml.read_cache(BOSTON, sources),
        "boston: OpenML data set 531, from its cache, cannot be read",
        f"Delete the folder {cached.folder}",
    )


def test_rows_without_a_checksum_that_are_no_rows(server, sources):
    boston = replace(served("boston"), md5="")
    entry = fill(sources, boston, server)
    description = boston.description(server.base)
    start, end = description.index("<oml:md5"), description.index("</oml:data_set")
    entry.description.write_text(description[:start] + description[end:])
    entry.data_file().write_text(PAGE)
    fails(
        DataCorrupt, lambda: openml.read_cache(BOSTON, sources), "from its cache, cannot be read"
    )


@contextlib.contextmanager
def without_rights(folder):
    """Take the right to write from the folder, for this process too where it is root's."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


@pytest.fixture
def open_folder():
    """A folder that every user may enter, unlike tmp_path."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs the rights of POSIX")
def test_a_cache_that_may_only_be_read(server, open_folder):
    sources = Sources(cache_dir=open_folder)
    openml.download(BOSTON, sources)
    wine = SETS["wine"]
    with without_rights(open_folder):
        assert openml.read_cache(BOSTON, sources).values.shape == (506, 14)
        fails(
            DataUnavailable,
            lambda: openml.download(wine, sources),
            f"wine: cannot write to the OpenML cache {open_folder} (Permission denied)",
            "--cache-dir",
        )


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs the rights of POSIX")
def test_an_entry_that_may_not_be_read(server, open_folder, caplog):
    sources = Sources(cache_dir=open_folder)
    openml.download(BOSTON, sources)
    data_file = Entry.of(open_folder, 531).data_file()
    with without_rights(open_folder):
        os.seteuid(os.getuid())
        data_file.chmod(0)
        if os.getuid() == 0:
            os.seteuid(65534)
        assert openml.read_cache(BOSTON, sources) is None
        assert "cannot be read" in caplog.text
        offline = replace(sources, offline=True)
        fails(DataUnavailable, lambda: openml.download(BOSTON, offline), "cannot be read")


def test_the_cache_is_in_the_way_of_a_file(server, tmp_path):
    (tmp_path / "cache").write_text("a file")
    sources = Sources(cache_dir=tmp_path / "cache")
    assert openml.read_cache(BOSTON, sources) is None
    get = lambda: openml.download(BOSTON, sources)  # noqa: E731
    fails(DataUnavailable, get, "cannot write to the OpenML cache", "--cache-dir")


def test_the_disk_is_full(server, sources, monkeypatch):
    def write(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", write)
    downloads_nothing(server, sources, DataUnavailable, "cache", "(No space left on device)")


# --------------------------------------------------------------------------------- where it is


@pytest.mark.parametrize("variable", [None, "XDG_CACHE_HOME", "OPENML_CACHE_DIR", "config"])
def test_the_cache_is_the_one_that_openml_would_use(
    openml_client, monkeypatch, tmp_path, variable
):
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "OPENML_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if variable == "config":
        file = openml_client.config.determine_config_file_path()
        file.parent.mkdir(parents=True)
        file.write_text(f"apikey = SECRET\ncachedir = {tmp_path / 'mine'}\n")
    elif variable:
        monkeypatch.setenv(variable, str(tmp_path / "mine"))
    config = openml_client.config._parse_config(openml_client.config.determine_config_file_path())
    expected = os.environ.get("OPENML_CACHE_DIR", config["cachedir"])
    if variable != "config":
        expected = openml_client.config._resolve_default_cache_dir()
    assert openml_cache.root(Sources()) == Path(expected).expanduser()
    assert openml_cache.root(Sources(cache_dir=Path("here"))) == Path.cwd() / "here"


def test_the_entry_is_where_openml_has_it(openml_client, tmp_path):
    """Against the real server's name, which the other tests replace."""
    with openml_session.session(tmp_path, timeout=None, parquet=False):
        expected = Path(openml_client.config.get_cache_directory())
    assert Entry.of(tmp_path, 531).folder == expected / "datasets" / "531"


def test_looking_into_an_empty_cache_does_not_import_openml(tmp_path):
    code = f"""
import sys
from pathlib import Path
from benchmarks_uci.datasets import SETS, Sources, openml
assert openml.read_cache(SETS["boston"], Sources(cache_dir=Path({str(tmp_path)!r}))) is None
assert "openml" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])
