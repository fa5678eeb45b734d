"""A folder given by the user as the source, in one of three layouts.

- A `manifest.json` with the keys `file, rows, features, target, excluded, sha256` for each set.
- `NAME.csv`, `NAME.txt` or `NAME.csv.gz`.
- `NAME/data/data.txt`, `index_features.txt` and `index_target.txt`. The inner folder `data` is
  optional. The outer folder may have the set's classic name, such as `bostonHousing`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from benchmarks_uci.datasets.checks import build, normalize_name
from benchmarks_uci.datasets.dataset import DataCorrupt, Dataset, DataUnavailable, RawTable
from benchmarks_uci.datasets.registry import Spec
from benchmarks_uci.datasets.text import read_bytes, read_table, read_text

SUFFIXES = (".csv", ".txt", ".csv.gz")
_MANIFEST_KEYS = {
    "file": str,
    "rows": int,
    "features": int,
    "target": str,
    "excluded": list,
    "sha256": str,
}


def load(spec: Spec, folder: Path) -> Dataset:
    """Load the set from the folder, which must hold it."""
    try:
        return _load(spec, Path(folder))
    except OSError as error:
        raise DataUnavailable(
            f"{spec.name}: the data folder {folder} cannot be read ({error})."
        ) from error


def _load(spec, folder):
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise DataUnavailable(
            f"{spec.name}: the data folder {folder} {what}. Give --data-dir a folder that holds "
            f"manifest.json, {spec.name}.csv or {spec.name}/data/data.txt."
        )
    entry = _manifest_entry(spec, folder / "manifest.json")
    if entry is not None:
        return _load_manifest(spec, folder, entry)
    path = _find_only(spec, [folder / f"{spec.name}{suffix}" for suffix in SUFFIXES])
    if path is not None:
        return build(spec, _read_plain(spec, path))
    names = dict.fromkeys((spec.name, *spec.folders))
    path = _find_only(
        spec, [folder / n / inner / "data.txt" for n in names for inner in ("data", "")]
    )
    if path is not None:
        return build(spec, *_read_classic(spec, path))
    held = sorted(child.name for child in folder.iterdir())
    raise DataUnavailable(
        f"{spec.name}: the data folder {folder} has no manifest.json that lists it, no "
        f"{' or '.join(spec.name + suffix for suffix in SUFFIXES)}, and no "
        f"{' or '.join(f'{n}/data/data.txt' for n in names)}. It holds: "
        f"{', '.join(held[:20]) or 'nothing'}{', ...' if len(held) > 20 else ''}."
    )


def _find_only(spec, paths):
    """The only existing path, or None."""
    found = [path for path in paths if path.exists()]
    if len(found) > 1:
        raise DataCorrupt(
            f"{spec.name}: the data folder holds {' and '.join(map(str, found))}; keep one."
        )
    return found[0] if found else None


def _manifest_entry(spec, path):
    """The checked entry of the set in the manifest, or None without an entry."""
    if not path.exists():
        return None
    try:
        manifest = json.loads(read_text(path, spec.name))
    except json.JSONDecodeError as error:
        raise DataCorrupt(f"{spec.name}: {path} is not JSON ({error}).") from error
    if not isinstance(manifest, dict):
        raise DataCorrupt(f"{spec.name}: {path} must be an object with one entry per set.")
    if spec.name not in manifest:
        return None
    entry = manifest[spec.name]
    for key, kind in _MANIFEST_KEYS.items():
        if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
            raise DataCorrupt(
                f"{spec.name}: its entry in {path} must have {key!r}, of type {kind.__name__}; "
                f"found {entry!r}."
            )
    return entry


def _load_manifest(spec, folder, entry):
    path = folder / entry["file"]
    if not path.is_file():
        raise DataCorrupt(f"{spec.name}: {folder / 'manifest.json'} lists {path}: no such file.")
    found = hashlib.sha256(read_bytes(path, spec.name)).hexdigest()
    if found != entry["sha256"].lower():
        raise DataCorrupt(
            f"{spec.name}: {path} has SHA-256 {found}, its manifest says {entry['sha256']}. The "
            f"file is truncated or was replaced; download it again."
        )
    table = _read_plain(spec, path)
    excluded = {normalize_name(str(column)) for column in entry["excluded"]}
    kept = [i for i, column in enumerate(table.columns) if normalize_name(column) not in excluded]
    for what, count in (("rows", len(table.values)), ("features", len(kept) - 1)):
        if count != entry[what]:
            raise DataCorrupt(
                f"{spec.name}: {path} has {count} {what}, its manifest says {entry[what]}."
            )
    return build(spec, table.select(kept), entry["target"])


def _read_plain(spec, path):
    header, values = read_table(path, spec.name)
    names = header or _published_names(spec, values.shape[1])
    if names is None:
        raise DataCorrupt(
            f"{spec.name}: {path} has no header and {values.shape[1]} columns, expected "
            f"{len(spec.columns)}: {', '.join(spec.columns)}."
        )
    return RawTable(names, values, f"file {path}")


def _published_names(spec, n_columns):
    """The published column names for this number of columns, or None.

    The excluded columns may be present or absent.
    """
    excluded = {normalize_name(name) for name in spec.excluded}
    without = tuple(name for name in spec.columns if normalize_name(name) not in excluded)
    return {len(without): without, len(spec.columns): spec.columns}.get(n_columns)


def _read_classic(spec, path):
    """The table of the classic layout and the name of its target."""
    _, values = read_table(path, spec.name)
    n_columns = values.shape[1]
    inputs, target = (
        _read_indices(spec, path.with_name(file), n_columns)
        for file in ("index_features.txt", "index_target.txt")
    )
    if len(target) != 1:
        raise DataCorrupt(
            f"{spec.name}: {path.with_name('index_target.txt')} must name one column, names "
            f"{len(target)}."
        )
    names = _published_names(spec, n_columns) or tuple(f"column{i}" for i in range(n_columns))
    kept = [*(i for i in inputs if i != target[0]), target[0]]
    table = RawTable(names, values, f"file {path}")
    return table.select(kept), names[target[0]]


def _read_indices(spec, path, n_columns):
    if not path.exists():
        raise DataCorrupt(f"{spec.name}: {path} is missing; data.txt needs it.")
    _, values = read_table(path, spec.name)
    indices = values.ravel()
    if not (np.isin(indices, np.arange(n_columns)).all() and len(set(indices)) == len(indices)):
        raise DataCorrupt(
            f"{spec.name}: {path} must hold different column numbers from 0 to {n_columns - 1}, "
            f"because data.txt has {n_columns} columns; found {indices.tolist()}."
        )
    return indices.astype(int).tolist()
