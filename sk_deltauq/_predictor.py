"""What `predict` needs, and nothing else: the trained module, the scales, and the calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from sk_deltauq._host import map_in_threads, one_thread, plain_torch
from sk_deltauq._networks.heads import GaussianHead, Head
from sk_deltauq._networks.mlp import Network
from sk_deltauq._validation import Scaler, scale_to_tensor

# Floats in the widest layer of one chunk: few enough for the cache of a core, many enough that the
# number of calls does not count; on a GPU enough to keep it busy.
_CHUNK_FLOATS = {"cpu": 2**20, "cuda": 2**26}

# One component in 20 has the wider noise of `outlier_scale`.
OUTLIER_PERIOD = 20


class NetworkComponents(nn.Module):
    """A trained network and its head: scaled rows to the parameters of all components.

    With `refined` networks, the means are theirs.
    """

    def __init__(self, network: Network, head: Head, refined: Network | None = None):
        super().__init__()
        self.network, self.head, self.refined = network, head, refined

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Rows `(row, feature)` to parts, each `(component, row, output)`."""
        raw, head = self.network.components(x.T), self.head
        if self.refined is not None:
            assert isinstance(head, GaussianHead)
            raw = head.take_means(self.refined.components(x.T), raw)
        return head.components(raw)


class Factors(NamedTuple):
    """What turns moments of the components into predictions, on their device, float64."""

    epistemic: torch.Tensor  # factor of the variance of the means, (1,) or (output,)
    aleatoric: torch.Tensor  # factor of the variance of the noise, (1,) or (output,)
    least: torch.Tensor | None  # variance to add before the factor, (1,) or (output,)
    added: torch.Tensor | None  # variance to add to the epistemic part, (1,) or (output,)
    scale: torch.Tensor  # of the targets, (output,)
    offset: torch.Tensor  # of the targets, (output,)


