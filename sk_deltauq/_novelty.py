"""Distance from the training rows, and the inflation of the standard deviation that it causes.

A row is compared with a random sample of the training rows. The distance counts the features by
their effect on the prediction: a gap in a feature without effect needs no wider interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors
from torch import nn

from sk_deltauq._nearest_rows import INSIDE, LEAST_UNIT

# So few that the search for the nearest one costs less than the networks. With 64 rows the scores
# in gaps of a feature were clearly worse, with 1024 rows hardly better.
_N_REFERENCES = 512

# Weight of the squared distance from the mean in the priority of a row. With 10, rows of rare
# categories had much narrower intervals than with 0, and the scores in gaps were the same.
_LEVERAGE = 10.0

# Reference rows on which the effect of the features is measured, and floats held at a time.
_N_PROBES = 256
_PROBE_FLOATS = 2**22

# Weight of a feature without effect, relative to the mean: the trained network may be wrong.
_LEAST_EFFECT = 0.1

# What the factor is computed from.
_BUFFERS = "weights", "rows", "reach", "strength"


@dataclass(frozen=True)
class ReferenceRows:
    """A random sample of all training rows so far.

    A row is drawn in proportion to its `priority`. So rows in sparse regions, such as the rows of
    a rare category, are seldom missed in a large table.
    """

    rows: np.ndarray  # (reference, feature), scaled, float32
    keys: np.ndarray  # (reference,), decreasing

    @classmethod
    def pick(cls, x: torch.Tensor, keys: np.ndarray, earlier: ReferenceRows | None = None):
        """Pick the scaled rows `(row, feature)` with the largest random `keys`, `(row,)`.

        Rows of earlier calls compete with their own keys, so the sample is one of all rows.
        """
        rows = x.cpu().numpy()
        keys = keys / _prioritise(rows)
        if earlier is not None:
            rows = np.concatenate([earlier.rows, rows])
            keys = np.concatenate([earlier.keys, keys])
        chosen = np.argsort(-keys, kind="stable")[:_N_REFERENCES]
        return cls(rows[chosen], keys[chosen])


def _prioritise(rows: np.ndarray) -> np.ndarray:
    """Return the priority of scaled rows `(row, feature)`: larger far from the mean, `(row,)`."""
    return 1 + _LEVERAGE * np.square(rows, dtype=np.float64).mean(axis=1)


class DistanceInflation(nn.Module):
    """Factor of the total standard deviation out of distribution.

    The factor is `1 + strength * max(d - r, 0) / (r + 1/4)`. Here `d` is the weighted Euclidean
    distance to the nearest reference row. The reach `r` is the 90 % quantile of the distance of a
    reference row to the nearest other one: 90 % of new rows like the training rows are inside.

    The squared weight of a feature is its effect relative to the average over the features, with
    a floor. `effects`, `(feature,)`, are known before training. None means the mean squared
    derivative of the predicted mean, which `measure_effects` finds in the trained network. Until
    then all features count alike.
    """

    weights: torch.Tensor
    rows: torch.Tensor
    reach: torch.Tensor
    strength: torch.Tensor
    squares: torch.Tensor
    slope: torch.Tensor

    def __init__(
        self, references: ReferenceRows, strength: float, effects: np.ndarray | None = None
    ):
        super().__init__()
        # Equal rows say nothing about the distance between different rows.
        self._distinct = np.unique(references.rows, axis=0)
        # If all rows are references, none has an advantage.
        self._is_sample = len(references.rows) == _N_REFERENCES
        self._probes = references.rows[:_N_PROBES]
        self.register_buffer("strength", torch.tensor(strength, dtype=torch.float64))
        self.awaits_effects = effects is None
        self._weigh_features(np.ones(references.rows.shape[1]) if effects is None else effects)

    def measure_effects(self, components: Callable, floats_per_row: int, device: str) -> None:
        """Measure the effects of the features in networks, and weigh them in the distance.

        `components` maps scaled rows on `device` to a tuple that begins with the means,
        `(component, row, output)`. It holds `floats_per_row` floats per row.
        """
        probes = torch.from_numpy(self._probes).to(device)
        chunks = probes.split(max(_PROBE_FLOATS // floats_per_row, 16))
        total = torch.zeros_like(probes[0])
        for chunk in chunks:
            total += _sum_squared_gradients(components, chunk)
        self._weigh_features(torch.nan_to_num(total / len(probes)).cpu().double().numpy())

    def _weigh_features(self, effect: np.ndarray) -> None:
        """Set the weights of the features; all are 1 if no feature has an effect."""
        # A constant feature has an effect in the network, but never in a prediction.
        varies = np.ptp(self._distinct, axis=0) > 0
        average = effect[varies].mean() if varies.any() else 0.0
        relative = np.ones(len(effect))
        if average > 0:
            relative = np.minimum(effect / average, len(effect))
        self._set_weights(np.sqrt((relative + _LEAST_EFFECT) / (1 + _LEAST_EFFECT)))

    def _set_weights(self, weights: np.ndarray) -> None:
        rows, reach = self._distinct * weights.astype(np.float32), 0.0
        if len(rows) > 1:
            distances, _ = NearestNeighbors(n_neighbors=1).fit(rows).kneighbors()
            # Of a sample, undo the priorities: 90 % of all rows are inside.
            counts = 1 / _prioritise(self._distinct) if self._is_sample else np.ones(len(rows))
            reach = _weighted_quantile(distances[:, 0], counts, INSIDE)
        values = {"weights": weights, "rows": rows, "reach": np.float64(reach)}
        for name, value in values.items():
            dtype = torch.float64 if name == "reach" else torch.float32
            self.register_buffer(
                name, torch.as_tensor(value, dtype=dtype).to(self.strength.device)
            )
        self._prepare()

    def _prepare(self) -> None:
        """Compute what is the same for all rows to predict; it is not stored."""
        derived = {
            "squares": self.rows.square().sum(dim=1),  # (reference,)
            "slope": self.strength / (self.reach + LEAST_UNIT),
        }
        for name, value in derived.items():
            self.register_buffer(name, value, persistent=False)

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Return what `forward` needs, in plain arrays; only training needs the rest."""
        return {name: getattr(self, name).cpu().numpy() for name in _BUFFERS}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        super().__init__()
        for name in _BUFFERS:
            # Copied into torch's own memory, which is aligned.
            self.register_buffer(name, torch.tensor(state[name], device="cpu"))
        self._prepare()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scaled rows `(row, feature)` to `(row,)`."""
        buffers = self.weights, self.rows, self.squares, self.reach, self.slope
        if self.weights.device != x.device:
            buffers = (buffer.to(x.device) for buffer in buffers)
        weights, rows, squares, reach, slope = buffers
        distance = _measure_nearest(x * weights, rows, squares)
        return 1 + slope * (distance - reach).clamp(min=0)


def _weighted_quantile(values, weights, level):
    """Return the smallest value up to which the weights are at least `level` of their sum."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulative, level * cumulative[-1])])


