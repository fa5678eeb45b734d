"""The method of Delta-UQ, whatever the head: networks on anchored inputs."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from sk_deltauq._base import FitData
from sk_deltauq._network import ModuleUQ
from sk_deltauq._random import Stream, numpy_rng
from sk_deltauq._sklearn import Interval
from sk_deltauq._skorch.rows import AnchoredBatches
from sk_deltauq._torch.networks import AnchoredMLP, AnchoredModules
from sk_deltauq._validation import scaled_tensor


class AnchoredUQ(ModuleUQ):
    """Train on `[c, x - c]` with a random training row `c`; predict with all of the anchors."""

    _parameter_constraints: dict = {
        **ModuleUQ._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
    }

    _mlp_class = AnchoredMLP
    _modules_class = AnchoredModules

    def _batches(self):
        return AnchoredBatches

    def _prepare_module(self, module, data, plan, call):
        """Draw the anchors: a random sample of all rows so far."""
        keys, X = anchor_keys(self.seed_, data, call), data.X
        if plan.resume and plan.partial:
            keys = np.concatenate([self._anchor_keys_, keys])
            X = np.concatenate([self.anchors_, X])
        chosen = np.argsort(-keys, kind="stable")[: self.n_anchors]
        self.anchors_, self._anchor_keys_ = X[chosen], keys[chosen]
        module.set_anchors(scaled_tensor(self.anchors_, self.x_scaler_).to(self.device))


def anchor_keys(seed: int, data: FitData, call: int) -> np.ndarray:
    """A random key for each row; the rows with the largest keys are a sample of any size.

    The sample is without replacement, in proportion to the weights (Efraimidis and Spirakis,
    2006), and keys of later rows can be compared with those of rows in hand.
    """
    rng = numpy_rng(seed, Stream.ANCHORS, call)
    return np.log1p(-rng.random(len(data.X))) / data.weights.double().numpy()