@dataclass(frozen=True)
class Predictor:
    """Predictive components of rows, on any device.

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
    # Standard deviation to add to the spread before the factor, in units of the scaled target,
    # (1,) or (output,): components that agree exactly say nothing about their error.
    least_std: np.ndarray = field(default_factory=lambda: np.zeros(1))
    # Standard deviation to add to the epistemic part, in units of the scaled target, (1,) or
    # (output,): a target that never varied says nothing about its spread.
    added_std: np.ndarray = field(default_factory=lambda: np.zeros(1))
    # Noise scale of one component in `OUTLIER_PERIOD`, relative to the others, (1,) or (output,).
    # It changes no moment; 1 is a normal distribution.
    outlier_scale: np.ndarray = field(default_factory=lambda: np.ones(1))
    # Scaled rows to the factor of the total standard deviation, (row,), see `inflate_epistemic`.
    inflation: nn.Module | None = None
    # Scaled rows to the variance to add to the epistemic part, (row, target): rare categories.
    rarity: nn.Module | None = None

    @property
    def has_least_std(self) -> bool:
        """Whether a standard deviation is added to the spread."""
        return bool(self.least_std.any())

    @property
    def adds_std(self) -> bool:
        """Whether a standard deviation is added to the epistemic part."""
        return bool(self.added_std.any())

    @property
    def has_tails(self) -> bool:
        """Whether some components have a wider noise."""
        return bool((self.outlier_scale != 1).any())

    @property
    def factors(self) -> Factors:
        """Tensors for `compute_moments`, made once: for one row, each costs as much as a layer."""
        return self._factors

    @cached_property
    def _factors(self) -> Factors:
        assert self.y_scaler is not None
        with torch.inference_mode(False):  # so that they may be part of a graph later
            return make_factors(self, torch.empty(0, device=self.device))

    def map_rows(self, X: np.ndarray, function: Callable) -> tuple[np.ndarray, ...]:
        """Scale rows and apply `function` in chunks, which bounds memory.

        One thread computes a chunk, and the chunks depend on the number of rows only. So answers
        do not depend on the number of threads. A row gives the same answer among other rows up to
        rounding in float32: matrix products of another size sum in another order.

        `function` maps scaled rows `(row, feature)` to tensors with the rows first. The results
        are float64 arrays with the rows first.
        """
        n_rows = self._n_chunk_rows

        def map_chunk(rows):
            x = scale_to_tensor(X[rows], self.x_scaler).to(self.device)
            with torch.inference_mode():
                return [part.cpu().numpy() for part in function(x)]

        starts = range(0, len(X), n_rows)  # `gen_batches` checks its parameters for 0.1 ms
        chunks = [slice(start, min(start + n_rows, len(X))) for start in starts]
        n_threads = torch.get_num_threads() if self._is_on_cpu and len(chunks) > 1 else 1
        with plain_torch(), one_thread():
            if len(chunks) == 1:
                return tuple(part.astype(np.float64) for part in map_chunk(chunks[0]))
            first = map_chunk(chunks[0])
            results = tuple(np.empty((len(X), *part.shape[1:])) for part in first)
            parts_of_chunks = chain([first], map_in_threads(map_chunk, chunks[1:], n_threads))
            for rows, parts in zip(chunks, parts_of_chunks, strict=True):
                for result, part in zip(results, parts, strict=True):
                    result[rows] = part
        return results

    @cached_property
    def _is_on_cpu(self) -> bool:
        return torch.device(self.device).type == "cpu"

    @cached_property
    def _n_chunk_rows(self) -> int:
        return self.count_chunk_rows()

    def count_chunk_rows(self) -> int:
        """Return the number of rows in a chunk: a power of two from 16 on."""
        floats = _CHUNK_FLOATS["cpu" if self._is_on_cpu else "cuda"]
        per_row = self.n_components * self.width
        return 2 ** min(max(int(math.log2(max(floats // per_row, 1))), 4), 16)


class Calibration(Protocol):
    """What turns the components of a regressor into predictions; `Predictor` describes the fields.

    A `Predictor` holds the numbers as arrays, a torch module as buffers.
    """

    @property
    def y_scaler(self) -> Any: ...
    @property
    def ddof(self) -> int: ...
    @property
    def std_factor(self) -> np.ndarray | torch.Tensor: ...
    @property
    def noise_factor(self) -> np.ndarray | torch.Tensor: ...
    @property
    def least_std(self) -> np.ndarray | torch.Tensor: ...
    @property
    def added_std(self) -> np.ndarray | torch.Tensor: ...
    @property
    def outlier_scale(self) -> np.ndarray | torch.Tensor: ...
    @property
    def has_least_std(self) -> bool: ...
    @property
    def adds_std(self) -> bool: ...
    @property
    def has_tails(self) -> bool: ...
    @property
    def factors(self) -> Factors: ...
    @property
    def inflation(self) -> nn.Module | None: ...
    @property
    def rarity(self) -> nn.Module | None: ...


def compute_moments(
    predictor: Calibration, parts: Sequence[torch.Tensor], x: torch.Tensor, names: tuple[str, ...]
) -> list[torch.Tensor]:
    """Compute moments of a regressor in the units of y, each `(row, target)`, float64.

    `names` are some of "mean", and of the standard deviations "epistemic", "aleatoric" and
    "total" (eq. 6 and the law of total variance). `parts` are what the module of the predictor
    returns for the scaled rows `x`.
    """
    means, stds, *mean_stds = parts
    factors = predictor.factors
    # Relative to the first component float32 is exact enough, and much faster than float64.
    shifts = means - means[0]
    centre = shifts.mean(dim=0)
    mean = torch.addcmul(factors.offset, means[0].double() + centre, factors.scale)
    if names == ("mean",):  # needs no distance from the training rows
        return [mean]
    # `torch.var_mean` takes 40 times as long for many rows.
    n_minus_ddof = max(len(means) - predictor.ddof, 1)
    epistemic = (shifts - centre).square().sum(dim=0) / n_minus_ddof
    if mean_stds:
        epistemic = epistemic + mean_stds[0].square().mean(dim=0)
    epistemic = epistemic.double()
    if factors.least is not None:
        epistemic = epistemic + factors.least
    epistemic = epistemic * factors.epistemic
    aleatoric = stds.square().mean(dim=0).double() * factors.aleatoric
    if predictor.inflation is not None:
        epistemic = inflate_epistemic(predictor.inflation(x), epistemic, aleatoric)
    if factors.added is not None:
        epistemic = epistemic + factors.added
    if predictor.rarity is not None:
        epistemic = epistemic + predictor.rarity(x)
    variances = {"epistemic": epistemic, "aleatoric": aleatoric}
    if "total" in names:
        variances["total"] = epistemic + aleatoric
    return [mean if name == "mean" else variances[name].sqrt() * factors.scale for name in names]


def make_factors(predictor: Calibration, like: torch.Tensor) -> Factors:
    """Make the factors of `compute_moments` on the device of a tensor."""
    factor, noise_factor = (_match_device(like, f) ** 2 for f in _find_factors(predictor))
    return Factors(
        epistemic=factor,
        aleatoric=noise_factor,
        least=_match_device(like, predictor.least_std) ** 2 if predictor.has_least_std else None,
        added=_match_device(like, predictor.added_std) ** 2 if predictor.adds_std else None,
        scale=_match_device(like, predictor.y_scaler.scale_),
        offset=_match_device(like, predictor.y_scaler.mean_),
    )


def _find_factors(predictor: Calibration):
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


def spread_components(predictor: Calibration, parts: Sequence[torch.Tensor], x: torch.Tensor):
    """Return calibrated means and standard deviations of the mixture, and the noise.

    All are float64 in units of the scaled target: means and standard deviations `(component, row,
    target)`, and the standard deviation of the noise `(row, target)`, or None if the
    components' standard deviations contain only noise.
    """
    means, stds, *mean_stds = (part.double() for part in parts)
    factor, noise_factor = (_match_device(means, f) for f in _find_factors(predictor))
    centre, shifts = spread_means(predictor, means)
    if predictor.has_least_std:
        least = _match_device(means, predictor.least_std).square()
        squares = [part.square() for part in mean_stds] or [torch.zeros_like(means)]
        mean_stds = [(part + least).sqrt() for part in squares]
    stds, mean_stds = stds * noise_factor, [part * factor for part in mean_stds]
    noise = None
    adds = predictor.adds_std or predictor.rarity is not None
    if mean_stds or predictor.inflation is not None or adds:
        noise = stds.square().mean(dim=0).sqrt()
    if predictor.inflation is not None:
        shifts, stds = _smooth_mixture(predictor.inflation(x), shifts, stds, mean_stds)
    elif mean_stds:
        stds = (stds.square() + mean_stds[0].square()).sqrt()
    if predictor.adds_std:
        stds = (stds.square() + _match_device(stds, predictor.added_std).square()).sqrt()
    if predictor.rarity is not None:
        stds = take_root(stds.square() + predictor.rarity(x))
    means = centre + shifts
    if predictor.has_tails:
        means, stds = spread_tails(means, stds, _match_device(stds, predictor.outlier_scale))
    return means, stds, noise


def spread_means(predictor: Calibration, means: torch.Tensor):
    """Return the centre of the means `(component, row, target)`, and their calibrated distances.

    Eq. 6 divides by K - 1. Spreading the means by sqrt(K / (K - 1)) around their centre makes this
    the variance of the mixture itself, so that its density and quantiles agree with the standard
    deviation.
    """
    factor, _ = _find_factors(predictor)
    n_components = len(means)
    degrees_of_freedom = max(n_components - predictor.ddof, 1)
    spread = _match_device(means, factor) * (n_components / degrees_of_freedom) ** 0.5
    centre = means.mean(dim=0)
    return centre, (means - centre) * spread


def spread_tails(means: torch.Tensor, stds: torch.Tensor, outlier_scale: torch.Tensor):
    """Give one component in `OUTLIER_PERIOD` a wider noise than the others.

    Tensors are `(component, row, target)`. Fewer components are copied first. The mean square of
    the standard deviations of a row stays, so no moment changes.
    """
    n_copies = -(-OUTLIER_PERIOD // len(means))
    means, stds = (part.repeat(n_copies, 1, 1) for part in (means, stds))
    is_wide = torch.arange(len(stds), device=stds.device) % OUTLIER_PERIOD == OUTLIER_PERIOD - 1
    wider = torch.where(is_wide[:, None, None], stds * outlier_scale, stds)
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
    epistemic = shifts.square().mean(dim=0)
    if mean_stds:
        epistemic = epistemic + mean_stds[0].square().mean(dim=0)
    inflated = inflate_epistemic(factor, epistemic, aleatoric)
    # Without noise the share is 0, where the root has no derivative.
    share = (aleatoric / (inflated + aleatoric).clamp(min=1e-30)).clamp(min=1e-12)
    rest = (inflated - share * epistemic).clamp(min=0)
    variances = stds.square() + rest  # (component, row, target)
    if mean_stds:
        variances = variances + share * mean_stds[0].square()
    return shifts * share.sqrt(), take_root(variances)


def take_root(variances: torch.Tensor) -> torch.Tensor:
    """Return standard deviations; the derivative of a point mass is 0, not infinite."""
    is_point = variances == 0
    return torch.where(is_point, 1.0, variances).sqrt() * ~is_point


def _match_device(tensor: torch.Tensor, values: np.ndarray | torch.Tensor) -> torch.Tensor:
    """Put float64 values on the device of a tensor, where buffers of a module are already."""
    if isinstance(values, torch.Tensor):
        return values
    return torch.tensor(values, device=tensor.device)
