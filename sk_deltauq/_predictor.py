"""What `predict` needs, and nothing else: the trained module, the scales, and the calibration."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn

from sk_deltauq._host import map_in_threads, one_thread, plain_torch
from sk_deltauq._networks.heads import Head
from sk_deltauq._networks.mlp import Network
from sk_deltauq._validation import FAR, Scaler, scale_to_tensor

# Floats in the widest layer of one chunk: few enough for the cache of a core, many enough that the
# number of calls does not count; on a GPU enough to keep it busy.
_CHUNK_FLOATS = {"cpu": 2**20, "cuda": 2**26}

# One component in 20 has the wider noise of `outlier_scale`.
OUTLIER_PERIOD = 20


class NetworkComponents(nn.Module):
    """A trained network and its head: scaled rows to the parameters of all components."""

    def __init__(self, network: Network, head: Head):
        super().__init__()
        self.network, self.head = network, head

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Rows `(row, feature)` to parts, each `(component, row, output)`."""
        return self.head.components(self.network.components(x.T))


@dataclass(frozen=True)
class Predictor:
    """Predictive components of rows, differentiable, on any device.

    A regressor's module returns the means and standard deviations of all components in units of
    the scaled target and, if the means are uncertain themselves, their standard deviations. A
    classifier's module returns logits. Each part is `(component, row, output)`.
    """

    module: nn.Module  # scaled rows `(row, feature)`, float32, to a tuple of parts
    n_components: int
    width: int  # floats that the module holds at a time, per row and component
    device: str
    x_scaler: Scaler
    y_scaler: Scaler | None = None  # None for a classifier
    # Subtracted from the number of components in the variance of their means: 1 in eq. 6 of the
    # Delta-UQ paper, 0 for the variance of the mixture.
    ddof: int = 1
    # Factor of the spread and the standard deviations of the components, (1,) or (output,).
    std_factor: np.ndarray = field(default_factory=lambda: np.ones(1))
    # Another factor of the standard deviations of the noise, (1,) or (output,).
    noise_factor: np.ndarray = field(default_factory=lambda: np.ones(1))
    # Standard deviation to add to the epistemic part, in units of the scaled target, (1,) or
    # (output,): a target that never varied says nothing about its spread.
    added_std: np.ndarray = field(default_factory=lambda: np.zeros(1))
    # Noise scale of one component in `OUTLIER_PERIOD`, relative to the others, (1,) or (output,).
    # It changes no moment; 1 is a normal distribution.
    outlier_scale: np.ndarray = field(default_factory=lambda: np.ones(1))
    # Scaled rows to the factor of the total standard deviation, (row,), see `inflate_epistemic`.
    inflation: nn.Module | None = None

    def components(self, X: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Map rows to calibrated components, in the units of the user.

        Parameters
        ----------
        X : torch.Tensor of shape (n_samples, n_features)
            Rows in the units of X, float32 or float64, on the device of the predictor.

        Returns
        -------
        tuple of torch.Tensor of shape (n_components, n_samples, n_outputs)
            Means and standard deviations in the units of y, float64: mixed with equal weights
            they have the mean and the standard deviation that `predict` returns. With
            `target_transform`, they have the units of the transformed target. With heavy tails
            (`outlier_scale`) there are at least 20 components. Logits, for a classifier, before
            the adjustment by held-out rows. The graph is kept, so the result has gradients with
            respect to X, unless the caller has switched gradients off. Autocast and torch's
            defaults have no effect.
        """
        with plain_torch():
            return self._map_to_components(X)

    def _map_to_components(self, X: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mean, scale = (_on(X, values) for values in (self.x_scaler.mean_, self.x_scaler.scale_))
        x = ((X.double() - mean) / scale).clamp(-FAR, FAR).float()
        parts = self.module(x)
        if self.y_scaler is None:
            return parts
        means, stds, _ = spread_components(self, parts, x)
        scale, offset = (_on(X, v) for v in (self.y_scaler.scale_, self.y_scaler.mean_))
        return means * scale + offset, stds * scale

    def to(self, device: str) -> Predictor:
        """Return a copy of this predictor on another device."""
        modules = {"module": self.module, "inflation": self.inflation}
        moved = {
            k: copy.deepcopy(m).to(device) if m is not None else m for k, m in modules.items()
        }
        return replace(self, **moved, device=device)

    @property
    def state(self) -> dict[str, Any]:
        """All numbers that determine the predictions, by name: tensors and arrays."""
        names = "std_factor", "noise_factor", "added_std", "outlier_scale"
        state: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name in ("x_scaler", "y_scaler"):
            if (scaler := getattr(self, name)) is not None:
                state |= {f"{name}.mean_": scaler.mean_, f"{name}.scale_": scaler.scale_}
        for name in ("module", "inflation"):
            if (module := getattr(self, name)) is not None:
                state |= {f"{name}.{key}": t for key, t in module.state_dict().items()}
        return state

    def map_rows(self, X: np.ndarray, function: Callable) -> tuple[np.ndarray, ...]:
        """Scale rows and apply `function` in chunks, which bounds memory.

        One thread computes a chunk, and the chunks depend on the number of rows only. So answers
        do not depend on the number of threads. A row gives the same answer among other rows up to
        rounding in float32: matrix products of another size sum in another order.

        `function` maps scaled rows `(row, feature)` to tensors with the rows first. The results
        are float64 arrays with the rows first.
        """
        n_rows = self.count_chunk_rows()

        def map_chunk(rows):
            x = scale_to_tensor(X[rows], self.x_scaler).to(self.device)
            with torch.inference_mode():
                return [part.cpu().numpy() for part in function(x)]

        starts = range(0, len(X), n_rows)  # `gen_batches` checks its parameters for 0.1 ms
        chunks = [slice(start, min(start + n_rows, len(X))) for start in starts]
        n_threads = torch.get_num_threads() if self._is_on_cpu else 1
        with plain_torch(), one_thread():
            first = map_chunk(chunks[0])
            results = tuple(np.empty((len(X), *part.shape[1:])) for part in first)
            parts_of_chunks = chain([first], map_in_threads(map_chunk, chunks[1:], n_threads))
            for rows, parts in zip(chunks, parts_of_chunks, strict=True):
                for result, part in zip(results, parts, strict=True):
                    result[rows] = part
        return results

    @property
    def _is_on_cpu(self) -> bool:
        return torch.device(self.device).type == "cpu"

    def count_chunk_rows(self) -> int:
        """Return the number of rows in a chunk: a power of two from 16 on."""
        floats = _CHUNK_FLOATS["cpu" if self._is_on_cpu else "cuda"]
        per_row = self.n_components * self.width
        return 2 ** min(max(int(math.log2(max(floats // per_row, 1))), 4), 16)


def compute_moments(predictor: Predictor, x: torch.Tensor, names: tuple[str, ...]):
    """Compute moments of a regressor in the units of y, each `(row, target)`, float64.

    `names` are some of "mean", and of the standard deviations "epistemic", "aleatoric" and
    "total" (eq. 6 and the law of total variance). `x` are scaled rows.
    """
    assert predictor.y_scaler is not None
    means, stds, *mean_stds = predictor.module(x)
    # Relative to the first component float32 is exact enough, and much faster than float64.
    shifts = means - means[0]
    centre = shifts.mean(dim=0)
    n_minus_ddof = max(len(means) - predictor.ddof, 1)
    epistemic = (shifts - centre).square().sum(dim=0) / n_minus_ddof
    if mean_stds:
        epistemic = epistemic + mean_stds[0].square().mean(dim=0)
    mean, aleatoric = means[0].double() + centre, stds.square().mean(dim=0)

    factor, noise_factor = (_on(mean, f) for f in _find_factors(predictor))
    scale, offset = (_on(mean, v) for v in (predictor.y_scaler.scale_, predictor.y_scaler.mean_))
    epistemic, aleatoric = epistemic.double() * factor**2, aleatoric.double() * noise_factor**2
    # The mean alone needs no distance from the training rows.
    inflation = None if names == ("mean",) else predictor.inflation
    if inflation is not None:
        epistemic = inflate_epistemic(inflation(x), epistemic, aleatoric)
    epistemic = epistemic + _on(mean, predictor.added_std) ** 2
    variances = {"epistemic": epistemic, "aleatoric": aleatoric, "total": epistemic + aleatoric}
    return [
        mean * scale + offset if name == "mean" else variances[name].sqrt() * scale
        for name in names
    ]


def _find_factors(predictor: Predictor) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of the standard deviations: of the means, and of the noise."""
    return predictor.std_factor, predictor.std_factor * predictor.noise_factor


def inflate_epistemic(factor: torch.Tensor, epistemic: torch.Tensor, aleatoric: torch.Tensor):
    """Multiply the total standard deviation by a factor, up to the spread of the training targets.

    `factor` is `(row,)`, at least 1. The variances are `(row, target)`, in units of the scaled
    target, in which the training targets have the variance 1. A larger total stays as it is. The
    noise does not change: the increase is epistemic. Returns the epistemic variance.
    """
    total = epistemic + aleatoric
    inflated = torch.minimum(total * factor.double()[:, None] ** 2, total.clamp(min=1))
    return epistemic + (inflated - total)


def spread_components(predictor: Predictor, parts, x: torch.Tensor):
    """Return calibrated means and standard deviations of the mixture, and the noise.

    All are float64 in units of the scaled target: means and standard deviations `(component, row,
    target)`, and the standard deviation of the noise `(row, target)`, or None if the noise is all
    that the components' standard deviations hold.

    Eq. 6 divides by K - 1. Spreading the means by sqrt(K / (K - 1)) around their centre makes this
    the variance of the mixture itself, so that its density and quantiles agree with the standard
    deviation.
    """
    means, stds, *mean_stds = (part.double() for part in parts)
    factor, noise_factor = (_on(means, f) for f in _find_factors(predictor))
    n_components = len(means)
    spread = factor * (n_components / max(n_components - predictor.ddof, 1)) ** 0.5
    centre = means.mean(dim=0)
    shifts = (means - centre) * spread
    stds, mean_stds = stds * noise_factor, [part * factor for part in mean_stds]
    noise = None
    if mean_stds or predictor.inflation is not None or predictor.added_std.any():
        noise = stds.square().mean(dim=0).sqrt()
    if predictor.inflation is not None:
        shifts, stds = _smooth_mixture(predictor.inflation(x), shifts, stds, mean_stds)
    elif mean_stds:
        stds = torch.hypot(stds, mean_stds[0])
    if predictor.added_std.any():
        stds = torch.hypot(stds, _on(stds, predictor.added_std))
    return *spread_tails(centre + shifts, stds, predictor.outlier_scale), noise


def spread_tails(means: torch.Tensor, stds: torch.Tensor, outlier_scale: np.ndarray):
    """Give one component in `OUTLIER_PERIOD` a wider noise than the others.

    Tensors are `(component, row, target)`. Fewer components are copied first. The mean square of
    the standard deviations of a row stays, so no moment changes.
    """
    if (outlier_scale == 1).all():
        return means, stds
    n_copies = -(-OUTLIER_PERIOD // len(means))
    means, stds = (part.repeat(n_copies, 1, 1) for part in (means, stds))
    is_wide = np.arange(len(stds)) % OUTLIER_PERIOD == OUTLIER_PERIOD - 1
    scales = np.where(is_wide[:, np.newaxis, np.newaxis], outlier_scale, 1.0)
    wider = stds * _on(stds, scales)
    before, after = (part.square().mean(dim=0) for part in (stds, wider))
    return means, wider * (before / after.clamp(min=torch.finfo(after.dtype).tiny)).sqrt()


def _smooth_mixture(factor, shifts, stds, mean_stds):
    """Inflate the epistemic variance, and move most of it from the shifts into the components.

    Out of distribution the components lie far apart, and each is narrow. The density of such a
    mixture is a row of spikes: it claims that the target is at one of them, and nowhere between.
    So the variance of the shifts is multiplied by the share of the noise in the total variance,
    and all components get the rest of the epistemic variance. The moments stay exact. Where the
    noise dominates, the mixture hardly changes; where it does not, the mixture is nearly normal.
    """
    aleatoric = stds.square().mean(dim=0)
    of_means = mean_stds[0].square() if mean_stds else torch.zeros_like(stds)
    epistemic = shifts.square().mean(dim=0) + of_means.mean(dim=0)
    inflated = inflate_epistemic(factor, epistemic, aleatoric)
    # Without noise the share is 0, where the root has no derivative.
    share = (aleatoric / (inflated + aleatoric).clamp(min=1e-30)).clamp(min=1e-12)
    rest = (inflated - share * epistemic).clamp(min=0)
    variances = stds.square() + share * of_means + rest  # (component, row, target)
    is_point = variances == 0
    return shifts * share.sqrt(), torch.where(is_point, 1.0, variances).sqrt() * ~is_point


def _on(tensor: torch.Tensor, values: np.ndarray) -> torch.Tensor:
    """Put float64 values on the device of a tensor."""
    return torch.tensor(values, device=tensor.device)
