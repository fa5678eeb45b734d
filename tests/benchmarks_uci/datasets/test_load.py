from types import SimpleNamespace

import pytest

from benchmarks_uci import datasets
from benchmarks_uci.datasets import EMBEDDED, SETS, DataUnavailable, Sources, embedded, load
from tests.benchmarks_uci.datasets import _folders


@pytest.fixture
def openml_calls(monkeypatch):
    """The sets and sources that OpenML, which has no data here, is asked for."""
    calls = []

    def fail(spec, sources):
        calls.append((spec, sources))
        raise DataUnavailable(f"{spec.name}: no network")

    monkeypatch.setattr(datasets, "openml", SimpleNamespace(load=fail))
    return calls


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_do_not_use_openml(openml_calls, name):
    assert load(name).source.startswith("embedded")
    assert not openml_calls


def test_a_folder_is_the_only_source(openml_calls, tmp_path):
    sources = Sources(data_dir=tmp_path)
    with pytest.raises(DataUnavailable, match="It holds: nothing"):
        load("boston", sources)
    (tmp_path / "boston.csv").write_text(_folders.text(_folders.rows("boston")))
    assert load("boston", sources).source == f"file {tmp_path / 'boston.csv'}"
    assert not openml_calls


def test_other_sets_come_from_openml(openml_calls, tmp_path):
    sources = Sources(cache_dir=tmp_path, offline=True)
    with pytest.raises(DataUnavailable, match="no network"):
        load("yacht", sources)
    with pytest.raises(DataUnavailable, match="no network"):
        load("yacht")
    assert openml_calls == [(SETS["yacht"], sources), (SETS["yacht"], Sources())]


def test_unknown_set():
    with pytest.raises(ValueError, match=r"no data set 'bosten'.*Did you mean 'boston'\?"):
        load("bosten")


def test_missing_embedded_file(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "FOLDER", tmp_path)
    with pytest.raises(DataUnavailable, match=r"wine: cannot read .*wine\.csv\.gz"):
        load("wine")
