"""Files of the format IDX, and where they come from."""

import gzip

import numpy as np
import pytest

from benchmarks_uci.classification import fashion
from benchmarks_uci.datasets import DataCorrupt, DataUnavailable, Sources


def pack(array, kind=8):
    header = bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.astype(np.uint8).tobytes())


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(6, 28, 28)), np.array([0, 1, 1, 0, 1, 0])


@pytest.fixture
def folder(tmp_path, arrays):
    for name, array in zip(fashion.FILES, arrays, strict=True):
        (tmp_path / name).write_bytes(pack(array))
    return tmp_path


def test_packed_files_are_read(folder, arrays):
    for name, array in zip(fashion.FILES, arrays, strict=True):
        np.testing.assert_array_equal(fashion.read_idx(folder / name), array)


WRONG = {
    "no archive": (b"no archive", "is damaged"),
    "changed": (pack(np.arange(99))[:20] + b"\xff" * 20, "is damaged"),
    "cut off": (pack(np.arange(3))[:-9], "is damaged"),
    "short": (gzip.compress(b"\x00\x00"), "is no IDX file"),
    "floats": (pack(np.arange(3), kind=13), "is no IDX file"),
    "missing value": (
        gzip.compress(gzip.decompress(pack(np.arange(3)))[:-1]),
        r"2 values, expected \[3\]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_an_error(tmp_path, case):
    content, message = WRONG[case]
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataCorrupt, match=message):
        fashion.read_idx(tmp_path / "file")


def test_other_images_are_an_error(folder):
    with pytest.raises(DataCorrupt, match="found 6 rows, 784 features and 2 classes"):
        fashion.load(Sources(data_dir=folder))


def test_missing_files_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(fashion, "FOLDER", tmp_path / "package")
    for sources in (None, Sources(data_dir=tmp_path)):
        with pytest.raises(DataUnavailable, match="Debian package dataset-fashion-mnist"):
            fashion.load(sources)


def test_a_folder_is_the_only_source(monkeypatch, folder, tmp_path_factory):
    monkeypatch.setattr(fashion, "FOLDER", folder)
    with pytest.raises(DataUnavailable):
        fashion.load(Sources(data_dir=tmp_path_factory.mktemp("empty")))


@pytest.mark.skipif(not fashion.FOLDER.is_dir(), reason="the Debian package is not installed")
def test_the_package_holds_the_expected_images():
    dataset = fashion.load()
    assert np.bincount(dataset.y).tolist() == [1000] * 10
    assert dataset.kind == "images"
