"""A folder that the user names: three layouts, and an error for all else.

- A `manifest.json` that gives for each set `file, rows, features, target, excluded, sha256`.
- `NAME.csv`, `NAME.txt` or `NAME.csv.gz`.
- `NAME/data/data.txt`, `index_features.txt` and `index_target.txt`, with or without the inner
  `data`; the outer folder may bear the set's classic name, such as `bostonHousing`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from benchmarks_uci.datasets.checks import build, plain
from benchmarks_uci.datasets.dataset import Dataset, RawTable
from benchmarks_uci.datasets.errors import DataCorrupt, DataUnavailable
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
    """The set from the folder, which must hold it."""
    try:
        return _load(spec, Path(folder))
    except OSError as error:
        raise DataUnavailable(
            f"{spec.name}: the data folder {folder} cannot be looked into ({error})."
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
    path = _only(spec, [folder / f"{spec.name}{suffix}" for suffix in SUFFIXES])
    if path is not None:
        return build(spec, _plain_table(spec, path))
    names = dict.fromkeys((spec.name, *spec.folders))
    path = _only(spec, [folder / n / inner / "data.txt" for n in names for inner in ("data", "")])
    if path is not None:
        return build(spec, *_classic_table(spec, path))
    held = sorted(child.name for child in folder.iterdir())
    raise DataUnavailable(
        f"{spec.name}: the data folder {folder} has no manifest.json that lists it, no "
        f"{' or '.join(spec.name + suffix for suffix in SUFFIXES)}, and no "
        f"{' or '.join(f'{n}/data/data.txt' for n in names)}. It holds: "
        f"{', '.join(held[:20]) or 'nothing'}{', ...' if len(held) > 20 else ''}."
    )


def _only(spec, paths):
    """The one path that is there, or None."""
    found = [path for path in paths if path.exists()]
    if len(found) > 1:
        raise DataCorrupt(
            f"{spec.name}: the data folder holds {' and '.join(map(str, found))}; leave one."
        )
    return found[0] if found else None


def _manifest_entry(spec, path):
    """What the manifest says of the set, checked; None if it says nothing."""
    if not path.exists():
        return None
    try:
        manifest = json.loads(read_text(path, spec.name))
    except json.JSONDecodeError as error:
        raise DataCorrupt(f"{spec.name}: {path} is not JSON ({error}).") from error
    if not isinstance(manifest, dict):
        raise DataCorrupt(f"{spec.name}: {path} must be an object with one entry a set.")
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
            f"{spec.name}: {path} has SHA-256 {found}, the manifest beside it says "
            f"{entry['sha256']}. The file is truncated or another; fetch it again."
        )
    table = _plain_table(spec, path)
    left_out = {plain(str(column)) for column in entry["excluded"]}
    kept = [i for i, column in enumerate(table.columns) if plain(column) not in left_out]
    for what, count in (("rows", len(table.values)), ("features", len(kept) - 1)):
        if count != entry[what]:
            raise DataCorrupt(
                f"{spec.name}: {path} has {count} {what}, the manifest beside it says "
                f"{entry[what]}."
            )
    return build(spec, table.keep(kept), entry["target"])


def _plain_table(spec, path):
    header, values = read_table(path, spec.name)
    names = header or _published_names(spec, values.shape[1])
    if names is None:
        raise DataCorrupt(
            f"{spec.name}: {path} has no header and {values.shape[1]} columns, expected "
            f"{len(spec.columns)}: {', '.join(spec.columns)}."
        )
    return RawTable(names, values, f"file {path}")


def _published_names(spec, n_columns):
    """The names of a published file's columns, with or without those that are no inputs."""
    excluded = {plain(name) for name in spec.excluded}
    without = tuple(name for name in spec.columns if plain(name) not in excluded)
    return {len(without): without, len(spec.columns): spec.columns}.get(n_columns)


def _classic_table(spec, path):
    """The table of the classic layout, and the target's name in it."""
    _, values = read_table(path, spec.name)
    n_columns = values.shape[1]
    inputs, target = (
        _indices(spec, path.with_name(file), n_columns)
        for file in ("index_features.txt", "index_target.txt")
    )
    if len(target) != 1:
        raise DataCorrupt(
            f"{spec.name}: {path.with_name('index_target.txt')} must name one column, names "
            f"{len(target)}."
        )
    names = _published_names(spec, n_columns) or [f"column{i}" for i in range(n_columns)]
    kept = [*(i for i in inputs if i != target[0]), target[0]]
    table = RawTable(tuple(names), values, f"file {path}")
    return table.keep(kept), names[target[0]]


def _indices(spec, path, n_columns):
    if not path.exists():
        raise DataCorrupt(f"{spec.name}: {path} is missing; data.txt beside it needs it.")
    _, values = read_table(path, spec.name)
    indices = values.ravel()
    if not (np.isin(indices, np.arange(n_columns)).all() and len(set(indices)) == len(indices)):
        raise DataCorrupt(
            f"{spec.name}: {path} must hold different column numbers from 0 to {n_columns - 1}, "
            f"as data.txt has {n_columns} columns; found {indices.tolist()}."
        )
    return indices.astype(int).tolist()
