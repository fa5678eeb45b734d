"""Tables of numbers in text files, with errors that name the line."""

from __future__ import annotations

import csv
import gzip
import zlib
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks_uci.datasets.errors import DataCorrupt, DataUnavailable


def read_table(path: Path, name: str) -> tuple[tuple[str, ...] | None, np.ndarray]:
    """The header, if there is one, and the numbers of a text file, which may be gzipped.

    Cells are parted by commas, semicolons or white space; blank lines are passed over.

    Parameters
    ----------
    path : Path
    name : str
        Of the data set, for messages.
    """
    text = read_text(path, name)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise DataCorrupt(f"{name}: {path} is empty.")
    cells = _splitter(lines[0][1])
    first = cells(lines[0][1])
    header = None if any(map(_is_number, first)) else tuple(cell.strip() for cell in first)
    rows = [
        _numbers(cells(line), len(first), number, path, name)
        for number, line in (lines if header is None else lines[1:])
    ]
    if not rows:
        raise DataCorrupt(f"{name}: {path} has no row of numbers; it begins with {_start(text)}.")
    return header, np.array(rows)


def read_text(path: Path, name: str) -> str:
    """All of a text file that is no web page, unpacked if its name ends in .gz."""
    try:
        content = path.read_bytes()
        # Before unpacking too: a page may have been saved under a name that ends in .gz.
        if path.suffix == ".gz" and not content.startswith(b"<"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataCorrupt(
            f"{name}: {path} cannot be unpacked ({error}). It is truncated, or was not made by "
            f"gzip; fetch it again."
        ) from error
    except UnicodeDecodeError as error:
        raise DataCorrupt(f"{name}: {path} is not a text file ({error}).") from error
    except OSError as error:
        raise DataUnavailable(f"{name}: cannot read {path} ({error.strerror}).") from error
    if text.lstrip().startswith("<"):
        raise DataCorrupt(
            f"{name}: {path} is a web page or XML, not data: it begins with {_start(text)}. An "
            f"error or login page may have been saved in its place; fetch the file again."
        )
    return text


def _start(text):
    return repr(text.strip()[:40])


def _splitter(line):
    for delimiter in ",;":
        if delimiter in line:
            return partial(_split, delimiter=delimiter)
    return str.split


def _split(line, delimiter):
    return next(csv.reader([line], delimiter=delimiter))


def _numbers(cells, n_columns, number, path, name):
    if len(cells) != n_columns:
        raise DataCorrupt(
            f"{name}: line {number} of {path} has {len(cells)} columns, expected {n_columns} as "
            f"in its first line. The file may be truncated."
        )
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        column, text = next((i, c) for i, c in enumerate(cells, 1) if not _is_number(c))
        raise DataCorrupt(
            f"{name}: line {number} of {path} has {text.strip()[:40]!r} in column {column}, "
            f"expected a number."
        ) from None


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True
