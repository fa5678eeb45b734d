import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks_uci.datasets import SETS, DataCorrupt, DataUnavailable, folder
from tests.benchmarks_uci.datasets import _folders

BOSTON = SETS["boston"]


@pytest.fixture(scope="module")
def values():
    return _folders.rows("boston")


@pytest.fixture(scope="module")
def content(values):
    return _folders.text(values, BOSTON.columns)


def assert_is_boston(dataset, values, path):
    assert np.array_equal(dataset.X, values[:, :13])
    assert np.array_equal(dataset.y, values[:, 13])
    assert dataset.in_original_order
    assert dataset.source == f"file {path}"


@pytest.mark.parametrize("function", ["is_dir", "exists", "iterdir"])
def test_folder_without_read_permission(tmp_path, monkeypatch, function):
    # The tests may run as root, who can read every folder.
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, function, refuse)
    with pytest.raises(DataUnavailable, match=r"yacht: the data folder .*Permission denied"):
        folder.load(SETS["yacht"], tmp_path)


def test_manifest(tmp_path, values, content):
    path = _folders.write_manifest(tmp_path, "boston", content)
    assert_is_boston(folder.load(BOSTON, tmp_path), values, path)


@pytest.mark.parametrize("file", ["boston.csv", "boston.txt", "boston.csv.gz"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("delimiter", [",", " "])
def test_plain_file(tmp_path, values, file, header, delimiter):
    text = _folders.text(values, BOSTON.columns if header else None, delimiter).encode()
    (tmp_path / file).write_bytes(gzip.compress(text) if file.endswith(".gz") else text)
    assert_is_boston(folder.load(BOSTON, tmp_path), values, tmp_path / file)


@pytest.mark.parametrize("outer", ["boston", "bostonHousing"])
@pytest.mark.parametrize("inner", ["data", "."])
def test_classic_layout(tmp_path, values, outer, inner):
    _folders.write_classic(tmp_path / outer / inner, values, range(13), [13])
    assert_is_boston(folder.load(BOSTON, tmp_path), values, tmp_path / outer / inner / "data.txt")


def test_classic_layout_uses_its_index_files(tmp_path, values):
    more = np.column_stack([values[:, 13], values[:, 12::-1], np.arange(len(values))])
    _folders.write_classic(tmp_path / "boston", more, range(1, 14), [0])
    assert_is_boston(folder.load(BOSTON, tmp_path), values, tmp_path / "boston" / "data.txt")


@pytest.mark.parametrize("index_target", [[16], [17]])
def test_classic_naval(tmp_path, index_target):
    spec, values = _folders.random_set("naval")
    _folders.write_classic(
        tmp_path / "naval-propulsion-plant" / "data", values, range(16), index_target
    )
    if index_target == [16]:
        dataset = folder.load(spec, tmp_path)
        assert np.array_equal(dataset.y, values[:, 16])
        assert dataset.X.shape == (30, 14)
    else:  # the last column is the turbine decay, a common mistake
        with pytest.raises(DataCorrupt, match=r"deviation of compressor_decay: found .*expected"):
            folder.load(spec, tmp_path)


def test_naval_manifest_counts_the_constant_columns(tmp_path):
    spec, values = _folders.random_set("naval")
    text = _folders.text(values, spec.columns)
    counts = {"rows": 30, "features": 16, "excluded": ["turbine_decay"]}
    _folders.write_manifest(tmp_path, "naval", text, **counts)
    assert folder.load(spec, tmp_path).X.shape == (30, 14)


@pytest.mark.parametrize("both", [True, False])
def test_energy_with_and_without_the_cooling_load(tmp_path, both):
    spec, values = _folders.random_set("energy")
    (tmp_path / "energy.txt").write_text(_folders.text(values if both else values[:, :9]))
    assert np.array_equal(folder.load(spec, tmp_path).y, values[:, 8])


def test_missing_folder(tmp_path):
    with pytest.raises(DataUnavailable, match=r"boston: the data folder .*none does not exist"):
        folder.load(BOSTON, tmp_path / "none")


def test_file_instead_of_a_folder(tmp_path, content):
    (tmp_path / "boston.csv").write_text(content)
    with pytest.raises(
        DataUnavailable, match=r"is a file, not a folder. Give --data-dir a folder"
    ):
        folder.load(BOSTON, tmp_path / "boston.csv")


def test_error_lists_the_files_of_the_folder(tmp_path, content):
    with pytest.raises(DataUnavailable, match="It holds: nothing"):
        folder.load(BOSTON, tmp_path)
    _folders.write_manifest(tmp_path, "boston", content)
    (tmp_path / "yacht_hydrodynamics.data").touch()
    with pytest.raises(DataUnavailable, match=r"holds: boston.csv.gz, manifest.json, yacht_hydro"):
        folder.load(SETS["yacht"], tmp_path)


def test_two_files_for_the_same_set(tmp_path, content):
    for file in ("boston.csv", "boston.txt"):
        (tmp_path / file).write_text(content)
    with pytest.raises(DataCorrupt, match=r"boston\.csv and .*boston\.txt; keep one"):
        folder.load(BOSTON, tmp_path)


def test_manifest_takes_precedence_over_a_plain_file(tmp_path, values, content):
    path = _folders.write_manifest(tmp_path, "boston", content)
    (tmp_path / "boston.csv").write_text("<html>")
    assert_is_boston(folder.load(BOSTON, tmp_path), values, path)


def test_manifest_lists_a_missing_file(tmp_path, content):
    _folders.write_manifest(tmp_path, "boston", content).unlink()
    (tmp_path / "boston.csv").write_text(content)
    with pytest.raises(DataCorrupt, match=r"manifest\.json lists .*boston\.csv\.gz: no such file"):
        folder.load(BOSTON, tmp_path)


def test_truncated_file_has_another_hash_than_its_manifest(tmp_path, content):
    path = _folders.write_manifest(tmp_path, "boston", content)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(
        DataCorrupt, match=r"has SHA-256 [0-9a-f]{64}, its manifest .*[0-9a-f]{64}"
    ):
        folder.load(BOSTON, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 507}, "has 506 rows, its manifest says 507"),
        ({"features": 12}, "has 13 features, its manifest says 12"),
        ({"excluded": ["LSTAT"]}, "has 12 features, its manifest says 13"),
        ({"rows": None}, "must have 'rows', of type int"),
        ({"target": "price"}, "must have one column price, the target, and has 0"),
        ({"target": "LSTAT"}, "found 12.6531 and 7.134, expected 22.5328 and 9.18801"),
    ],
)
def test_manifest_that_contradicts_its_file(tmp_path, content, change, message):
    _folders.write_manifest(tmp_path, "boston", content, **change)
    with pytest.raises(DataCorrupt, match=message):
        folder.load(BOSTON, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[]", "must be an object"), ('{"boston": 1}', "must have 'file'")],
)
def test_malformed_manifest(tmp_path, text, message):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataCorrupt, match=message):
        folder.load(BOSTON, tmp_path)


