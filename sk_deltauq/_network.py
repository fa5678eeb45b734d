"""What methods with a skorch net share: from parameters to a trained net, fresh or resumed."""

from __future__ import annotations

import contextlib
import copy
from abc import abstractmethod
from numbers import Integral, Real

import numpy as np
import torch

from sk_deltauq._base import BaseUQ, FitData, FitPlan
from sk_deltauq._folds import number_of_folds
from sk_deltauq._random import Stream, numpy_rng, torch_generators, torch_seeded
from sk_deltauq._sklearn import Interval, StrOptions
from sk_deltauq._skorch.net import StackedNet
from sk_deltauq._skorch.rows import Batches
from sk_deltauq._skorch.training import Training
from sk_deltauq._torch.embeddings import EMBEDDINGS
from sk_deltauq._torch.networks import ACTIVATIONS
from sk_deltauq._validation import layer_sizes


class NetworkUQ(BaseUQ):
    """A method that trains stacked networks; it says which module and which head."""

    _parameter_constraints: dict = {
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "embedding": [StrOptions({"auto", *filter(None, EMBEDDINGS)}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"invscaling", "constant"})],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "averaging": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="right")],
        "warm_start": ["boolean"],
        "net_params": [dict, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # The network, of our own layers, see `_torch/networks.py`.
    _mlp_class: type

    # How it trains: the net, and the mini-batches, `batches(rows, batch_size)`.
    _net_class = StackedNet

    def _batches(self):
        return Batches

    # How many rows for each feature make "auto" an embedding; None for never.
    _rows_a_feature_for_waves: int | None = None

    def _auto_embedding(self, data: FitData) -> str | None:
        """What the embedding "auto" is for this data, a key of `EMBEDDINGS`."""
        wanted, (n_rows, n_features) = self._rows_a_feature_for_waves, data.x.shape
        return "alternating" if wanted and n_rows >= wanted * n_features else None

    def _make_module(self, embedding, n_outputs: int, generators):
        """A new module with one member for each generator, on embedded rows."""
        return self._mlp_class(
            embedding,
            n_outputs,
            hidden_layer_sizes=layer_sizes(self.hidden_layer_sizes),
            activation=self.activation,
            generators=generators,
        )

    def _weight_generators(self, members: list[int]):
        """What draws the initial weights of each of these members."""
        return torch_generators(self.seed_, Stream.WEIGHTS, members)

    def _penalty(self) -> float:
        """Strength of the L2 penalty on the weights."""
        return self.alpha

    def _runs_code_of_the_user(self) -> bool:
        """Whether training runs code that may draw from torch's global generators."""
        return "callbacks" in (self.net_params or {})

    @abstractmethod
    def _make_head(self, n_members: int):
        """A new head, the criterion of the net, see `_torch/heads.py`."""

    def _prepare_module(self, module, data: FitData, plan: FitPlan, call: int):
        """Draw what the components are made of, before training; `call` counts `partial_fit`s."""
        return

    def _finish(self, net, monitor, plan: FitPlan):
        """See to what can only be settled once the net is trained."""
        return

    def _training(self, data: FitData, plan: FitPlan) -> Training:
        """The training settings for this data."""
        n_folds = number_of_folds(
            self.early_stopping,
            len(data.X),
            self.n_members,
            self.validation_fraction,
            n_classes=0 if data.labels is None else len(np.unique(data.labels)),
            partial=plan.partial,
        )
        return Training(
            n_members=self.n_members,
            seed=self.seed_,
            n_folds=n_folds,
            max_iter=1 if plan.partial else self.max_iter,
            warn=not plan.partial,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            learning_rate_init=self.learning_rate_init,
            averaging=1 if plan.partial else self.averaging,
            alpha=self._penalty(),
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
            device=_check_device(self.device),
            net_params=dict(self.net_params or {}),
            verbose=bool(self.verbose),
            name=type(self).__name__,
            net_class=self._net_class,
            batches=self._batches(),
        )

    def _set_up(self, data, plan):
        """The training settings, and the net to train."""
        training = self._training(data, plan)
        make_net = self._resumed_net if plan.resume else self._new_net
        return training, make_net(data, training, plan)

    def _fit_model(self, data, set_up, plan):
        training, net = set_up
        call = self._n_calls_ if plan.resume else 0
        # `fit` on the same rows has the same anchors, warm or not; `partial_fit` adds new rows.
        self._prepare_module(net.module_, data, plan, call if plan.partial else 0)
        rows = training.rows(data.x, data.y, data.weights, labels=data.labels, call=call)
        with self._global_seed(training, call):
            monitor = training.run(net, rows, resumed=plan.resume)
        self._finish(net, monitor, plan)
        self.net_, self._n_calls_ = net, call + 1
        self.n_components_ = net.module_.n_components
        self.n_iter_ = len(net.history)
        self.loss_curve_ = net.history[:, "train_loss"]
        self.validation_scores_ = _one_or_all_members(monitor.scores)
        self.best_validation_score_ = _one_or_all_members(monitor.best_scores)

    def _new_net(self, data, training, plan):
        generators = self._weight_generators(training.members)
        head = self._make_head(len(generators))
        name = self._auto_embedding(data) if self.embedding == "auto" else self.embedding
        embedding = EMBEDDINGS[name](data.x.shape[1], generators, training.members)
        module = self._make_module(embedding, head.n_network_outputs, generators)
        self._architecture_ = self._architecture()
        return training.new_net(module, head, len(data.x))

    def _resumed_net(self, data, training, plan):
        """A copy of the fitted net to train on: an error must not harm the one in hand."""
        now, then = self._architecture(), self._architecture_
        if not plan.partial:  # a new optimizer is made
            then = {**then, "alpha": self._penalty(), "net_params": self.net_params}
        changed = [name for name in now if now[name] is not then[name] and now[name] != then[name]]
        if changed:
            raise ValueError(
                f"Training cannot go on from the last fit with another {', '.join(changed)}. Set "
                "it back, or start afresh: fit with warm_start=False."
            )
        if plan.partial and training.device != self.net_.device:
            raise ValueError(
                f"partial_fit cannot move to device={training.device!r}: the net is on "
                f"{self.net_.device!r}. Set device back, or start afresh with fit."
            )
        self._architecture_ = now
        net = copy.deepcopy(self.net_)
        if not plan.partial:
            # A head with today's parameters, and the weights it had.
            head = self._make_head(self.n_members)
            head.load_state_dict(net.criterion_.state_dict())
            return training.new_net(net.module_, head, len(data.x))
        return training.update(net, len(data.x))

    def _architecture(self) -> dict:
        """The parameters that cannot change while training goes on from the weights."""
        return {
            "hidden_layer_sizes": layer_sizes(self.hidden_layer_sizes),
            "activation": self.activation,
            "embedding": self.embedding,
            "n_members": self.n_members,
            "alpha": self._penalty(),
            "net_params": self.net_params,
        }

    def _global_seed(self, training, call):
        """Only code of the user's own draws from torch's global generators: seed them for it."""
        if not self._runs_code_of_the_user():
            return contextlib.nullcontext()
        seed = int(numpy_rng(training.seed, Stream.MODULE, call).integers(2**63))
        return torch_seeded(seed, training.device)

    def _components(self, x):
        return self.net_.criterion_.components(self.net_.module_.components(x.T))

    def _width(self):
        return self.net_.module_.width

    def _prediction_device(self):
        # Not `self.device`: a model from a GPU, unpickled where there is none, is on the CPU.
        return self.net_.device


class ModuleUQ(NetworkUQ):
    """A method that can also train copies of a user's own module."""

    _parameter_constraints: dict = {
        **NetworkUQ._parameter_constraints,
        "module": [callable, None],
    }

    # The network, of a user's modules, see `_torch/networks.py`.
    _modules_class: type

    def _set_up(self, data, plan):
        if isinstance(self.module, torch.nn.Module):
            raise ValueError(
                "module must be a factory, called as module(in_features, out_features), got an "
                f"instance of {type(self.module).__name__}. Pass a class or a function."
            )
        return super()._set_up(data, plan)

    def _auto_embedding(self, data):
        # A user's module gets the rows as its author expects them.
        return super()._auto_embedding(data) if self.module is None else None

    def _make_module(self, embedding, n_outputs, generators):
        if self.module is None:
            return super()._make_module(embedding, n_outputs, generators)
        return self._modules_class(
            embedding, n_outputs, factory=self.module, generators=generators
        )

    def _architecture(self):
        return {**super()._architecture(), "module": self.module}

    def _runs_code_of_the_user(self):
        return self.module is not None or super()._runs_code_of_the_user()


def _one_or_all_members(scores):
    """Scores with the members last; without that axis for one member."""
    if scores is None:
        return None
    scores = np.asarray(scores)
    if scores.shape[-1] > 1:
        return scores
    return scores[..., 0] if scores.ndim > 1 else float(scores[0])


def _check_device(device: str) -> str:
    """Refuse a device that torch does not know, or that this machine has not got."""
    try:
        torch.zeros(1, device=device, dtype=torch.float64).item()  # moments are summed in float64
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device must name a device that torch can use here, such as 'cpu' or 'cuda', got "
            f"{device!r}: {error}"
        ) from error
    return device