def _sum_squared_gradients(components, x):
    """Sum the squared derivatives of the mean prediction over rows and outputs: `(feature,)`."""
    # In one pass for all outputs: with random signs, the expected square of the sum over the
    # outputs is the sum of their squares.
    generator = torch.Generator().manual_seed(0)
    with torch.inference_mode(False), torch.enable_grad():
        x = x.clone().requires_grad_()
        mean = components(x)[0].mean(dim=0)  # (row, output)
        signs = torch.ones_like(mean)
        if mean.shape[1] > 1:
            draws = torch.randint(0, 2, mean.shape, generator=generator, device="cpu")
            signs = (2 * draws - 1).to(mean)
        # A user's module may turn features into indices, which have no derivative.
        (gradient,) = torch.autograd.grad((mean * signs).sum(), x, allow_unused=True)
    return torch.zeros_like(x[0]) if gradient is None else gradient.square().sum(dim=0)


def _measure_nearest(x, rows, squares):
    """Return the distance of each row of a tensor from the nearest of `rows`.

    Computed as |x|^2 - 2 x r + |r|^2, which takes half the time of `torch.cdist`. `squares` are
    the |r|^2, `(reference,)`.
    """
    nearest = torch.addmm(squares, x, rows.T, alpha=-2).amin(dim=1)
    # Rounding may leave less than 0, and the root has no gradient at 0.
    return (nearest + x.square().sum(dim=1)).clamp(min=1e-12).sqrt()
