"""A regressor and a classifier with a network: the head, its parameters, and what it learns."""

from __future__ import annotations

from functools import partial
from numbers import Real

import numpy as np

from sk_deltauq._classification import ClassifierUQ
from sk_deltauq._network import NetworkUQ
from sk_deltauq._regression import RegressorUQ
from sk_deltauq._sklearn import Interval, StrOptions
from sk_deltauq._torch.heads import CategoricalHead, GaussianHead

# How many rows that need no factor the one of `calibrate` starts from: a few dozen held-out rows
# say little about it, a thousand nearly all.
_PRIOR_ROWS = 100


class GaussianUQ(RegressorUQ, NetworkUQ):
    """A regressor whose network predicts normal densities."""

    # Waves are six more inputs a feature. With fewer rows than this for each feature they made
    # linear functions worse by more than they made curved ones better.
    _rows_a_feature_for_waves = 25

    _parameter_constraints: dict = {
        **NetworkUQ._parameter_constraints,
        "noise": [StrOptions({"heteroscedastic", "homoscedastic"}), None],
        "nll_beta": [Interval(Real, 0, 1, closed="both")],
        "calibrate": ["boolean"],
    }

    def _make_head(self, n_members):
        return GaussianHead(
            self.n_outputs_,
            noise=self.noise,
            nll_beta=self._nll_beta(),
            n_members=n_members,
        )

    def _nll_beta(self) -> float:
        """Power of its variance that a row's negative log-likelihood is weighted by."""
        return self.nll_beta

    def _architecture(self):
        return {**super()._architecture(), "noise": self.noise}

    def _resumed_net(self, data, training, plan):
        net = super()._resumed_net(data, training, plan)
        net.criterion_.nll_beta = self._nll_beta()  # it may change, even in partial_fit
        return net

    def _finish(self, net, monitor, plan):
        super()._finish(net, monitor, plan)
        if self.calibrate and self.noise is not None and monitor.scores is not None:
            self.std_factor_ = self._one_or_all_outputs(self._held_out_std_factors(net, monitor))
        elif not (plan.partial and plan.resume):
            self.std_factor_ = self._one_or_all_outputs(np.ones(self.n_outputs_))

    def _held_out_std_factors(self, net, monitor):
        """By how much the errors of all members together are larger than predicted, in std.

        A held-out row is new to one member alone. The mean of M members is closer to the target
        than one of them is: its expected squared error is lower by 1 - 1/M of the variance between
        members, of which those that trained on the row show a little less than new rows would.
        The rows have chosen the epoch, and of a few hundred of them the error is a little less
        as well. No mean of M is better than if their errors were independent.
        """
        of_head = partial(net.criterion_.held_out_errors, ddof=self._ddof)
        (error, spread), n_rows = monitor.means(net, of_head)
        squared = np.maximum(error - (1 - 1 / self.n_members) * spread, error / self.n_members)
        return np.sqrt(1 + n_rows / (n_rows + _PRIOR_ROWS) * (squared - 1))

    def _fit_model(self, data, set_up, plan):
        super()._fit_model(data, set_up, plan)
        if self.noise == "homoscedastic":
            scaled = self.net_.criterion_.noise_std().detach().cpu().double().numpy()
            noise_std = scaled * self._std_factors() * self.y_scaler_.scale_
            self.noise_std_ = self._one_or_all_outputs(noise_std)

    def _std_factors(self):
        return np.atleast_1d(self.std_factor_)

    def _one_or_all_outputs(self, values):
        return float(values[0]) if self.n_outputs_ == 1 else values


class CategoricalUQ(ClassifierUQ, NetworkUQ):
    """A classifier whose network predicts logits."""

    _parameter_constraints: dict = {
        **NetworkUQ._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _make_head(self, n_members):
        return CategoricalHead(len(self.classes_))
