"""The metric in which neighbours are near, learnt from the training rows of each member.

Metric learning for kernel regression (Weinberger and Tesauro, AISTATS 2007): the kernel mean of
its neighbours predicts the target of a training row, without the row itself, and gradient steps
on the squared error change the metric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from sk_deltauq._methods.pool import Pool, PoolRows

# Neighbours that compete for each row: more than prediction uses, so that the metric can choose.
_N_CANDIDATES = 32

# With few rows, a quarter of them are neighbours. From four rows on there are at least two, so
# that anchors differ.
_ROWS_PER_NEIGHBOUR = 4
_LEAST_NEIGHBOURS = 2

# Rows whose errors count, and rows in each step.
_N_QUERIES = 8192
_BATCH_ROWS = 64

# Fewer rows in each step, if there are many features.
_BATCH_FLOATS = 2**22
_LEAST_BATCH_ROWS = 16

# Steps, and one more for each so many rows. The step size falls linearly to zero.
_LEAST_STEPS, _MOST_STEPS, _ROWS_PER_STEP = 100, 400, 100
_STEP = 0.05

# Probability that a candidate takes no part in a step. Otherwise the nearest one decides.
_DROPPED = 0.5

# How often directions are learnt, each time among the neighbours in the last metric.
_N_SEARCHES = 2

# With more features, no directions: their number is the square of the number of features.
_MOST_FEATURES = 32

# Then the second head has the scales of the first one times this factor.
_NARROWER = 2.7

# Neighbours that tell the typical difference, and what is added to it, in units of the standard
# deviation.
_N_NEAREST = 16
_LEAST_UNIT = 0.03

# Logit of a candidate that takes no part.
_NOT_USED = -1e4

_Distance = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Metric:
    """Squared distances |A (x - c) / unit|^2 between rows, for each member and head.

    Some heads have a diagonal A, some have a full one.
    """

    unit: torch.Tensor  # (feature,), root mean squared difference between neighbours
    scales: torch.Tensor  # diagonals, (member, head, feature)
    directions: torch.Tensor  # A transposed, (member, head, feature, coordinate)

    def measure(self, x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Return squared distances, `(member, sample, head, neighbour)`.

        `x` and `values` are rows over the units, `(member, sample, feature)`, and their
        neighbours, `(member, sample, neighbour, feature or more)`.
        """
        gaps = x.unsqueeze(2) - values[..., : x.shape[2]]
        by_scales = [_measure_by_scales(gaps, scales) for scales in self.scales.unbind(1)]
        by_directions = [_measure_by_directions(gaps, each) for each in self.directions.unbind(1)]
        return torch.stack([*by_scales, *by_directions], dim=2)

    def find_search_space(self) -> torch.Tensor:
        """Return the space in which neighbours are searched once for all members and heads.

        It is a factor for each feature or, with directions, a map `(feature, coordinate)`. Its
        metric is the mean of all metrics, each with the same trace.
        """
        n_features, unit = len(self.unit), self.unit.double()
        scales = self.scales.flatten(0, 1).double().square()
        if not self.directions.shape[1]:
            mean = (scales / scales.sum(dim=1, keepdim=True)).mean(dim=0)
            space = mean.sqrt() / unit
        else:
            maps = self.directions.flatten(0, 1).double()
            products = torch.cat([torch.diag_embed(scales), maps @ maps.transpose(1, 2)])
            traces = products.diagonal(dim1=1, dim2=2).sum(dim=1)
            values, vectors = torch.linalg.eigh((products / traces[:, None, None]).mean(dim=0))
            space = vectors * values.clamp(min=0).sqrt() / unit[:, None]
        return space * (n_features**0.5 / space.norm())

    def measure_effects(self) -> np.ndarray:
        """Return the effect of each feature: its squared length in the search space."""
        space = self.find_search_space()
        squares = space.square()
        return (squares if space.ndim == 1 else squares.sum(dim=1)).cpu().numpy()


