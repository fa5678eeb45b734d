"""Logits of held-out rows by the networks that did not train on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from sk_deltauq._nearest_rows import measure_nearest, measure_squashed_distance
from sk_deltauq._outlier_scores import HeldOutScores, average_log_proba, measure_entropy
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.net import StackedNet

# With more held-out rows no estimate from them changes visibly.
MOST_ROWS = 8192

# Training rows of a fold that its held-out rows are compared with, as in a prediction.
N_REFERENCES = 2000

_CHUNK_ELEMENTS = 2**22


@dataclass(frozen=True)
class FoldLogits:
    """Held-out rows of one fold, and what the networks that hold them out say of them."""

    members: list[int]  # numbers of these networks
    logits: torch.Tensor  # (component, row, class), float64
    labels: torch.Tensor  # (row,), class numbers
    weights: torch.Tensor  # (row,), float64; rows that pad the fold have weight zero
    x: torch.Tensor  # (row, feature), scaled
    distances: torch.Tensor  # (row,), from the rows that these networks trained on
    references: torch.Tensor  # (reference, feature), a sample of these rows

    def sample(self, rng: np.random.Generator, most: int) -> FoldLogits:
        """Return at most so many random rows of the fold."""
        rows = torch.from_numpy(choose_rows(rng, len(self.x), most)).to(self.x.device)
        return replace(
            self,
            logits=self.logits[:, rows],
            labels=self.labels[rows],
            weights=self.weights[rows],
            x=self.x[rows],
            distances=self.distances[rows],
        )

    def average_log_proba(self, temperatures: torch.Tensor | float = 1.0) -> torch.Tensor:
        """Log of the mean of the components' probabilities, `(row, class)`.

        `temperatures` is `(row,)`, or one number.
        """
        if isinstance(temperatures, torch.Tensor):
            temperatures = temperatures[:, None]
        return average_log_proba(self.logits / temperatures)

    def log_likelihood(self, temperatures: torch.Tensor | float = 1.0) -> torch.Tensor:
        """Log of the probability of the observed label, `(row,)`."""
        log_proba = self.average_log_proba(temperatures)
        return log_proba.gather(1, self.labels[:, None])[:, 0]


@dataclass(frozen=True)
class HeldOutLogits:
    """Held-out rows of all folds, at most about 8,000 random ones."""

    folds: tuple[FoldLogits, ...]
    n_units: int  # distinct held-out rows (or groups)
    n_effective: float  # the same, lower if their weights are unequal

    @classmethod
    def collect(
        cls, net: StackedNet, hold_out: HoldOut, rng: np.random.Generator
    ) -> HeldOutLogits:
        """Ask each network about the rows that it held out.

        Networks that hold out the same rows predict together, so a row is there once.
        """
        groups = hold_out.group_members()
        kept = choose_rows(rng, hold_out.weights.shape[1], -(-MOST_ROWS // len(groups)))
        kept = torch.from_numpy(kept).to(hold_out.weights.device)
        logits, x, y = _ask_about_own_rows(net, hold_out, kept)
        trained = [rows for rows, _ in hold_out.iterate_folds()]
        folds = []
        for members in groups:
            first = members[0]
            references = trained[first][choose_rows(rng, len(trained[first]), N_REFERENCES)]
            folds.append(
                FoldLogits(
                    members=members,
                    logits=logits[members].flatten(0, 1),
                    labels=y[first, 0].long(),
                    weights=hold_out.weights[first][kept],
                    x=x[first].T,
                    distances=measure_nearest(x[first].T, references).mean(dim=1),
                    references=references,
                )
            )
        return cls(tuple(folds), hold_out.n_units, hold_out.count_units())

    def sample(self, rng: np.random.Generator, n_rows: int) -> HeldOutLogits:
        """Return about `n_rows` random rows in all, equally many of each fold."""
        n_per_fold = -(-n_rows // len(self.folds))
        return replace(self, folds=tuple(fold.sample(rng, n_per_fold) for fold in self.folds))

    def corrupt(
        self, net: StackedNet, function: Callable[[np.ndarray], np.ndarray]
    ) -> HeldOutLogits:
        """Ask the same networks about the rows after a corruption.

        `function` maps scaled rows `(row, feature)` to corrupted ones. Labels and weights stay.
        """
        rows = [
            torch.from_numpy(function(f.x.cpu().numpy()).astype(np.float32)).to(f.x.device)
            for f in self.folds
        ]
        by_member: dict[int, torch.Tensor] = {
            member: x.T
            for fold, x in zip(self.folds, rows, strict=True)
            for member in fold.members
        }
        logits = _ask(net, torch.stack([by_member[member] for member in range(len(by_member))]))
        corrupted = (
            replace(
                fold,
                logits=logits[fold.members].flatten(0, 1),
                x=x,
                distances=measure_nearest(x, fold.references).mean(dim=1),
            )
            for fold, x in zip(self.folds, rows, strict=True)
        )
        return replace(self, folds=tuple(corrupted))

    def average(self, function: Callable[[FoldLogits], torch.Tensor]) -> float:
        """Return the weighted mean over all rows of a function of a fold, `(row,)`."""
        total = sum(float((function(fold) * fold.weights).sum()) for fold in self.folds)
        return total / sum(float(fold.weights.sum()) for fold in self.folds)

    def concatenate(self, function: Callable[[FoldLogits], torch.Tensor]) -> np.ndarray:
        """Return a function of a fold, with the rows first, for the rows of positive weight."""
        parts = [function(fold)[fold.weights > 0] for fold in self.folds]
        return torch.cat(parts).cpu().numpy()


def _ask_about_own_rows(net: StackedNet, hold_out: HoldOut, kept: torch.Tensor):
    """Logits `(member, component, row, class)`, rows and targets `(member, column, row)`.

    `kept` has the positions of some held-out rows, the same for each member.
    """
    chunks, start = [], 0
    for (logits,), x, y in hold_out.iterate_components(net):
        inside = kept[(kept >= start) & (kept < start + x.shape[2])] - start
        start += x.shape[2]
        chunks.append((logits[:, inside].double(), x[..., inside], y[..., inside]))
    logits, x, y = zip(*chunks, strict=True)
    logits = torch.cat(logits, dim=1).unflatten(0, (len(x[0]), -1))
    return logits, torch.cat(x, dim=2), torch.cat(y, dim=2)


def score_outliers_held_out(held: HeldOutLogits) -> HeldOutScores:
    """Score the held-out rows, each by the networks that did not train on it."""
    return HeldOutScores(
        entropies=np.sort(held.concatenate(lambda f: measure_entropy(f.average_log_proba()))),
        distances=np.sort(
            held.concatenate(lambda f: measure_squashed_distance(f.x, f.references))
        ),
    )


@torch.inference_mode()
def _ask(net: StackedNet, x: torch.Tensor) -> torch.Tensor:
    """Ask each member about its own rows.

    `(member, feature, row)` to logits `(member, component, row, class)`.
    """
    network = net.module_.eval()
    n_components = network.n_components // network.core.n_members
    step = max(1, _CHUNK_ELEMENTS // (len(x) * n_components * network.core.width))
    found = [net.criterion_.components(network.components(part))[0] for part in x.split(step, -1)]
    return torch.cat(found, dim=1).double().unflatten(0, (len(x), -1))


def ask_all_members(net: StackedNet, x: torch.Tensor) -> torch.Tensor:
    """Ask all members about rows `(row, feature)`: `(member, component, row, class)`."""
    return _ask(net, x.T.expand(net.module_.core.n_members, -1, -1))


def choose_rows(rng: np.random.Generator, n_rows: int, most: int) -> np.ndarray:
    """Choose positions of rows at random, in ascending order."""
    return np.arange(n_rows) if n_rows <= most else np.sort(rng.permutation(n_rows)[:most])
