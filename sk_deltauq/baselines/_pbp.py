"""Probabilistic backpropagation (Hernández-Lobato and Adams, 2015)."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import nn
from tqdm.auto import tqdm

from sk_deltauq._conformal import ConformityScores, score_rows
from sk_deltauq._estimators.parameters import TABLE_CONSTRAINTS, TARGET_CONSTRAINT
from sk_deltauq._estimators.regressor import BaseRegressor
from sk_deltauq._estimators.targets import encode_rows
from sk_deltauq._host import Stream, draw_seed, numpy_rng, one_thread
from sk_deltauq._predictor import Predictor
from sk_deltauq._sklearn import Interval, StrOptions
from sk_deltauq._training.budget import Budget
from sk_deltauq._training.fit import read_layer_sizes
from sk_deltauq._training.folds import (
    Assignment,
    assign_hold_out,
    identify_hold_out,
    plan_hold_out,
    warn_about_hold_out,
    warn_about_resuming,
)
from sk_deltauq._validation import FitData, FitPlan
from sk_deltauq._warnings import warn_caller
from sk_deltauq.baselines._pbp_moments import network_moments
from sk_deltauq.baselines._pbp_posterior import Posterior
from sk_deltauq.baselines._pbp_training import Rows, train


@dataclass(eq=False, repr=False)
class PBPRegressor(BaseRegressor):
    """Probabilistic backpropagation: one network with a normal distribution for each weight.

    Rows are processed one at a time by moment matching (assumed-density filtering, section 3 of
    [1]_). The mean and variance of the output are propagated forwards. The gradients of the log
    probability of the target are propagated backwards and update the mean and variance of each
    weight. There is no learning rate. The precisions of the noise and of the weights have Gamma
    distributions, which are learnt in the same way.

    The prediction is one normal density for each row. Its epistemic variance is the variance of
    the network output, in closed form. Its aleatoric variance is the noise variance, equal for all
    rows.

    Features and targets are standardised internally. Predictions have the units of `y`. Only one
    output is supported. `DeltaUQRegressor` describes the shared parameters in full.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50,)
        Number of rectified linear units in each hidden layer. `()` is a linear model.
    max_iter : int, default=40
        Maximum number of passes over the training rows. Training does not converge: each pass
        counts the rows again as new data, so the variances of the weights keep falling.
    max_time : float, default=None
        Maximum duration of training in `fit`, in seconds.
    tol : float, default=1e-4
        Minimum improvement of the held-out score or, without early stopping, the training loss.
    n_iter_no_change : int, default=5
        Number of consecutive passes without improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to hold out rows, stop training by their log-likelihood, and restore the best
        state. "auto" does so from two rows on, with folds of at least 20 rows where five folds
        allow it.
    validation_fraction : float, default=0.1
        Largest fraction of the rows that is held out, in (0, 0.5]. Rows are split into equal
        folds, so the fraction is rounded down to 1/k: 0.3 becomes 1/4.
    target_transform : str, transformer or None, default=None
        Strictly monotone transformation of the targets before standardisation.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to encode as categories, with one input for each level.
    missing_values : {"indicator", "error"}, default="indicator"
        What to do about missing values in `X`.
    warm_start : bool, default=False
        Whether `fit` continues from the weights, scaling and class labels of the last fit.
    random_state : int, RandomState instance or None, default=None
        Seed for all random choices in `fit`.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    n_components_ : int
        Number of components of a prediction: one.
    n_iter_ : int
        Number of passes run.
    loss_curve_ : list of float
        Minus the mean log density of the standardised targets in each pass. Each target is
        predicted just before its row is processed.
    validation_scores_ : ndarray of shape (`n_iter_`,), or None
        Mean log density of the standardised targets of the held-out rows after each pass. None
        without early stopping.
    best_validation_score_ : float or None
        Best held-out score. None without early stopping.
    noise_std_ : float
        Standard deviation of the noise, in the units of `y` or, with `target_transform`, of the
        transformed target.
    target_transform_ : object or None
        Fitted transformation of the targets, with `transform` and `inverse_transform` of arrays of
        shape (n_samples, n_outputs); None if the targets are not transformed.
    n_outputs_ : int
        Number of outputs: one.
    encoder_ : TableEncoder or None
        Turns a table into the inputs of the network: `encoder_.transform(X)`, with the names
        `encoder_.get_feature_names_out()`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all column names of `X` are strings.

    See Also
    --------
    MCDropoutRegressor : One network, averaged over dropout masks.
    sk_deltauq.DeltaUQRegressor : One network, averaged over anchors; describes shared parameters.

    Notes
    -----
    Rows cannot be batched, so a pass takes 60 to 90 microseconds per row with 50 units. On a large
    table most of the improvement comes in the first few passes; reduce `max_iter` there.

    A sample weight is a power of the likelihood of its row. Weights are scaled to a mean of one. A
    row with a weight above one is processed in several equal parts, at random positions of the
    pass.

    The paper makes 40 passes over all rows (`early_stopping=False`, `n_iter_no_change=40`).

    References
    ----------
    .. [1] Hernández-Lobato, Adams, "Probabilistic Backpropagation for Scalable Learning of
       Bayesian Neural Networks", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sk_deltauq.baselines import PBPRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PBPRegressor(max_iter=5, random_state=0).fit(X, y)
    >>> y_mean, y_std = model.predict(X, return_std=True)
    >>> y_mean.shape, y_std.shape
    ((442,), (442,))
    """

    hidden_layer_sizes: Any = (50,)
    _: KW_ONLY
    max_iter: int = 40
    max_time: float | None = None
    tol: float = 1e-4
    n_iter_no_change: int = 5
    early_stopping: bool | str = "auto"
    validation_fraction: float = 0.1
    target_transform: Any = None
    categorical_features: Any = "from_dtype"
    missing_values: str = "indicator"
    warm_start: bool = False
    random_state: Any = None
    verbose: bool | int = False
    seed_: int = field(init=False)
    loss_curve_: list[float] = field(init=False)
    _posterior_: Posterior = field(init=False)
    _n_calls_: int = field(init=False)
    _held_out_: str | None = field(init=False)  # see `identify_hold_out`

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="right")],
        **TARGET_CONSTRAINT,
        **TABLE_CONSTRAINTS,
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _set_up(self, X, y, sample_weight, plan: FitPlan):
        data = encode_rows(self, X, y, sample_weight, plan)
        seed = self.seed_ if plan.resume else draw_seed(self.random_state)
        if data.y.shape[1] > 1:
            raise ValueError(
                f"y must have one output for PBPRegressor, got {data.y.shape[1]}. Fit one model "
                "per output."
            )
        hidden = read_layer_sizes(self.hidden_layer_sizes)
        hold_out = replace(
            plan_hold_out(
                self.early_stopping, data, 1, self.validation_fraction, partial=plan.partial
            ),
            n_networks=1,  # one posterior, also on few rows
        )
        parts = assign_hold_out(numpy_rng(seed, Stream.FOLDS), data, hold_out)
        name, held_out = type(self).__name__, identify_hold_out(data, parts.n_units)
        if plan.resume and not plan.partial:  # `partial_fit` leaves no calibration to go stale
            before = getattr(self, "_held_out_", None)  # not in files from before it was there
            warn_about_resuming(name, plan, before, held_out, ended_on_all_rows=False)
        if not (plan.partial and plan.resume):
            warn_about_hold_out(
                name, parts.n_units, data, self.early_stopping, partial=plan.partial
            )
        kept = {"_held_out_": held_out}
        if not plan.resume:
            sizes = (data.x.shape[1], *hidden, 1)
            posterior = Posterior(sizes, numpy_rng(seed, Stream.WEIGHTS))
            return lambda: kept | self._train(posterior, parts, data, plan, seed)
        fitted = tuple(mean.shape[1] for mean in self._posterior_.means[:-1])
        if hidden != fitted:
            raise ValueError(
                "Training cannot continue from the last fit with another hidden_layer_sizes: it "
                f"is {hidden}, and was {fitted}. Set it back, or start afresh: fit with "
                "warm_start=False."
            )
        posterior = copy.deepcopy(self._posterior_)
        return lambda: kept | self._train(posterior, parts, data, plan, seed)

    def _train(self, posterior, parts: Assignment, data: FitData, plan: FitPlan, seed: int):
        """Absorb the rows, and return the fitted attributes."""
        call = self._n_calls_ if plan.resume else 0
        rows = _scale_weights(data)
        if data.validation is not None:
            rows = rows.append(_scale_weights(data.validation))
        rows, held_out = rows[parts.train[0]], rows[parts.held_out[0][parts.counts[0]]]
        max_passes = 1 if plan.partial else self.max_iter
        name = type(self).__name__
        bar = tqdm(total=max_passes, desc=name, unit="pass", disable=not self.verbose)
        budget = Budget(self.max_time, enabled=not plan.partial)
        with bar, one_thread(), budget.watch():
            trained = train(
                posterior,
                rows,
                held_out if len(held_out) else None,
                max_passes=max_passes,
                patience=self.n_iter_no_change,
                tol=self.tol,
                new_rng=partial(numpy_rng, seed, Stream.BATCHES, call),
                resumed=plan.resume,
                after_pass=bar.update,
                budget=budget,
            )
        if budget.reason:
            warn_caller(budget.explain(name, unit="passes"), ConvergenceWarning)
        scores = self._score(trained.posterior, held_out)
        conformity = ConformityScores.collect([(None, scores, held_out.weights)])
        earlier = self.loss_curve_ if plan.partial and plan.resume else []
        losses, noise_std = [*earlier, *trained.losses], np.sqrt(trained.posterior.noise.variance)
        return {
            "seed_": seed,
            "_posterior_": trained.posterior,
            "_n_calls_": call + 1,
            "n_components_": 1,
            "loss_curve_": losses,
            "n_iter_": len(losses),
            "validation_scores_": trained.scores,
            "best_validation_score_": trained.best_score,
            "noise_std_": float(noise_std * self.y_scaler_.scale_[0]),
            "_conformity_": conformity,
        }

    @torch.inference_mode()
    def _score(self, posterior, held_out: Rows) -> np.ndarray:
        """Return the conformity scores of held-out rows, `(row, 1)`."""
        predictor, x = self._make_predictor(posterior), torch.from_numpy(held_out.x)
        y = held_out.y[:, None] * self.y_scaler_.scale_ + self.y_scaler_.mean_
        step = predictor.count_chunk_rows()
        chunks = zip(x.split(step), np.split(y, range(step, len(y), step)), strict=True)
        scores = [score_rows(predictor, predictor.module(x), x, y) for x, y in chunks]
        return np.concatenate(scores)

    def _predictor(self, *, refined=True):
        return self._make_predictor(self._posterior_)

    def _make_predictor(self, posterior):
        return Predictor(
            module=PBPComponents(posterior),
            n_components=1,
            # Mean, variance, and the values that they are computed from, in float64.
            width=8 * max(len(mean) for mean in posterior.means),
            device="cpu",
            x_scaler=self.x_scaler_,
            y_scaler=self.y_scaler_,
            added_std=self._constant_std_ / self.y_scaler_.scale_,
        )


def _scale_weights(data: FitData) -> Rows:
    """Rows in float64 with weights of mean one."""
    arrays = (data.x, data.y[:, 0], data.weights / data.weights.mean())
    return Rows(*(tensor.double().numpy() for tensor in arrays))


class PBPComponents(nn.Module):
    """The posterior as one component whose mean has a standard deviation in closed form."""

    noise_variance: torch.Tensor

    def __init__(self, posterior: Posterior):
        super().__init__()
        self.n_layers = len(posterior.means)
        for i, (mean, variance) in enumerate(
            zip(posterior.means, posterior.variances, strict=True)
        ):
            self.register_buffer(f"mean_{i}", torch.from_numpy(mean))
            self.register_buffer(f"variance_{i}", torch.from_numpy(variance))
        # Prediction makes this object outside its guard: the device is named.
        noise_variance = torch.tensor(posterior.noise.variance, dtype=torch.float64, device="cpu")
        self.register_buffer("noise_variance", noise_variance)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Rows `(row, feature)` to mean, noise std and std of the mean, `(1, row, 1)`."""
        means, variances = (
            [getattr(self, f"{name}_{i}") for i in range(self.n_layers)]
            for name in ("mean", "variance")
        )
        mean, var = network_moments(x.to(means[0].dtype), means, variances)
        noise_std = torch.zeros_like(mean) + self.noise_variance.sqrt()
        # Rounding may leave a variance of zero slightly below zero.
        return mean[None], noise_std[None], var.clamp_min(0).sqrt()[None]
