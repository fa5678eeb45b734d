"""Outlier scores of the held-out rows of a regressor, which scores of new rows compare with."""

from __future__ import annotations

import numpy as np
import torch

from sk_deltauq._nearest_rows import measure_squashed_distance
from sk_deltauq._outlier_scores import HeldOutSpreads
from sk_deltauq._training.calibration import OutOfFold
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.held_out_logits import MOST_ROWS, N_REFERENCES, choose_rows


@torch.inference_mode()
def score_held_out_spreads(
    hold_out: HoldOut, found: OutOfFold, rng: np.random.Generator
) -> HeldOutSpreads:
    """Score the held-out rows: the spread between all components, and the distance.

    The spread is computed over all networks, as in a prediction: a network with one component has
    no spread of its own. The distance is measured from the rows that the network of the fold
    trained on. A row that several networks hold out counts once.
    """
    first = [members[0] for members in hold_out.group_members()]
    spreads = _average_outputs(found.epistemic).reshape(len(hold_out.weights), -1)
    trained_and_held = list(hold_out.iterate_folds())
    most, scores = -(-MOST_ROWS // len(first)), []
    for member in first:
        kept = np.flatnonzero(hold_out.weights[member].cpu().numpy() > 0)
        kept = kept[choose_rows(rng, len(kept), most)]
        trained, held = trained_and_held[member]
        references = trained[choose_rows(rng, len(trained), N_REFERENCES)]
        distances = measure_squashed_distance(held[kept], references)
        scores.append((spreads[member, kept], distances.cpu().numpy()))
    spreads, distances = (np.sort(np.concatenate(parts)) for parts in zip(*scores, strict=True))
    return HeldOutSpreads(spreads.astype(np.float64), distances.astype(np.float64))


def _average_outputs(variances: np.ndarray) -> np.ndarray:
    """Variances `(output, row)` to the root of their mean, `(row,)`."""
    return np.sqrt(variances.mean(axis=0))