def test_truncated_plain_file(tmp_path, content):
    (tmp_path / "boston.csv").write_text(content[:-20])
    with pytest.raises(
        DataCorrupt, match=r"line 507 of .*boston\.csv has 10 columns, expected 14"
    ):
        folder.load(BOSTON, tmp_path)
    (tmp_path / "boston.csv").write_text(content[: content.index("\n", 9000)])
    with pytest.raises(DataCorrupt, match=r"found \d+ rows and 13 inputs .*expected 506 and 13"):
        folder.load(BOSTON, tmp_path)


def test_plain_file_without_header_and_with_a_wrong_width(tmp_path, values):
    (tmp_path / "boston.csv").write_text(_folders.text(values[:, 1:]))
    with pytest.raises(DataCorrupt, match="no header and 13 columns, expected 14: CRIM, ZN"):
        folder.load(BOSTON, tmp_path)


@pytest.mark.parametrize("file", ["index_features.txt", "index_target.txt"])
def test_classic_layout_without_an_index_file(tmp_path, values, file):
    _folders.write_classic(tmp_path / "boston", values, range(13), [13])
    (tmp_path / "boston" / file).unlink()
    with pytest.raises(DataCorrupt, match=f"{file} is missing"):
        folder.load(BOSTON, tmp_path)


@pytest.mark.parametrize(
    ("inputs", "target", "message"),
    [
        (range(13), [14], r"column numbers from 0 to 13, .*found \[14.0\]"),
        (range(13), [13.5], r"column numbers from 0 to 13, .*found \[13.5\]"),
        (range(13), [12, 13], "must name one column, names 2"),
        ([*range(12), 11], [13], r"must hold different column numbers"),
        (range(12), [13], "found 506 rows and 12 inputs"),
    ],
)
def test_classic_layout_with_wrong_indices(tmp_path, values, inputs, target, message):
    _folders.write_classic(tmp_path / "boston", values, inputs, target)
    with pytest.raises(DataCorrupt, match=message):
        folder.load(BOSTON, tmp_path)
