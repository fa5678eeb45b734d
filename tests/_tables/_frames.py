"""One small table with every kind of column, in the three packages."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

N = 60


def make_frame():
    """Return numbers, text, a category of numbers, flags and counts, each with missing values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, N),
            "town": rng.choice(["Rome", "Oslo", "Bern"], N),
            "grade": pd.Categorical(rng.choice([1, 2, 3], N)),
            "member": pd.array(rng.random(N) > 0.5, dtype="boolean"),
            "visits": pd.array(rng.integers(0, 9, N), dtype="Int64"),
        }
    )
    X.loc[[3, 8], "age"] = np.nan
    X.loc[[5, 8], "town"] = None
    X.loc[[7], "grade"] = None
    X.loc[[2, 3], "member"] = pd.NA
    X.loc[[30], "visits"] = pd.NA
    return X


def make_target():
    X = make_frame()
    return np.where(X["town"] == "Rome", 5.0, 0.0) + X["age"].fillna(40).to_numpy() / 10


def to_polars(X):
    """Convert to polars, which has no categories of numbers: such columns become numbers."""
    return pl.from_pandas(X)


def to_arrow(X):
    return pa.Table.from_pandas(X, preserve_index=False)
