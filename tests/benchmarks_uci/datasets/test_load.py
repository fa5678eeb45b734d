from types import SimpleNamespace

import pytest

from benchmarks_uci import datasets
from benchmarks_uci.datasets import (
    EMBEDDED,
    SETS,
    DataCorrupt,
    DataUnavailable,
    Sources,
    embedded,
    load,
)
from benchmarks_uci.datasets.dataset import RawTable
from tests.benchmarks_uci.datasets import _folders


@pytest.fixture
def openml(monkeypatch):
    """OpenML with an empty cache and no network, which notes what it is asked for."""
    calls = []

    def read_cache(spec, sources):
        calls.append(("cache", spec.name, sources))

    def download(spec, sources):
        calls.append(("download", spec.name, sources))
        raise DataUnavailable(f"{spec.name}: no network")

    fake = SimpleNamespace(read_cache=read_cache, download=download, calls=calls)
    monkeypatch.setattr(datasets, "openml", fake)
    return fake


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_need_neither_network_nor_cache(openml, name):
    assert load(name).source.startswith("embedded")
    assert not openml.calls


def test_folder_comes_first_and_nothing_else_is_looked_at(openml, tmp_path):
    sources = Sources(data_dir=tmp_path)
    with pytest.raises(DataUnavailable, match="It holds: nothing"):
        load("boston", sources)
    (tmp_path / "boston.csv").write_text(_folders.text(_folders.rows("boston")))
    assert load("boston", sources).source == f"file {tmp_path / 'boston.csv'}"
    assert not openml.calls


def test_cache_comes_before_a_download(openml, monkeypatch):
    spec, values = _folders.made_up(monkeypatch, "yacht")
    monkeypatch.setitem(SETS, "yacht", spec)
    openml.read_cache = lambda spec, sources: RawTable(spec.columns, values, "the cache")
    assert load("yacht").source == "the cache"
    values[0, 0] += 1
    with pytest.raises(DataCorrupt, match="the cache is not the expected data"):
        load("yacht")
    assert not openml.calls, "wrong rows are no reason to go on"


def test_other_sets_are_downloaded_with_the_sources_given(openml):
    sources = Sources(timeout=3.0)
    with pytest.raises(DataUnavailable, match="no network"):
        load("yacht", sources)
    assert openml.calls == [("cache", "yacht", sources), ("download", "yacht", sources)]


def test_download_is_checked(openml, monkeypatch):
    spec, values = _folders.made_up(monkeypatch, "yacht")
    monkeypatch.setitem(SETS, "yacht", spec)
    openml.download = lambda spec, sources: RawTable(spec.columns, values, "the server")
    assert load("yacht").source == "the server"
    values[0, 0] += 1
    with pytest.raises(DataCorrupt, match="the server is not the expected data"):
        load("yacht")


def test_unknown_set():
    with pytest.raises(ValueError, match=r"no data set 'bosten'.*Did you mean 'boston'\?"):
        load("bosten")


def test_embedded_file_that_is_gone(openml, monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "FOLDER", tmp_path)
    with pytest.raises(DataUnavailable, match=r"wine: cannot read .*wine\.csv\.gz"):
        load("wine")
