"""Read tables of numbers from text files, with errors that name the line."""

from __future__ import annotations

import csv
import gzip
import zlib
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks_uci.datasets.dataset import DataCorrupt, DataUnavailable


def read_table(path: Path, name: str) -> tuple[tuple[str, ...] | None, np.ndarray]:
    """Read the header (or None) and the numbers of a text file, which may be gzipped.

    Commas, semicolons or white space separate the cells. Blank lines do not count. `name` is the
    data set, for messages.
    """
    text = read_text(path, name)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise DataCorrupt(f"{name}: {path} is empty.")
    cells = _find_splitter(lines[0][1])
    first = cells(lines[0][1])
    header = None
    if not any(map(_is_number, first)):
        header = tuple(cell.strip() for cell in first)
        del lines[0]
    rows = [_parse_numbers(cells(line), len(first), number, path, name) for number, line in lines]
    if not rows:
        raise DataCorrupt(f"{name}: {path} has no row of numbers; it begins with {_start(text)}.")
    return header, np.array(rows)


def read_text(path: Path, name: str) -> str:
    """Read a text file, unpacked if its name ends in .gz. A web page is an error."""
    content = read_bytes(path, name)
    try:
        # A web page may have been saved under a name that ends in .gz.
        if path.suffix == ".gz" and not content.startswith(b"<"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataCorrupt(
            f"{name}: {path} cannot be unpacked ({error}). It is truncated, or not a gzip "
            f"file; download it again."
        ) from error
    except UnicodeDecodeError as error:
        raise DataCorrupt(f"{name}: {path} is not a text file ({error}).") from error
    if text.lstrip().startswith("<"):
        raise DataCorrupt(
            f"{name}: {path} is a web page or XML, not data: it begins with {_start(text)}. An "
            f"error or login page may have been saved in its place; download the file again."
        )
    return text


def read_bytes(path: Path, name: str) -> bytes:
    """Read a file, with an error that names the set."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"{name}: cannot read {path} ({error.strerror}).") from error


def _start(text):
    return repr(text.strip()[:40])


def _find_splitter(line):
    for delimiter in ",;":
        if delimiter in line:
            return partial(_split, delimiter=delimiter)
    return str.split


def _split(line, delimiter):
    return next(csv.reader([line], delimiter=delimiter))


def _parse_numbers(cells, n_columns, number, path, name):
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
