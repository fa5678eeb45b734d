"""Make a data set from a raw table, and check that its rows are the expected ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from benchmarks_uci.datasets.dataset import DataCorrupt, Dataset, RawTable
from benchmarks_uci.datasets.registry import Spec

# Allowed difference of a column's mean and standard deviation, in units of the latter. Rounding to
# five digits stays below it.
RELATIVE_TOLERANCE = 1e-4


def build(spec: Spec, table: RawTable, target: str | None = None) -> Dataset:
    """Split the table into inputs and target, and check both against `spec`.

    The inputs get the order and the names of the registry, so a method sees the same numbers from
    every source.

    `target` is the target's name in this table; None searches for the names in the registry. If
    the rows differ from the expected rows, the message of the `DataCorrupt` gives both.
    """
    X, y, names = _split_columns(spec, table, target)
    _check_shape(spec, table, X, names)
    _check_finite(spec, table, X, y, names)
    X = np.ascontiguousarray(X[:, _match_columns(spec, X)])
    _check_moments(spec, table, X, y)
    rows = np.column_stack([X, y])
    order = np.lexsort(rows.T[::-1])  # by the first column, then the second, ...
    pattern = ",".join(["%.6g"] * rows.shape[1])
    lines = [pattern % tuple(row) for row in rows.tolist()]
    content_hash = _sha256(lines[i] for i in order)
    if content_hash != spec.content_hash:
        raise DataCorrupt(
            f"{spec.name}: {table.source} is not the expected data: its shape, means and standard "
            f"deviations are right, its rows are not. SHA-256 of the sorted rows at six digits: "
            f"found {content_hash}, expected {spec.content_hash}. Values were changed or rounded "
            f"differently from the published file; use another source."
        )
    return Dataset(
        name=spec.name,
        X=X,
        y=y,
        feature_names=tuple(spec.features),
        source=table.source,
        content_hash=content_hash,
        order=order,
        in_original_order=_sha256(lines) == spec.order_hash,
    )


def normalize_name(name: str) -> str:
    """A column's name without case and punctuation, because these differ between sources."""
    return "".join(character for character in name.lower() if character.isalnum())


def _split_columns(spec, table, target):
    """The inputs, the target, and the inputs' names in the table."""
    known = (spec.target, spec.openml_target, *spec.aliases) if target is None else (target,)
    targets = {normalize_name(name) for name in known}
    excluded = {normalize_name(name) for name in spec.excluded}
    found = [i for i, name in enumerate(table.columns) if normalize_name(name) in targets]
    if len(found) != 1:
        raise DataCorrupt(
            f"{spec.name}: {table.source} must have one column {' or '.join(dict.fromkeys(known))}"
            f", the target, and has {len(found)}; its columns are {', '.join(table.columns)}."
        )
    inputs = [
        i
        for i, name in enumerate(table.columns)
        if i != found[0] and normalize_name(name) not in excluded
    ]
    values = np.asarray(table.values, dtype=np.float64)
    return values[:, inputs], values[:, found[0]].copy(), [table.columns[i] for i in inputs]


def _check_shape(spec, table, X, names):
    if X.shape != (spec.n_rows, spec.n_features):
        raise DataCorrupt(
            f"{spec.name}: {table.source} is not the expected data: found {X.shape[0]} rows and "
            f"{X.shape[1]} inputs ({', '.join(names)}), expected {spec.n_rows} and "
            f"{spec.n_features} ({', '.join(spec.features)})."
        )


def _check_finite(spec, table, X, y, names):
    wrong = np.argwhere(~np.isfinite(np.column_stack([X, y])))
    if len(wrong):
        row, column = wrong[0]
        name = [*names, spec.target][column]
        raise DataCorrupt(
            f"{spec.name}: {table.source} has {len(wrong)} missing or infinite values, the first "
            f"in row {row + 1}, column {name}; expected none."
        )


def _match_columns(spec, X):
    """Indices that sort the columns of `X` as in the registry, by mean and standard deviation.

    The present order if the columns match it, or if no order matches.
    """
    expected = np.array(list(spec.features.values()))
    found = np.column_stack([X.mean(axis=0), X.std(axis=0)])
    present = np.arange(X.shape[1])
    if _are_close(found, expected).all():
        return present
    matched = np.empty_like(present)
    matched[np.lexsort(expected.T)] = np.lexsort(found.T)
    return matched if _are_close(found[matched], expected).all() else present


def _check_moments(spec, table, X, y):
    names = [*spec.features, spec.target]
    expected = np.array([*spec.features.values(), (spec.target_mean, spec.target_std)])
    rows = np.column_stack([X, y])
    found = np.column_stack([rows.mean(axis=0), rows.std(axis=0)])
    wrong = [
        f"{name}: found {mean:.6g} and {std:.6g}, expected {right_mean:.6g} and {right_std:.6g}"
        for name, (mean, std), (right_mean, right_std), agrees in zip(
            names, found, expected, _are_close(found, expected).tolist(), strict=True
        )
        if not agrees
    ]
    if wrong:
        raise DataCorrupt(
            f"{spec.name}: {table.source} is not the expected data. Mean and standard deviation "
            f"of {'; '.join(wrong)}."
        )


def _are_close(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.abs(found - expected).max(axis=1) <= RELATIVE_TOLERANCE * expected[:, 1]


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
