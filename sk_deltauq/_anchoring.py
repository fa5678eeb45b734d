"""The method of Delta-UQ, whatever the head: networks on anchored inputs."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from sk_deltauq._network import NetworkUQ, layer_sizes
from sk_deltauq._random import Stream, numpy_rng
from sk_deltauq._sklearn import Interval
from sk_deltauq._skorch.rows import AnchoredBatches
from sk_deltauq._torch.networks import AnchoredMLP, AnchoredModules
from sk_deltauq._validation import scaled_tensor


class DeltaUQ(NetworkUQ):
    """Train on `[c, x - c]` with a random training row `c`; predict with all of the anchors."""

    _parameter_constraints: dict = {
        **NetworkUQ._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
    }

    def _batches(self):
        return AnchoredBatches

    def _make_module(self, n_features, n_outputs, generators):
        settings = {"embedding": self.embedding, "generators": generators}
        if self.module is not None:
            return AnchoredModules(n_features, n_outputs, factory=self.module, **settings)
        return AnchoredMLP(
            n_features,
            n_outputs,
            hidden_layer_sizes=layer_sizes(self.hidden_layer_sizes),
            activation=self.activation,
            **settings,
        )

    def _prepare_module(self, module, data, plan, call):
        """Draw the anchors: a random sample of all rows so far, in proportion to their weights.

        Each row draws a key, and the rows with the largest keys are the sample (Efraimidis and
        Spirakis, 2006): keys of later rows can be compared with those of the anchors in hand.
        """
        rng = numpy_rng(self.seed_, Stream.ANCHORS, call)
        keys = np.log1p(-rng.random(len(data.X))) / data.weights.double().numpy()
        X = data.X
        if plan.resume and plan.partial:
            keys = np.concatenate([self._anchor_keys_, keys])
            X = np.concatenate([self.anchors_, X])
        chosen = np.argsort(-keys, kind="stable")[: self.n_anchors]
        self.anchors_, self._anchor_keys_ = X[chosen], keys[chosen]
        module.set_anchors(scaled_tensor(self.anchors_, self.x_scaler_).to(self.device))
