"""Data folders for tests, with a real small set or with random rows for a large one."""

import gzip
import hashlib
import json
from dataclasses import replace

import numpy as np

from benchmarks_uci.datasets import SETS, embedded


def rows(name):
    """All columns of an embedded set in the published order, with the target last."""
    dataset = embedded.load(SETS[name])
    return np.column_stack([dataset.X, dataset.y])


def text(values, header=None, delimiter=","):
    lines = [delimiter.join(f"{value:.15g}" for value in row) for row in values]
    return "\n".join([*([delimiter.join(header)] if header else []), *lines, ""])


def write_manifest(folder, name, content, **changes):
    """Write a folder in the manifest format with one set, and return the path of its data."""
    path = folder / f"{name}.csv.gz"
    path.write_bytes(gzip.compress(content.encode()))
    spec = SETS[name]
    entry = {
        "file": path.name,
        "rows": spec.n_rows,
        "features": spec.n_features,
        "target": spec.target,
        "excluded": [],
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        **changes,
    }
    (folder / "manifest.json").write_text(json.dumps({name: entry}))
    return path


def write_classic(folder, values, inputs, target):
    folder.mkdir(parents=True)
    (folder / "data.txt").write_text(text(values, delimiter=" "))
    (folder / "index_features.txt").write_text(text([[i] for i in inputs]))
    (folder / "index_target.txt").write_text(text([[i] for i in target]))


def random_set(name, n_rows=30):
    """The registry's spec adapted to random rows, and these rows with all published columns."""
    spec = SETS[name]
    rng = np.random.default_rng(0)
    values = rng.normal(np.arange(len(spec.columns)), 1.0, (n_rows, len(spec.columns))).round(3)
    inputs = [spec.columns.index(feature) for feature in spec.features]
    target = spec.columns.index(spec.target)
    # Python's sort computes the hash in a second way; the code uses lexsort.
    kept = [tuple(row) for row in values[:, [*inputs, target]].tolist()]
    in_order, in_sorted = (
        hashlib.sha256("\n".join(",".join(f"{v:g}" for v in row) for row in some).encode())
        for some in (kept, sorted(kept))
    )
    features = {
        feature: (values[:, i].mean(), values[:, i].std())
        for feature, i in zip(spec.features, inputs, strict=True)
    }
    spec = replace(
        spec,
        n_rows=n_rows,
        features=features,
        target_mean=values[:, target].mean(),
        target_std=values[:, target].std(),
        content_hash=in_sorted.hexdigest(),
        order_hash=in_order.hexdigest(),
    )
    return spec, values
