"""A regressor and a classifier with a network: the head, its parameters, and what it learns."""

from __future__ import annotations

from numbers import Real

from sk_deltauq._classification import ClassifierUQ
from sk_deltauq._network import NetworkUQ
from sk_deltauq._regression import RegressorUQ
from sk_deltauq._sklearn import Interval, StrOptions
from sk_deltauq._torch.heads import CategoricalHead, GaussianHead


class GaussianUQ(RegressorUQ, NetworkUQ):
    """A regressor whose network predicts normal densities."""

    _parameter_constraints: dict = {
        **NetworkUQ._parameter_constraints,
        "noise": [StrOptions({"heteroscedastic", "homoscedastic"}), None],
        "nll_beta": [Interval(Real, 0, 1, closed="both")],
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

    def _fit_model(self, data, set_up, plan):
        super()._fit_model(data, set_up, plan)
        if self.noise == "homoscedastic":
            scaled = self.net_.criterion_.noise_std().detach().cpu().double().numpy()
            noise_std = self._in_units_of_y(scaled)
            self.noise_std_ = float(noise_std) if self.n_outputs_ == 1 else noise_std


class CategoricalUQ(ClassifierUQ, NetworkUQ):
    """A classifier whose network predicts logits."""

    _parameter_constraints: dict = {
        **NetworkUQ._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _make_head(self, n_members):
        return CategoricalHead(len(self.classes_))
