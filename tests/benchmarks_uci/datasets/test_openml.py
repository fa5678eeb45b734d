"""The real openml against a server on the loopback device."""

import os
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks_uci.classification.sources import build_frame
from benchmarks_uci.datasets import SETS, DataCorrupt, DataUnavailable, embedded, load, openml
from tests.benchmarks_uci.classification._helpers import toy_spec
from tests.benchmarks_uci.datasets import _folders
from tests.benchmarks_uci.datasets.conftest import served
from tests.benchmarks_uci.datasets.openml_server import Fault, ServedSet, error

BOSTON = SETS["boston"]
DESCRIPTION, ARFF, PARQUET = r"/api/v1/xml/data/531", r"\.arff", r"GET .*\.pq"
PAGE = "<!DOCTYPE html><html><br>Please log in to this network</html>"
XHTML = "<html xmlns='http://www.w3.org/1999/xhtml'><body>Please log in</body></html>"


def fails(kind, sources, *texts, spec=BOSTON):
    """Check that the set cannot be loaded, and that the message has the texts."""
    with pytest.raises(kind) as raised:
        openml.load(spec, sources)
    message = str(raised.value)
    missing = [text for text in (f"{spec.name}: ", *texts) if text not in message]
    assert missing == [], message
    return raised.value


def is_boston(dataset):
    expected = embedded.load(BOSTON)
    return np.array_equal(dataset.X, expected.X) and np.array_equal(dataset.y, expected.y)


@pytest.fixture
def offline(sources):
    return replace(sources, offline=True)


@pytest.fixture
def cached(server, sources):
    """The folder of Boston in a filled cache."""
    openml.load(BOSTON, sources)
    server.asked.clear()
    return next(sources.cache_dir.rglob("531"))


# ------------------------------------------------------------------------------- successful loads


@pytest.mark.parametrize("parquet", [False, True])
def test_download_then_cache_give_the_rows_of_the_repository(server, sources, offline, parquet):
    # CHAS and RAD are nominal: their values are expected, not the codes of their categories.
    server.sets = [served("boston", nominal=("CHAS", "RAD"), parquet=parquet)]
    downloaded = openml.load(BOSTON, sources)
    assert downloaded.source == "OpenML data set 531 (boston, version 1), downloaded"
    server.close()
    server.asked.clear()
    for again in (sources, offline):
        cached = openml.load(BOSTON, again)
        assert cached.source == "OpenML data set 531 (boston, version 1), from its cache"
        assert is_boston(downloaded)
        assert is_boston(cached)
        assert cached.X.dtype == cached.y.dtype == np.float64
        assert cached.in_original_order
    assert server.asked == []


def test_a_set_of_classes_is_made_from_the_frame(server, sources, offline):
    rows = [("t", 1, 2.5, "a"), ("t", 3, 4, "b"), ("t", 0, 9, "a"), ("t", 3, 7, "b")]
    columns = "part", "x", "y", "label"
    nominal = {"part": ["t"], "label": ["a", "b"]}
    server.sets.append(ServedSet(307, "toy", columns, rows, nominal=nominal))
    for where in (sources, offline):
        dataset = openml.load(toy_spec(), where, build_frame)
        assert dataset.X.tolist() == [[1, 2.5], [3, 4], [0, 9], [3, 7]]
        assert dataset.y.tolist() == [0, 1, 0, 1]
    with pytest.raises(DataCorrupt, match=r"SHA-256.*Delete this folder"):
        openml.load(toy_spec(content_hash="0"), offline, build_frame)


def test_small_whole_numbers_do_not_overflow(server, sources):
    """openml stores them as uint8."""
    server.sets.append(served("wine"))
    dataset = openml.load(SETS["wine"], sources)
    np.testing.assert_array_equal(dataset.y, embedded.load(SETS["wine"]).y)
    assert dataset.y.dtype == np.float64


def test_the_registry_and_not_openml_decides_which_columns_are_inputs(
    server, sources, monkeypatch
):
    spec, values = _folders.random_set("naval")
    monkeypatch.setitem(SETS, "naval", spec)
    columns = [spec.openml_target if c == spec.target else c for c in spec.columns]
    # OpenML ignores an input, and does not ignore the other target.
    ignored = [next(iter(spec.features))]
    server.sets.append(ServedSet(44969, "naval", columns, values.tolist(), ignored=ignored))
    dataset = load("naval", sources)
    assert dataset.X.shape == (30, 14)
    np.testing.assert_array_equal(dataset.y, values[:, spec.columns.index(spec.target)])


