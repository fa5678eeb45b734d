"""The regressors whose networks predict normal densities: training and calibration."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from sk_deltauq._estimators.parameters import NETWORK_CONSTRAINTS, TARGET_CONSTRAINT, read_params
from sk_deltauq._estimators.prediction import PREDICTORS
from sk_deltauq._estimators.regressor import BaseRegressor
from sk_deltauq._estimators.regressor_outliers import (
    RegressorOutliers,
    collect_outlier_references,
    score_regressor_outliers,
)
from sk_deltauq._estimators.targets import encode_rows
from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._rarity import RareLevels, find_levels
from sk_deltauq._sklearn import Interval, StrOptions
from sk_deltauq._training.calibration import SCALES, calibrate, predict_out_of_fold
from sk_deltauq._training.conformal import score_conformity
from sk_deltauq._training.fit import prepare_fit, run_fit
from sk_deltauq._training.method import Method
from sk_deltauq._training.rarity import add_rare_levels
from sk_deltauq._training.trained_net import TrainedNet
from sk_deltauq._validation import FitPlan

# "auto" embeds the inputs from this many rows per feature on. Sinusoidal features are six more
# inputs per feature. With fewer rows they hurt linear functions more than they helped curved ones.
_ROWS_PER_FEATURE_TO_EMBED = 25


class NetworkRegressor(BaseRegressor):
    """A regressor whose networks predict normal densities; a subclass names the method."""

    std_factor_: float | np.ndarray
    noise_factor_: float | np.ndarray
    outlier_scale_: float | np.ndarray
    _trained_: TrainedNet
    _rarity_: RareLevels | None  # None without levels, calibration or held-out rows
    _outliers_: RegressorOutliers

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NETWORK_CONSTRAINTS,
        **TARGET_CONSTRAINT,
        "noise": [StrOptions({"heteroscedastic", "homoscedastic"}), None],
        "nll_beta": [Interval(Real, 0, 1, closed="both")],
        "calibrate": ["boolean"],
        "refine_mean": ["boolean"],
    }

    @property
    def net_(self) -> Any:
        """Trained `skorch.NeuralNet`; `net_.module_` is the torch module with all members."""
        return self._trained_.net

    @property
    def mean_refined_(self) -> bool:
        """Whether `refine_mean` changed the predicted means."""
        return self._trained_.refined is not None

    def outlier_score(self, X, kind="combined"):
        """Score how strange each row is; higher is stranger.

        The score of a row does not depend on the other rows. A threshold, such as the 95 %
        quantile of the scores of rows that were not used to fit, turns it into a decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        kind : str, default="combined"
            - "combined": Fisher's combination of the p-values of two scores among held-out rows:
              of the spread between the components (before the calibration and the distance-based
              inflation), and of the distance.
            - "distance": mean distance from the 5 nearest of up to 2,000 training rows, in
              standardised features that are squashed to (-3, 3).
            - "epistemic": the epistemic standard deviation of `predict_uncertainty`, in units of
              the standard deviation of the training targets (after `target_transform`). With
              several outputs it is the root of the mean square.
            - "reverse_anchoring": the row is the anchor of up to 100 training rows, and the score
              is the largest error of their predicted means ("Score1" of Thiagarajan et al.,
              "PAGER: Accurate Failure Characterization in Deep Regression Models", ICML 2024).
              The error has the unit of "epistemic", and is the mean absolute error of several
              outputs. Only for Delta-UQ with `anchors="random"`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            One score per row.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If `X` is sparse.
        ValueError
            If `X` is invalid, for example with other columns than in `fit` or with infinite
            values. If `kind` is unknown, or the method has no such score. If `kind` is "combined"
            and no row was held out of training (as with `noise=None`), or "epistemic" and the
            model has one component. If the score needs training rows, and the model was stored by
            a version that kept none.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sk_deltauq import DeltaUQRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(X[:400], y[:400])
        >>> usual, strange = X[400:], 3 * X[400:]
        >>> bool(model.outlier_score(strange).mean() > model.outlier_score(usual).mean())
        True
        """
        X = self._check_rows(X)
        # The held-out rows were scored with the networks before their refinement.
        predictor = self._predictor(refined=kind != "combined")
        outliers = getattr(self, "_outliers_", None)  # not in files of an earlier version
        return score_regressor_outliers(outliers, predictor, X, kind)

    @abstractmethod
    def _method(self, plan: FitPlan) -> Method:
        """Return the method, made from the current parameters."""

    def _set_up(self, X, y, sample_weight, plan: FitPlan):
        data, params = encode_rows(self, X, y, sample_weight, plan), read_params(self)
        method = self._method(plan)
        # The loss of a variational network is a bound on the evidence, without such weights.
        noise, nll_beta = params["noise"], params.get("nll_beta", 0.0)
        make_head = partial(GaussianHead, self.n_outputs_, noise, nll_beta)
        embedding = params["embedding"]
        if embedding == "auto":
            has_rows = len(data.x) >= _ROWS_PER_FEATURE_TO_EMBED * data.x.shape[1]
            # A user's module gets the rows as its author expects them.
            embedding = "alternating" if has_rows and params.get("module") is None else None
        previous, name = self._trained_ if plan.resume else None, type(self).__name__
        fit = prepare_fit(params, name, method, make_head, embedding, data, plan, previous)
        defaults: dict[str, Any] = {name: np.ones(self.n_outputs_) for name in SCALES}
        defaults |= {"_rarity_": None, "_least_std_": np.zeros(self.n_outputs_)}
        earlier = None
        if plan.partial and plan.resume:  # keep what the last fit found
            defaults = self._collect_scales()  # of one output, floats
            earlier = getattr(self, "_outliers_", None)
        shares = None if self.encoder_ is None else self.encoder_.count_levels()
        levels = None if plan.partial else find_levels(data.x.numpy(), shares)
        find_scales = partial(
            calibrate,
            enabled=params["calibrate"],
            defaults=defaults,
            y_scale=self.y_scaler_.scale_,
            # The rows on the device of the net, without validation rows of the user.
            add_rare_levels=levels
            and partial(add_rare_levels, levels=levels, x=fit.rows.x[: len(data.x)]),
        )

        def calibrate_and_score(net, hold_out, trains_on):
            found = hold_out and predict_out_of_fold(net, hold_out, method.ddof)
            scales = find_scales(net, hold_out, found)
            predictor = self._make_predictor(fit.start, scales)
            # New rows are compared with held-out rows of the same networks, so there are none
            # if these networks train on them afterwards.
            unseen = None if trains_on else hold_out
            return {
                **scales,
                "_conformity_": score_conformity(net, unseen, predictor),
                "_outliers_": collect_outlier_references(net, unseen, found, fit.context, earlier),
            }

        return partial(run_fit, fit, calibrate_and_score)

    def _predictor(self, *, refined: bool = True):
        scales = self._collect_scales()
        stored = self._trained_
        trained = stored if refined else replace(stored, refined=None)
        sources = (
            *(stored, stored.net.module_, stored.net.criterion_, stored.net.device),
            *(stored.kept.get("_inflation_"), scales["_rarity_"], self.x_scaler_),
            trained.refined,
        )
        numbers = (
            *(scales[name] for name in (*SCALES, "_least_std_")),
            *(self._constant_std_, self.y_scaler_.scale_, self.y_scaler_.mean_),
        )
        return PREDICTORS.find(
            self, sources, numbers, lambda: self._make_predictor(trained, scales)
        )

    def _collect_scales(self) -> dict[str, Any]:
        """Return what the calibration of the last fit found, by name."""
        return {
            **{name: getattr(self, name) for name in SCALES},
            # Not in models that an earlier version stored.
            "_rarity_": getattr(self, "_rarity_", None),
            "_least_std_": getattr(self, "_least_std_", 0.0),
        }

    def _make_predictor(self, trained: TrainedNet, scales):
        return trained.predictor(
            x_scaler=self.x_scaler_,
            y_scaler=self.y_scaler_,
            **{name.rstrip("_"): np.atleast_1d(scales[name]) for name in SCALES},
            least_std=np.atleast_1d(scales["_least_std_"]),
            added_std=self._constant_std_ / self.y_scaler_.scale_,
            rarity=_drop_zero(scales["_rarity_"]),
        )


def _drop_zero(rarity: RareLevels | None) -> RareLevels | None:
    """Return None for levels that add no variance to any row: most tables have no rare level."""
    if rarity is None or rarity.variances.any() or rarity.unseen.any():
        return rarity
    return None
