"""The search for the nearest training rows: exact, or approximate for large tables."""

from __future__ import annotations

import contextlib
import importlib
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import nn

from sk_deltauq._warnings import warn_caller

# Length of a random coordinate that breaks ties. On a grid, many rows are equally near, and the
# order of ties would depend on the kind of search.
_TIE_BREAK = 0.03

# A tree is faster than all distances from here on, but not in many dimensions.
_LEAST_TREE_ROWS = 512
_MOST_TREE_FEATURES = 20

# Distances held at a time when there is no index.
_CHUNK_DISTANCES = 2**22

# With fewer rows or features, the approximate search is not faster than the exact one.
_LEAST_CLUSTERED_ROWS = 10_000
_LEAST_CLUSTERED_FEATURES = 9

# Clusters of the approximate search per square root of the rows, as faiss recommends, rows that
# each cluster needs at least, and clusters that are searched for each query.
_CLUSTERS_PER_ROOT = 4
_LEAST_CLUSTER_ROWS = 40
_N_PROBES = 64


class SearchIndex(nn.Module):
    """The search for the nearest distinct rows, in a space with another metric.

    `space` is a factor for each feature, or a map `(feature, coordinate)`. An `approximate` search
    misses a few neighbours.
    """

    space: torch.Tensor
    points: torch.Tensor  # (distinct row, coordinate + 1), with a coordinate that breaks ties

    def __init__(self, x: torch.Tensor, space: torch.Tensor, *, approximate: bool = False):
        super().__init__()
        self.approximate = approximate
        # In float32, rounding would decide between near ties.
        self.register_buffer("space", space.double(), persistent=False)
        ties = np.random.default_rng(0).random((len(x), 1)) * _TIE_BREAK
        points = [self._move(x), torch.from_numpy(ties).to(x.device)]
        self.register_buffer("points", torch.cat(points, dim=1), persistent=False)

    def _move(self, x: torch.Tensor) -> torch.Tensor:
        """Move rows `(row, feature)` to the space."""
        x = x.detach().double()
        return x * self.space if self.space.ndim == 1 else x @ self.space

    def search(self, x: torch.Tensor, width: int, *, by_index: bool) -> torch.Tensor:
        """Find the numbers of the nearest distinct rows of rows `(row, feature)`.

        Without `by_index` all distances are computed in one step, as a graph for export needs it.
        """
        queries = self._move(x)
        if not by_index:
            return self._compare_all(queries, width)
        if self.clusters is not None:
            return self._search_clusters(queries, width, self.clusters)
        if self._has_tree:
            return self._search_tree(queries, width)
        return self._compare_in_chunks(queries, width)

    @property
    def _has_tree(self) -> bool:
        n_rows, n_coordinates = self.points.shape
        on_cpu = self.points.device.type == "cpu"
        return on_cpu and n_rows >= _LEAST_TREE_ROWS and n_coordinates <= _MOST_TREE_FEATURES + 1

    @cached_property
    def clusters(self) -> ClusteredPoints | None:
        """Clusters of the points, on a CPU, for an approximate search among many rows."""
        n_rows, n_features = len(self.points), self.points.shape[1] - 1
        is_large = n_rows >= _LEAST_CLUSTERED_ROWS and n_features >= _LEAST_CLUSTERED_FEATURES
        if not (self.approximate and is_large and self.points.device.type == "cpu"):
            return None
        try:
            return ClusteredPoints(self.points.numpy())
        except ModuleNotFoundError:  # `fit` needed faiss, but the model may have been moved
            warn_caller(
                "faiss is not installed, so neighbours are searched exactly. This takes longer, "
                "and predictions can differ slightly from those with neighbor_search="
                "'approximate'. Install it with: pip install 'sk-deltauq[neighbours]'",
                RuntimeWarning,
            )
            return None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the clusters out: faiss cannot copy them, and they follow from the points."""
        return {name: value for name, value in vars(self).items() if name != "clusters"}

    @cached_property
    def tree(self) -> KDTree:
        """A tree of the points, on a CPU."""
        # Without balance it is built faster, and no slower on tables with equal values.
        settings = {"leafsize": 32, "balanced_tree": False, "compact_nodes": False}
        return KDTree(self.points.numpy(), **settings)

    def _search_clusters(self, queries, width: int, clusters: ClusteredPoints) -> torch.Tensor:
        near = torch.from_numpy(clusters.search(_pad(queries), width))
        is_short = (near < 0).any(dim=1)  # the searched clusters have fewer rows
        if is_short.any():
            near[is_short] = self._compare_in_chunks(queries[is_short], width)
        return near

    def _search_tree(self, queries: torch.Tensor, width: int) -> torch.Tensor:
        _, near = self.tree.query(_pad(queries), k=width)
        return torch.from_numpy(near.reshape(len(queries), width))

    def _compare_in_chunks(self, queries: torch.Tensor, width: int) -> torch.Tensor:
        step = max(_CHUNK_DISTANCES // len(self.points), 1)
        return torch.cat([self._compare_all(chunk, width) for chunk in queries.split(step)])

    def _compare_all(self, queries: torch.Tensor, width: int) -> torch.Tensor:
        """Compare with all rows: for few rows, many features, GPUs, and graphs for export."""
        # |c|^2 - 2 x c orders the rows as |x - c|^2 does.
        squares, columns = self.points.square().sum(dim=1), self.points[:, :-1].T
        distances = torch.addmm(squares, queries, columns, alpha=-2)
        return distances.topk(width, largest=False).indices


class ClusteredPoints:
    """Points in clusters. A query is compared with the points of the nearest clusters only.

    This is the inverted file (IVF) of faiss.
    """

    def __init__(self, points: np.ndarray):
        faiss = load_faiss()
        n_points, n_coordinates = points.shape
        n_clusters = int(min(_CLUSTERS_PER_ROOT * n_points**0.5, n_points // _LEAST_CLUSTER_ROWS))
        points = points.astype(np.float32)
        self._index = faiss.IndexIVFFlat(
            faiss.IndexFlatL2(n_coordinates), n_coordinates, n_clusters
        )
        self._index.nprobe = _N_PROBES
        with _use_torch_threads(faiss):
            self._index.train(points)
            self._index.add(points)

    def search(self, queries: np.ndarray, width: int) -> np.ndarray:
        """Find the numbers of the nearest points, `(query, width)`; -1 if there are too few."""
        with _use_torch_threads(load_faiss()):
            return self._index.search(queries.astype(np.float32), width)[1]


def load_faiss() -> Any:
    """Import faiss, which is optional.

    Raises
    ------
    ModuleNotFoundError
        If faiss is not installed.
    """
    try:
        return importlib.import_module("faiss")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "neighbor_search='approximate' needs faiss, which is not installed. Install it with: "
            "pip install 'sk-deltauq[neighbours]' (on macOS install faiss and torch from "
            "conda-forge), or fit with neighbor_search='exact'."
        ) from error


@contextlib.contextmanager
def _use_torch_threads(faiss: Any):
    """Let faiss use as many threads as torch in this block."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(torch.get_num_threads())
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _pad(queries: torch.Tensor) -> np.ndarray:
    """Append the coordinate that breaks ties, which is 0 for queries."""
    padded = np.zeros((len(queries), queries.shape[1] + 1))
    padded[:, :-1] = queries.numpy()
    return padded