def test_arff_replaces_parquet_that_the_server_lost(server, sources):
    server.sets = [served("boston", nominal=("CHAS", "RAD"), parquet=True)]
    server.faults = [Fault(r"\.pq", "answer", 404, PAGE)]
    assert is_boston(openml.load(BOSTON, sources))


@pytest.mark.parametrize("variable", [None, "true", "false"])
def test_a_cached_arff_needs_no_parquet(server, sources, cached, monkeypatch, variable):
    """openml would download Parquet as well if the description announces it."""
    description = served("boston", nominal=("CHAS", "RAD"), parquet=True).description(server.base)
    (cached / "description.xml").write_text(description)
    if variable is not None:
        monkeypatch.setenv("OPENML_SKIP_PARQUET", variable)
    assert is_boston(openml.load(BOSTON, sources))
    assert server.asked == []
    assert os.environ.get("OPENML_SKIP_PARQUET") == variable


def test_the_default_cache_is_the_one_that_openml_uses(server, sources, openml_client, tmp_path):
    before = openml_client.config.get_config_as_dict()["cachedir"]
    openml_client.config.set_root_cache_directory(tmp_path / "mine")
    try:
        openml.load(BOSTON, replace(sources, cache_dir=None))
        assert openml_client.config.get_config_as_dict()["cachedir"] == tmp_path / "mine"
    finally:
        openml_client.config.set_root_cache_directory(before)
    assert len(list((tmp_path / "mine").rglob("531/dataset.arff"))) == 1


def test_the_configuration_of_openml_is_restored(server, sources, openml_client, monkeypatch):
    config = openml_client.config
    monkeypatch.setattr(config, "apikey", "SECRET")
    monkeypatch.setattr(config, "server", "https://mine.example/api/v1/xml")
    monkeypatch.setattr(config, "retry_policy", "robot")
    monkeypatch.setattr(config, "connection_n_retries", 7)
    monkeypatch.setenv("OPENML_SKIP_PARQUET", "perhaps")

    def settings():
        return config.get_config_as_dict(), os.environ["OPENML_SKIP_PARQUET"]

    before = settings()
    openml.load(BOSTON, sources)
    assert settings() == before
    server.faults = [Fault(r"/data/44972", "drop")]
    fails(DataUnavailable, sources, spec=SETS["wine"])
    assert settings() == before
    assert "SECRET" not in "".join(server.asked)


# ------------------------------------------------------------------------------ unavailable sets


@pytest.mark.parametrize(
    ("fault", "texts"),
    [
        (Fault(DESCRIPTION, "drop"), ["could not be reached", "1 tries"]),
        (Fault(ARFF, "drop"), ["could not be reached", "--data-dir"]),
        (Fault(ARFF, "truncate"), ["broke off", "--data-dir"]),
        (Fault(DESCRIPTION, "answer", 502, PAGE), ["did not send", "502", "Please log in"]),
        (Fault(DESCRIPTION, "answer", 404, XHTML), ["did not send", "a proxy or a login page"]),
        (Fault(DESCRIPTION, "answer", 200, PAGE), ["did not send", "a proxy or a login page"]),
        (Fault(DESCRIPTION, "answer", 200, XHTML), ["did not send", "a proxy or a login page"]),
        (Fault(ARFF, "answer", 503, PAGE), ["did not send", "503", "--data-dir"]),
        (Fault(DESCRIPTION, "answer", 412, error(107, "Database error")), ["Database error"]),
        (Fault(DESCRIPTION, "answer", 412, error(112, "No access")), ["No access"]),
        (
            Fault(DESCRIPTION, "answer", 412, error(111, "Unknown dataset")),
            ["does not know data set 531 (code 111: Unknown dataset)", "withdrawn", "--data-dir"],
        ),
    ],
    ids=lambda value: (
        f"{value.pattern}-{value.kind}-{value.status}" if isinstance(value, Fault) else None
    ),
)
def test_a_server_that_does_not_send_the_set(server, sources, fault, texts):
    server.faults = [fault]
    assert fails(DataUnavailable, sources, *texts).__cause__ is not None
    server.faults = []
    assert is_boston(openml.load(BOSTON, sources))  # the failure leaves nothing wrong behind


def test_a_request_is_tried_again(server, sources, monkeypatch):
    server.close()
    monkeypatch.setattr(openml, "TRIES", 2)
    fails(DataUnavailable, sources, "could not be reached", "2 tries")


def test_offline_without_a_cached_copy(server, sources, offline):
    fails(DataUnavailable, offline, "not in the OpenML cache (", "put boston.csv into a folder")
    assert server.asked == []


