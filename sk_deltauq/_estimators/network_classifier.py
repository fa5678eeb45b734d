"""The classifiers whose networks predict logits: training and calibration."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

from sklearn.utils import column_or_1d

from sk_deltauq._estimators.classifier import BaseClassifier
from sk_deltauq._estimators.classifier_calibration import (
    KINDS,
    calibrate_classifier,
    check_calibration,
    resolve_calibration,
)
from sk_deltauq._estimators.labels import convert_labels, encode_labelled_rows
from sk_deltauq._estimators.parameters import NETWORK_CONSTRAINTS, read_params
from sk_deltauq._networks.heads import CategoricalHead
from sk_deltauq._sklearn import StrOptions
from sk_deltauq._training.corruption import find_corruption
from sk_deltauq._training.fit import prepare_fit, run_fit
from sk_deltauq._training.method import Method
from sk_deltauq._training.trained_net import TrainedNet
from sk_deltauq._validation import FitPlan


class NetworkClassifier(BaseClassifier):
    """A classifier whose networks predict logits; a subclass names the method."""

    class_weight: Any
    calibration: str | None
    _trained_: TrainedNet

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NETWORK_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "calibration": [StrOptions(KINDS), None],
    }

    @property
    def net_(self) -> Any:
        """Trained `skorch.NeuralNet`; `net_.module_` is the torch module with all members."""
        return self._trained_.net

    def score(self, X, y, sample_weight=None):
        """Return the accuracy: the fraction of rows whose predicted class is right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        ValueError
            If `X`, `y` or `sample_weight` is invalid, for example with another number of rows.
        """
        # scikit-learn compares no ints in an object array with predicted ints.
        return super().score(X, convert_labels(column_or_1d(y)), sample_weight)

    @abstractmethod
    def _method(self, plan: FitPlan) -> Method:
        """Return the method, made from the current parameters."""

    def _set_up(self, X, y, sample_weight, plan: FitPlan):
        data = encode_labelled_rows(self, X, y, sample_weight, plan)
        params = read_params(self)
        method, make_head = self._method(plan), partial(CategoricalHead, len(self.classes_))
        embedding = None if params["embedding"] == "auto" else params["embedding"]
        previous, name = self._trained_ if plan.resume else None, type(self).__name__
        fit = prepare_fit(params, name, method, make_head, embedding, data, plan, previous)
        kind = resolve_calibration(self)
        earlier = self._calibration_ if plan.partial and plan.resume else None
        reason = f"with early_stopping={params['early_stopping']!r} and {len(data.x)} rows"
        check_calibration(
            kind,
            earlier,
            holds_out=bool(fit.rows.held_out.numel()),
            reason="in partial_fit" if plan.partial else reason,
        )

        def calibrate(net, hold_out, trains_on):  # only regressors train on
            found = calibrate_classifier(
                *(net, hold_out, fit.context, kind, len(self.classes_), earlier),
                corrupts=find_corruption(params) is not None,
            )
            return {
                "calibration_": found.numbers or None,
                "frequency_weight_": None if found.mixing is None else found.mixing.weight,
                "_calibration_": found,
            }

        return partial(run_fit, fit, calibrate)

    def _predictor(self, *, refined=True):  # a classifier has no means to refine
        return self._trained_.predictor(x_scaler=self.x_scaler_)