def count_neighbors(rows: PoolRows, n_neighbors: int) -> int:
    """Return how many neighbours a row can have, at most `n_neighbors`."""
    n_rows = len(rows.distinct.x)
    least = _LEAST_NEIGHBOURS if n_rows >= _ROWS_PER_NEIGHBOUR else 1
    return min(n_neighbors, max(n_rows // _ROWS_PER_NEIGHBOUR, least))


def learn_metric(rows: PoolRows, is_trained: torch.Tensor, generator: torch.Generator) -> Metric:
    """Learn the metric of each member from its training rows, `is_trained` `(member, row)`.

    The first head has a scale for each feature, the second one directions, which start from the
    scales. Tables with many features have no directions.
    """
    n_members, n_features = len(is_trained), rows.x.shape[1]
    start = rows.x.new_full((n_members, n_features), n_features**-0.5)
    queries = torch.randperm(len(rows.distinct.x), generator=generator)[:_N_QUERIES]
    queries = queries.to(rows.x.device)
    unit = _measure_unit(rows, queries)

    def search(metric: Metric) -> _Candidates:
        return _Candidates.find(rows, is_trained, metric, queries)

    no_scales = rows.x.new_zeros((n_members, 0, n_features))
    no_directions = rows.x.new_zeros((n_members, 0, n_features, n_features))
    first = Metric(unit, start.unsqueeze(1), no_directions)
    scales = search(first).descend(start, _measure_by_scales, generator)
    if n_features > _MOST_FEATURES:
        return Metric(unit, torch.stack([scales, _NARROWER * scales], dim=1), no_directions)
    metric = Metric(unit, scales.unsqueeze(1), no_directions)
    directions = torch.diag_embed(scales)
    for _ in range(_N_SEARCHES):
        directions = search(metric).descend(directions, _measure_by_directions, generator)
        metric = Metric(unit, no_scales, directions.unsqueeze(1))
    return Metric(unit, scales.unsqueeze(1), directions.unsqueeze(1))


@dataclass(frozen=True)
class _Candidates:
    """Some rows with their nearest rows. Rows are in units of the differences between neighbours.

    A row that a member holds out has weight 0 for this member, and is nobody's candidate.
    """

    pool: Pool
    x: torch.Tensor  # (query, feature)
    y: torch.Tensor  # (member, query, target)
    weights: torch.Tensor  # (member, query)
    near: torch.Tensor  # numbers of distinct rows, (member, query, candidate)
    counts: torch.Tensor  # bool, (member, query, candidate)

    @classmethod
    def find(cls, rows: PoolRows, is_trained, metric: Metric, queries) -> _Candidates:
        """Find the nearest rows of the distinct rows with the numbers `queries`."""
        distinct = rows.distinct
        index = rows.make_index(metric.find_search_space())
        n_candidates = count_neighbors(rows, _N_CANDIDATES)
        pool = Pool.collect(rows, index, metric.unit, n_candidates, is_trained)
        groups = None if distinct.groups is None else distinct.groups[queries]
        near, counts = pool.find(distinct.x[queries], by_index=True, groups=groups)
        d, n_targets = rows.x.shape[1], rows.y.shape[1]
        weights = pool.present[:, queries].to(rows.x)
        if pool.log_weights is not None:
            weights = weights * pool.log_weights[:, queries].exp()
        y = pool.values[:, queries, d : d + n_targets]
        return cls(pool, distinct.x[queries] / metric.unit, y, weights, near, counts)

    def descend(self, metric: torch.Tensor, measure: _Distance, generator) -> torch.Tensor:
        """Lower the squared errors by gradient steps on the metric, `(member, ...)`."""
        n_members, _, n_candidates = self.near.shape
        n_floats = n_members * n_candidates * self.x.shape[1]
        n_rows = max(min(_BATCH_ROWS, _BATCH_FLOATS // n_floats), _LEAST_BATCH_ROWS)
        n_steps = min(_LEAST_STEPS + len(self.pool.x) // _ROWS_PER_STEP, _MOST_STEPS)
        # A member without any row draws any rows, and has no neighbours for them.
        drawn = torch.where(self.weights.sum(dim=1, keepdim=True) > 0, self.weights, 1.0).cpu()
        metric = metric.clone().requires_grad_(True)
        optimizer = torch.optim.Adam([metric])
        for step in range(n_steps):
            optimizer.param_groups[0]["lr"] = _STEP * (1 - step / n_steps)
            chosen = torch.multinomial(drawn, n_rows, replacement=True, generator=generator)
            draws = torch.rand((*chosen.shape, n_candidates), generator=generator, device="cpu")
            chosen, draws = chosen.to(metric.device), draws.to(metric.device)
            loss = self._measure_error(metric, measure, chosen, draws >= _DROPPED)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return metric.detach()

    def _measure_error(self, metric, measure: _Distance, chosen, is_drawn) -> torch.Tensor:
        """Return the mean squared error of chosen rows `(member, query)`, summed over members."""
        member = torch.arange(len(chosen), device=chosen.device)[:, None]
        near, pool, d = self.near[member, chosen], self.pool, self.x.shape[1]
        values = pool.values[member.unsqueeze(2), near]
        logits = -measure(self.x[chosen].unsqueeze(2) - values[..., :d], metric)
        if pool.log_weights is not None:
            logits = logits + pool.log_weights[member.unsqueeze(2), near]
        logits = logits.masked_fill(~(self.counts[member, chosen] & is_drawn), _NOT_USED)
        y = self.y[member, chosen]
        means = logits.softmax(dim=2).unsqueeze(2) @ values[..., d : d + y.shape[2]]
        return (means.squeeze(2) - y).square().sum(dim=2).mean(dim=1).sum()


def _measure_by_scales(gaps: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Squared distances of gaps `(member, sample, candidate, feature)`."""
    return (gaps.square() @ scales.square()[:, None, :, None]).squeeze(3)


def _measure_by_directions(gaps: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
    """Squared distances of gaps `(member, sample, candidate, feature)`."""
    squares = (gaps.flatten(1, 2) @ directions).square().sum(dim=2)
    return squares.unflatten(1, gaps.shape[1:3])


def _measure_unit(rows: PoolRows, queries: torch.Tensor) -> torch.Tensor:
    """Measure the root mean squared difference between neighbours for each feature."""
    distinct, ones = rows.distinct, torch.ones_like(rows.x[0])
    index = rows.make_index(ones)
    pool = Pool.collect(rows, index, ones, count_neighbors(rows, _N_NEAREST))
    x = distinct.x[queries]
    near, counts = pool.find(x, by_index=True)
    squares = (pool.x[near[0]] - x.unsqueeze(1)).square() * counts[0].unsqueeze(2)
    mean = squares.sum(dim=(0, 1)) / counts[0].sum().clamp(min=1)
    return mean.sqrt() + _LEAST_UNIT