@pytest.mark.parametrize("lost", ["dataset.arff", "description.xml"])
def test_an_incomplete_copy_is_completed(server, sources, offline, cached, lost):
    (cached / lost).unlink()
    fails(DataUnavailable, offline, "--offline was given")
    assert server.asked == []
    assert openml.load(BOSTON, sources).source.endswith("downloaded")


def test_offline_does_not_ask_even_for_a_damaged_description(server, offline, cached):
    (cached / "description.xml").write_text(XHTML)
    fails(DataUnavailable, offline, "--data-dir")
    assert server.asked == []


def test_no_id_is_known(sources):
    fails(DataUnavailable, sources, "no OpenML id is known", "--data-dir", spec=SETS["power"])


@pytest.mark.parametrize("broken", [False, True])
def test_openml_cannot_be_imported(sources, monkeypatch, tmp_path, broken):
    monkeypatch.delitem(sys.modules, "openml", raising=False)
    if not broken:
        monkeypatch.setitem(sys.modules, "openml", None)
        fails(DataUnavailable, sources, "is not installed", "sk-deltauq[openml]", "--data-dir")
        return
    (tmp_path / "openml.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    fails(DataUnavailable, sources, "cannot be imported (ModuleNotFound", "no_such_package")


@pytest.mark.parametrize("broken", ["file", "full"])
def test_the_cache_cannot_be_written(server, sources, monkeypatch, broken):
    if broken == "file":
        sources.cache_dir.write_text("a file, not a folder")
    else:

        def fail(*args, **kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pickle.dump", fail)  # openml stores the parsed rows
    fails(DataUnavailable, sources, "cannot write to the OpenML cache", "--cache-dir")


# ---------------------------------------------------------------------------------- corrupt sets


@pytest.mark.parametrize("damage", ["cut", "changed", "page", "pickle"])
def test_a_damaged_copy_is_an_error_offline_and_else_downloaded_again(
    server, sources, offline, cached, caplog, damage
):
    arff, pickled = cached / "dataset.arff", cached / "dataset.pkl.py3"
    text = arff.read_text()
    if damage == "pickle":
        pickled.write_bytes(b"\x80\x05cut")
    else:
        pickled.unlink()
        arff.write_text(
            {"cut": text[: -len(text) // 2], "changed": text.replace("24\n", "25\n", 1)}.get(
                damage, PAGE
            )
        )
    fails(DataCorrupt, offline, f"The copy is in {cached}. Delete this folder")
    assert server.asked == []
    dataset = openml.load(BOSTON, sources)
    assert is_boston(dataset)
    assert dataset.source.endswith("downloaded")
    assert "The set is downloaded again." in caplog.text
    server.close()
    assert is_boston(openml.load(BOSTON, sources))


def test_one_changed_value_is_found_by_the_content_hash(server, offline, cached):
    (cached / "dataset.pkl.py3").unlink()
    arff = cached / "dataset.arff"
    arff.write_text(arff.read_text().replace("4.98", "4.99", 1))
    fails(DataCorrupt, offline, "SHA-256 of the sorted rows", f"expected {BOSTON.content_hash}")


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"rows": served("boston").rows[:20]}, ["found 20 rows and 13 inputs", "expected 506"]),
        ({"md5": "0" * 32}, ["does not have the MD5"]),
        ({"columns": [*served("boston").columns[:-1], "price"]}, ["column MEDV", "LSTAT, price"]),
        (
            {
                "rows": [["low", *row[1:]] for row in served("boston").rows],
                "nominal": {"CRIM": ["low"]},
            },
            ["cannot be read", "low"],
        ),
    ],
    ids=["cut", "md5", "no target", "text"],
)
def test_openml_sends_other_data(server, sources, changes, texts):
    server.sets = [replace(served("boston"), **changes)]
    fails(DataCorrupt, sources, *texts)
    server.sets = [served("boston")]
    assert is_boston(openml.load(BOSTON, sources))  # wrong rows in the cache are replaced


def test_a_page_in_place_of_parquet_is_replaced(server, sources):
    server.sets = [served("boston", nominal=("CHAS", "RAD"), parquet=True)]
    server.faults = [Fault(PARQUET, "answer", 200, PAGE)]
    fails(DataCorrupt, sources, "cannot be read", "Delete this folder")
    server.faults = []
    assert is_boston(openml.load(BOSTON, sources))


def test_a_copy_from_another_cache_can_be_moved_in(server, sources, cached, tmp_path):
    """A machine without a network gets its data in this way."""
    shutil.copytree(sources.cache_dir, tmp_path / "other")
    server.close()
    moved = replace(sources, cache_dir=tmp_path / "other", offline=True)
    assert is_boston(openml.load(BOSTON, moved))
