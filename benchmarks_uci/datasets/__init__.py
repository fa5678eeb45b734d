"""The nine UCI regression sets, and where their rows may come from."""

from benchmarks_uci.datasets.dataset import Dataset
from benchmarks_uci.datasets.errors import DataCorrupt, DataError, DataUnavailable

__all__ = ["DataCorrupt", "DataError", "DataUnavailable", "Dataset"]
