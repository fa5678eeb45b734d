"""The method of Delta-UQ, whatever the head: one network on anchored inputs."""

from __future__ import annotations

import contextlib
import copy
from abc import abstractmethod
from numbers import Integral

import numpy as np

from sk_deltauq._base import BaseUQ
from sk_deltauq._random import Stream, numpy_rng, torch_generators, torch_seeded
from sk_deltauq._sklearn import Interval
from sk_deltauq._torch.networks import AnchoredMLP, AnchoredModules
from sk_deltauq._validation import scaled_tensor


class DeltaUQ(BaseUQ):
    """The method, whatever the head: draw anchors, train on `[c, x - c]`, pair all with all."""

    _parameter_constraints: dict = {
        **BaseUQ._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
    }

    # What shapes the network: it cannot change while training goes on from its weights.
    _architecture_params = ("hidden_layer_sizes", "activation", "embedding", "n_members", "module")

    @abstractmethod
    def _make_head(self):
        """A new head, the criterion of the net."""

    def _fit_model(self, data, training, plan):
        call = self.n_iter_ if plan.resume and plan.partial else 0
        anchors = self._draw_anchors(data, training, plan, call)
        rows = training.rows(data.x, data.y, data.weights, labels=data.labels, call=call)
        net = (
            self._resumed_net(data, training, plan)
            if plan.resume
            else self._new_net(data, training)
        )
        net.module_.register_buffer("anchors", anchors.to(training.device))
        # Only a user's own code draws from torch's global generators.
        foreign = self.module is not None or bool(self.net_params)
        with (
            torch_seeded(training.seed, Stream.MODULE, call)
            if foreign
            else contextlib.nullcontext()
        ):
            monitor = training.run(net, rows, anchors)
        self.net_ = net
        self.n_components_ = self.n_members * len(anchors)
        self.n_iter_ = len(net.history)
        self.loss_curve_ = net.history[:, "train_loss"]
        self.validation_scores_ = _one_or_all_members(monitor.scores)
        self.best_validation_score_ = _one_or_all_members(monitor.best_scores)

    def _draw_anchors(self, data, training, plan, call):
        """Keep a random sample of all rows so far, weighted rows in proportion to their weights.

        Each row draws a key, and the rows with the largest keys are the sample (Efraimidis and
        Spirakis, 2006): keys of later rows can be compared with those of the anchors in hand.
        """
        rng = numpy_rng(training.seed, Stream.ANCHORS, call)
        keys = np.log1p(-rng.random(len(data.X))) / data.weights.double().numpy()
        X = data.X
        if plan.resume and plan.partial:
            keys = np.concatenate([self._anchor_keys_, keys])
            X = np.concatenate([self.anchors_, X])
        chosen = np.argsort(-keys, kind="stable")[: self.n_anchors]
        self.anchors_, self._anchor_keys_ = X[chosen], keys[chosen]
        return scaled_tensor(self.anchors_, self.x_scaler_)

    def _new_net(self, data, training):
        generators = torch_generators(training.seed, Stream.WEIGHTS, range(self.n_members))
        head = self._make_head()
        settings = {"embedding": self.embedding, "generators": generators}
        widths = (data.x.shape[1], head.n_network_outputs)
        if self.module is None:
            module = AnchoredMLP(
                *widths,
                hidden_layer_sizes=_layer_sizes(self.hidden_layer_sizes),
                activation=self.activation,
                **settings,
            )
        else:
            module = AnchoredModules(*widths, factory=self.module, **settings)
        self._architecture_ = self._architecture()
        return training.new_net(module, head, len(data.x))

    def _resumed_net(self, data, training, plan):
        """A copy of the fitted net to train on: an error must not harm the one in hand."""
        changed = [
            name
            for name, value in self._architecture().items()
            if value != self._architecture_[name]
        ]
        if changed:
            raise ValueError(
                f"Training cannot go on from the last fit with another {', '.join(changed)}. Set "
                "it back, or start afresh: fit with warm_start=False."
            )
        net = copy.deepcopy(self.net_)
        return net if plan.partial else training.new_net(net.module_, net.criterion_, len(data.x))

    def _architecture(self):
        params = {name: getattr(self, name) for name in self._architecture_params}
        return {**params, "hidden_layer_sizes": _layer_sizes(self.hidden_layer_sizes)}

    def _components(self, x):
        module = self.net_.module_
        return self.net_.criterion_.components(module.all_pairs(x.T, module.anchors.T))


def _layer_sizes(sizes) -> tuple[int, ...]:
    """`hidden_layer_sizes` as a tuple of positive ints."""
    sizes = np.atleast_1d(np.asarray(sizes))
    if sizes.ndim != 1 or (len(sizes) and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
        raise ValueError(
            "hidden_layer_sizes must be a positive int or a sequence of them, got "
            f"{sizes.tolist()}."
        )
    return tuple(int(size) for size in sizes)


def _one_or_all_members(scores):
    """Scores with the members last; without that axis for one member."""
    if scores is None:
        return None
    scores = np.asarray(scores)
    if scores.shape[-1] > 1:
        return scores
    return scores[..., 0] if scores.ndim > 1 else float(scores[0])
