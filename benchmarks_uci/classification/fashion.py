"""Fashion-MNIST: 28 x 28 images of clothes, with MNIST as strange images.

Its 10,000 test images are the whole set here. They have the format IDX, as published: a header of
big-endian numbers, then one byte per pixel.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np

from benchmarks_uci.classification.sets import LabelledSet, Spec, build
from benchmarks_uci.datasets import DataCorrupt, DataUnavailable, Sources

NAME = "fashion"
FILES = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
PACKAGE = "dataset-fashion-mnist"  # of Debian
FOLDER = Path("/usr/share/datasets/fashion-mnist")  # of this package
SPEC = Spec(
    name=NAME,
    title="Fashion-MNIST, the 10,000 test images",
    citation="Xiao, H., Rasul, K. and Vollgraf, R. (2017). Fashion-MNIST: a novel image dataset "
    "for benchmarking machine learning algorithms. arXiv:1708.07747.",
    licence="MIT",
    n_rows=10_000,
    n_features=784,
    n_classes=10,
    shape=(28, 28),
    other="mnist5k",
    content_hash="218856b7732158aff8d4e5c9a678511c883fdfba1e9e5877570b09a8861e7305",
)


def load(sources: Sources | None = None) -> LabelledSet:
    """Load the images from `sources.data_dir` if it is given, else from the Debian package.

    Raises
    ------
    DataUnavailable
        No source has the images.
    DataCorrupt
        The source has other images than expected.
    """
    given = None if sources is None else sources.data_dir
    folder = FOLDER if given is None else Path(given)
    if not all((folder / name).is_file() for name in FILES):
        raise DataUnavailable(
            f"{NAME}: {folder} must hold {' and '.join(FILES)}. Put the files of "
            "https://github.com/zalandoresearch/fashion-mnist into a folder and pass --data-dir "
            f"FOLDER, or install the Debian package {PACKAGE} and leave --data-dir out."
        )
    images, labels = (read_idx(folder / name) for name in FILES)
    return build(SPEC, images.reshape(len(images), -1), labels, f"folder {folder}")


def read_idx(path: Path) -> np.ndarray:
    """Read a packed IDX file of bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataCorrupt(f"{NAME}: {path} is damaged: {error}.") from error
    # Two zeros, the type (8: bytes), and the number of axes
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise DataCorrupt(f"{NAME}: {path} is no IDX file of bytes.")
    n_axes = content[3]
    shape = np.frombuffer(content, ">u4", count=n_axes, offset=4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
    if len(values) != np.prod(shape, dtype=int):
        raise DataCorrupt(f"{NAME}: {path} has {len(values)} values, expected {shape.tolist()}.")
    return values.reshape(shape)
