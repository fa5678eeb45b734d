"""OpenML's cache: damage, rights, and where it is."""

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks_uci.datasets import (
    SETS,
    DataCorrupt,
    DataUnavailable,
    Sources,
    openml,
    openml_cache,
    openml_session,
)
from benchmarks_uci.datasets.openml_cache import Entry
from tests.benchmarks_uci.datasets._openml import BOSTON, PAGE, XHTML, fails, files, fill
from tests.benchmarks_uci.datasets.conftest import served


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


needs_rights = pytest.mark.skipif(
    not hasattr(os, "geteuid"),
    reason="root ignores the rights of files, so the user is changed, which only POSIX can",
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


@needs_rights
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


@needs_rights
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
