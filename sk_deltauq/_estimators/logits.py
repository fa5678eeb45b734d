"""What a classifier does with logits: means, spread, and what held-out rows say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from sk_deltauq._nearest_rows import NearestRows
from sk_deltauq._outlier_scores import average_log_proba, measure_entropy
from sk_deltauq._predictor import Predictor, take_root
from sk_deltauq._temperature import Temperature
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.held_out_logits import HeldOutLogits
from sk_deltauq._training.net import StackedNet
from sk_deltauq._validation import FitData

# The prior of the mixing weight is Beta(1/2, 2), times the likelihood of six rows whose label has
# half the probability that the class frequencies give it. The density is infinite at zero, so that
# a few dozen good rows make the weight small. The six rows keep the log loss of 4 to 20 rows near
# the log loss of the class frequencies.
_PRIOR_ROWS = 6


def measure_logit_std(logits: torch.Tensor) -> torch.Tensor:
    """Std of the logits over components (eq. 6), averaged over classes: `(row,)`."""
    return logits.std(dim=0, correction=1 if len(logits) > 1 else 0).mean(dim=1)


def find_spread_range(net: StackedNet, hold_out: HoldOut) -> tuple[float, float]:
    """Return the smallest and largest mean logit std on the held-out rows."""

    def measure(member, raw, y):
        return measure_logit_std(*net.criterion_.components(raw))

    std, _ = hold_out.ask_all_members(net, measure)
    return float(std.min()), float(std.max())


@dataclass(frozen=True)
class FrequencyMixing:
    """Mix the predicted probabilities with the class frequencies.

    Networks on few rows are too sure of themselves. The weight of the frequencies is the posterior
    mean under the likelihood of the held-out rows. It falls towards zero as rows are added.
    """

    weight: float
    frequencies: np.ndarray  # (class,)

    @classmethod
    def estimate(
        cls,
        held: HeldOutLogits,
        temperature: Temperature | None,
        data: FitData,
        n_classes: int,
    ) -> FrequencyMixing:
        """Estimate the weight from the probabilities that networks give to rows they held out."""
        assert data.labels is not None
        counts = np.bincount(data.labels, data.weights / data.weights.mean(), n_classes)
        frequencies = (counts + 1) / (counts + 1).sum()

        def ask(fold):
            return fold.log_likelihood(1.0 if temperature is None else temperature(fold.distances))

        own = np.exp(held.concatenate(ask))
        base = frequencies[held.concatenate(lambda fold: fold.labels)]
        row_weights = held.concatenate(lambda fold: fold.weights)
        # Networks that hold out the same rows say nothing new.
        row_weights = row_weights * held.n_units / row_weights.sum()
        return cls(_average_weight(own, base, row_weights), frequencies)


class LogitAdjustment(nn.Module):
    """Apply what held-out rows said: temperatures, and the mixture with the class frequencies.

    Parameters
    ----------
    nearest : NearestRows or None
        Measures the distance of the rows for the temperature. None takes all rows as inside.
    temperature : Temperature or None
        Divides the logits of each row.
    spread_range : tuple of float, or None
        Range of the mean logit std, see `temper_logits`.
    mixing : FrequencyMixing or None
        Mixes the probabilities with the class frequencies.
    """

    spread_range: torch.Tensor | None
    log_own: torch.Tensor | None
    log_base: torch.Tensor | None

    def __init__(
        self,
        nearest: NearestRows | None = None,
        temperature: Temperature | None = None,
        spread_range: tuple[float, float] | None = None,
        mixing: FrequencyMixing | None = None,
    ):
        super().__init__()
        self.nearest, self.temperature = nearest, temperature
        values = {"spread_range": spread_range, "log_own": None, "log_base": None}
        if mixing is not None:
            values["log_own"] = np.log1p(-mixing.weight)
            values["log_base"] = np.log(mixing.frequencies) + np.log(mixing.weight)  # (class,)
        for name, value in values.items():
            if value is not None:
                value = torch.tensor(value, dtype=torch.float64, device="cpu")
            self.register_buffer(name, value)

    def forward(self, logits: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Adjust every component: logits `(component, row, class)` of scaled rows `x`."""
        return self.adjust(logits, self._measure(x))

    def adjust(self, logits: torch.Tensor, distances: torch.Tensor) -> torch.Tensor:
        """Adjust logits of rows at these distances from the training rows, `(row,)`."""
        if self.spread_range is not None:  # paper, section 4
            logits = temper_logits(logits, self.spread_range)
        if self.temperature is not None:
            logits = logits / self.temperature(distances)[:, np.newaxis]
        return self.mix(logits)

    def adjust_inside(self, logits: torch.Tensor) -> torch.Tensor:
        """Adjust logits as if every row were near the training rows, and its spread small."""
        return self.mix(logits if self.temperature is None else logits / self.temperature.base)

    def mix(self, logits: torch.Tensor) -> torch.Tensor:
        """Mix the probabilities with the class frequencies."""
        if self.log_own is None or self.log_base is None:
            return logits
        return torch.logaddexp(logits.double().log_softmax(dim=2) + self.log_own, self.log_base)

    def _measure(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(x.shape[:1]) if self.nearest is None else self.nearest(x)


class LogitSummary(NamedTuple):
    """What a classifier says of each row: tensors, or arrays."""

    log_proba: Any  # (row, class), of the mean over the components
    proba: Any  # (row, class)
    std: Any  # (row,), standard deviation of the label
    total: Any  # (row,), entropy of `proba`
    aleatoric: Any  # (row,), mean entropy of the components, as if the row were inside
    epistemic: Any  # (row,), what is left of the total
    mutual_information: Any  # (row,), of label and component, as if the row were inside
    logit_std: Any  # (row,), std of the logits over the components


def summarise_logits(
    logits: torch.Tensor, adjusted: torch.Tensor, inside: torch.Tensor
) -> LogitSummary:
    """Summarise logits `(component, row, class)` in float64.

    They are as the networks give them, after the adjustment, and after the adjustment of a row
    near the training rows. The increase of the entropy with the distance is epistemic, as in a
    regressor.
    """
    log_proba = average_log_proba(adjusted.double())
    proba = log_proba.exp()
    proba = proba / proba.sum(dim=1, keepdim=True)
    total = measure_entropy(log_proba)
    inside = inside.double()
    aleatoric = measure_entropy(inside.log_softmax(dim=2)).mean(dim=0)
    total_inside = measure_entropy(average_log_proba(inside))
    return LogitSummary(
        log_proba,
        proba,
        std=take_root((proba * (1 - proba)).sum(dim=1) / 2),
        total=total,
        aleatoric=torch.minimum(aleatoric, total),
        epistemic=(total - aleatoric).clamp(min=0),
        mutual_information=(total_inside - aleatoric).clamp(min=0),
        logit_std=measure_logit_std(logits.double()),
    )


def _average_weight(own: np.ndarray, base: np.ndarray, row_weights: np.ndarray) -> float:
    """Posterior mean of w for probabilities `(1 - w) * own + w * base` of the observed labels."""
    root = (np.arange(1000) + 0.5) / 1000
    w = root**2  # the prior of the root is proportional to 1 - w
    log_density = np.log(np.outer(1 - w, own) + np.outer(w, base)) @ row_weights
    log_density += np.log1p(-w) + _PRIOR_ROWS * np.log1p(w)
    density = np.exp(log_density - log_density.max())
    return float(density @ w / density.sum())


def temper_logits(logits: torch.Tensor, spread_range: torch.Tensor) -> torch.Tensor:
    """Multiply logits by 1 minus their std, scaled to [0, 1) by the range of held-out rows."""
    low, high = spread_range.unbind()
    smallest = torch.finfo(torch.float32).tiny
    scaled = (measure_logit_std(logits) - low) / (high - low).clamp(min=smallest)
    # The paper scales to [0, 1): at 1 the answer would not depend on the logits at all.
    return logits * (1 - scaled.clamp(0, 1 - 1e-3))[:, np.newaxis]


def map_logits(predictor: Predictor, adjustment: LogitAdjustment, X: np.ndarray, function):
    """Apply `function(raw, adjusted, summarise, x)` to checked rows, in chunks.

    It gets raw and adjusted logits `(component, row, class)`, a function that returns their
    `LogitSummary`, and the scaled rows.
    """
    adjust = adjustment.to(predictor.device)

    def map_chunk(x):
        logits = predictor.module(x)[0].double()
        adjusted = adjust(logits, x)

        def summarise():
            return summarise_logits(logits, adjusted, adjust.adjust_inside(logits))

        return function(logits, adjusted, summarise, x)

    return predictor.map_rows(X, map_chunk)
