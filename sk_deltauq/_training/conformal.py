"""Conformity scores of the rows that each network held out."""

from __future__ import annotations

import numpy as np

from sk_deltauq._conformal import ConformityScores, score_rows
from sk_deltauq._predictor import Predictor
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.net import StackedNet


def score_conformity(
    net: StackedNet, hold_out: HoldOut | None, predictor: Predictor
) -> ConformityScores | None:
    """Score each held-out row with the networks that did not train on it; None without rows.

    Networks that hold out the same rows predict together. So each row has exactly one score.
    `predictor` has the calibration and the inflation of the net.
    """
    if hold_out is None:
        return None
    assert predictor.y_scaler is not None
    scale, offset = predictor.y_scaler.scale_, predictor.y_scaler.mean_
    members_of_folds, n_members = hold_out.group_members(), net.module_.core.n_members
    scores = [[] for _ in members_of_folds]
    for parts, x, y in hold_out.iterate_components(net):
        for fold, members in enumerate(members_of_folds):
            # (member * component, row, target) to the components of the members of this fold
            of_fold = [p.unflatten(0, (n_members, -1))[members].flatten(0, 1) for p in parts]
            targets = y[members[0]].T.double().cpu().numpy() * scale + offset  # (row, target)
            scores[fold].append(score_rows(predictor, of_fold, x[members[0]].T, targets))
    numbers = np.arange(net.module_.n_components).reshape(n_members, -1)
    return ConformityScores.collect(
        [
            (
                None if len(members) == n_members else numbers[members].ravel(),
                np.concatenate(of_fold),
                hold_out.weights[members[0]].cpu().numpy(),
            )
            for members, of_fold in zip(members_of_folds, scores, strict=True)
        ]
    )
