"""MC dropout (Gal and Ghahramani, 2016): one network, with many dropout masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

from sk_deltauq._estimators.network_classifier import NetworkClassifier
from sk_deltauq._estimators.network_regressor import NetworkRegressor
from sk_deltauq._estimators.parameters import CORRUPTION_CONSTRAINT
from sk_deltauq._methods.dropout import RATES, Dropout
from sk_deltauq._sklearn import Interval, StrOptions


@dataclass(eq=False, repr=False)
class MCDropoutRegressor(NetworkRegressor):
    """MC dropout: one network, averaged over dropout masks.

    Dropout stays active in prediction. A forward pass with one mask is a draw from an approximate
    posterior of the network. The prediction is the equal-weight mixture over `n_masks` passes. Its
    mean is the mean of the passes (eq. 6 of [1]_). The variance of the passes is the epistemic
    part, the mean noise variance is the aleatoric part.

    Features and targets are standardised internally. Predictions have the units and shape of `y`.
    `DeltaUQRegressor` describes the shared parameters in full.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    dropout : float or "auto", default=0.05
        Probability of dropping a hidden unit, in [0, 1), the same in all hidden layers. Inputs are
        not dropped. Kept units are scaled by `1 / (1 - dropout)`. A larger value gives a larger
        epistemic uncertainty. "auto" selects 0.005, 0.01, 0.05 or 0.1 by the held-out score: `fit`
        trains four times as many networks and requires early stopping. `warm_start` and
        `partial_fit` keep the selected rate.
    n_masks : int, default=50
        Number of dropout masks, drawn in `fit` and kept. Predictions average over all masks (the
        stochastic forward passes of the paper).
    n_members : int, default=1
        Minimum number of networks, trained as one stacked module. They hold out the folds in turn
        (cross-fitting). Predictions average over all pairs of network and mask.
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise variance: one per row, one per output, or none.
    nll_beta : float, default=0.5
        Exponent of the beta-NLL loss, from 0 (plain likelihood) to 1 (squared error of the mean).
    calibrate : bool, default=True
        Whether to match the predictive distribution to the errors on held-out rows.
    refine_mean : bool, default=False
        Whether to train on after early stopping, for the predicted means only: on all rows, for as
        many epochs as the networks needed on average to reach their best held-out scores.
    target_transform : str, transformer or None, default=None
        Strictly monotone transformation of the targets before standardisation.
    embedding : {"auto", "alternating", "sinusoidal", "periodic", "fourier", None}, default="auto"
        Sines and cosines of each feature that are added to the inputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to encode as categories, with one input for each level.
    missing_values : {"indicator", "error"}, default="indicator"
        What to do about missing values in `X`.
    alpha : float, default=0.0
        Strength of the L2 penalty on the weights, divided by the batch size as in `MLPRegressor`.
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant.
    learning_rate_init : float, default=0.01
        Step size of Adam in the first epoch.
    averaging : int, default=10
        Number of epochs in the exponential moving average of the weights.
    max_iter : int, default=400
        Maximum number of epochs (passes over the training rows).
    max_time : float, default=None
        Maximum duration of training in `fit`, in seconds.
    tol : float, default=1e-4
        Minimum improvement of the held-out score or, without early stopping, the training loss.
    n_iter_no_change : int, default=30
        Number of consecutive epochs without improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to stop by the log-likelihood of held-out rows and restore the best weights.
    validation_fraction : float, default=0.1
        Fraction of the rows that each network holds out, in (0, 0.5].
    warm_start : bool, default=False
        Whether `fit` continues from the weights, scaling and class labels of the last fit.
    net_params : dict, default=None
        Additional parameters for the `skorch.NeuralNet` used in training.
    device : str, default="cpu"
        Torch device for training and prediction.
    random_state : int, RandomState instance or None, default=None
        Seed for all random choices in `fit`.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    dropout_ : float
        Dropout rate: `dropout`, or the selected rate.
    masks_ : ndarray of bool of shape (`n_networks_`, n_masks, n_units)
        Whether each mask keeps each hidden unit. Units are ordered by layer.
    n_networks_ : int
        Number of networks: `n_members`, or more if the networks would hold out fewer than 60 rows
        (or groups) together.
    n_components_ : int
        Number of components of a prediction: networks times masks.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members and, with `dropout="auto"`, over rates.
    validation_scores_ : ndarray of shape (n_epochs,) or (n_epochs, `n_networks_`), or None
        Score of the held-out rows after each epoch; None without hold-out.
    best_validation_score_ : float or ndarray of shape (`n_networks_`,), or None
        Best held-out score of each network; None without hold-out.
    noise_std_ : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise, in the units of `y`, with `noise="homoscedastic"`.
    std_factor_ : float or ndarray of shape (n_outputs,)
        Factor by which `calibrate` multiplies all standard deviations; 1 without calibration.
    noise_factor_ : float or ndarray of shape (n_outputs,)
        Factor by which `calibrate` multiplies the standard deviation of the noise besides, up to
        1; 1 without calibration.
    outlier_scale_ : float or ndarray of shape (n_outputs,)
        Noise scale of one component in 20, relative to the others: larger than 1 if `calibrate`
        finds more large errors than a normal distribution has.
    mean_refined_ : bool
        Whether `refine_mean` changed the predicted means.
    target_transform_ : object or None
        Fitted transformation of the targets, with `transform` and `inverse_transform` of arrays of
        shape (n_samples, n_outputs); None if the targets are not transformed.
    n_outputs_ : int
        Number of outputs.
    net_ : skorch.NeuralNet
        Trained net; `net_.module_` is the torch module with all members.
    encoder_ : TableEncoder or None
        Turns a table into the inputs of the network: `encoder_.transform(X)`, with the names
        `encoder_.get_feature_names_out()`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all column names of `X` are strings.

    See Also
    --------
    MCDropoutClassifier : The same method for class labels.
    DeepEnsembleRegressor : Several networks with different initial weights.
    sk_deltauq.DeltaUQRegressor : One network, averaged over anchors; describes shared parameters.

    Notes
    -----
    The masks are drawn once, in `fit`, so predictions are repeatable. All rows share the same
    masks, so each component is a function of `x`. In training, every sample has a new mask in
    every epoch. The paper also drops inputs. It uses one noise level for all rows, selected by
    cross-validation; `noise="homoscedastic"` learns this level.

    References
    ----------
    .. [1] Gal, Ghahramani, "Dropout as a Bayesian Approximation: Representing Model Uncertainty in
       Deep Learning", ICML 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sk_deltauq.baselines import MCDropoutRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MCDropoutRegressor(max_iter=20, random_state=0).fit(X, y)
    >>> y_mean, y_std = model.predict(X, return_std=True)
    >>> y_mean.shape, y_std.shape
    ((442,), (442,))
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    dropout: float | str = 0.05
    n_masks: int = 50
    n_members: int = 1
    noise: str | None = "heteroscedastic"
    nll_beta: float = 0.5
    calibrate: bool = True
    refine_mean: bool = False
    target_transform: Any = None
    embedding: str | None = "auto"
    categorical_features: Any = "from_dtype"
    missing_values: str = "indicator"
    alpha: float = 0.0
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 0.01
    averaging: int = 10
    max_iter: int = 400
    max_time: float | None = None
    tol: float = 1e-4
    n_iter_no_change: int = 30
    early_stopping: bool | str = "auto"
    validation_fraction: float = 0.1
    warm_start: bool = False
    net_params: dict | None = None
    device: str = "cpu"
    random_state: Any = None
    verbose: bool | int = False
    dropout_: float = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NetworkRegressor._parameter_constraints,
        "dropout": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "n_masks": [Interval(Integral, 1, None, closed="left")],
    }

    def _method(self, plan):
        dropout = self.dropout_ if plan.resume else self.dropout
        return Dropout(RATES if dropout == "auto" else (float(dropout),), self.n_masks)


@dataclass(eq=False, repr=False)
class MCDropoutClassifier(NetworkClassifier):
    """MC dropout: one network, averaged over dropout masks.

    Dropout stays active in prediction. A forward pass with one mask is a draw from an approximate
    posterior of the network. The prediction is the mean of the probabilities over `n_masks` passes
    (as in eq. 6 of [1]_).

    `DeltaUQClassifier` and the regressor of this method describe the parameters in full. Features
    are standardised internally.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    dropout : float or "auto", default=0.05
        Probability of dropping a hidden unit, in [0, 1), the same in all hidden layers.
    n_masks : int, default=50
        Number of dropout masks, drawn in `fit` and kept.
    n_members : int, default=1
        Minimum number of networks, trained as one stacked module.
    class_weight : dict or "balanced", default=None
        Weights `{label: weight}`; "balanced" weights classes inversely to their frequencies.
    calibration : {"distance", "temperature", "spread"} or None, default="distance"
        How to divide the logits of each row by a temperature.
    input_corruption : {"swap", "noise"}, callable or None, default=None
        Augmentation of one mini-batch in ten: the row `x + T(c) - c` in place of `x`, with a
        random training row `c` and the corruption T of `DeltaUQClassifier`.
    embedding : {"auto", "alternating", "sinusoidal", "periodic", "fourier", None}, default="auto"
        Sines and cosines of each feature that are added to the inputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to encode as categories, with one input for each level.
    missing_values : {"indicator", "error"}, default="indicator"
        What to do about missing values in `X`.
    alpha : float, default=0.0
        Strength of the L2 penalty on the weights, divided by the batch size as in `MLPRegressor`.
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant.
    learning_rate_init : float, default=0.01
        Step size of Adam in the first epoch.
    averaging : int, default=10
        Number of epochs in the exponential moving average of the weights.
    max_iter : int, default=400
        Maximum number of epochs (passes over the training rows).
    max_time : float, default=None
        Maximum duration of training in `fit`, in seconds.
    tol : float, default=1e-4
        Minimum improvement of the held-out score or, without early stopping, the training loss.
    n_iter_no_change : int, default=30
        Number of consecutive epochs without improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to stop by the log-likelihood of held-out rows and restore the best weights.
    validation_fraction : float, default=0.1
        Fraction of the rows that each network holds out, in (0, 0.5].
    warm_start : bool, default=False
        Whether `fit` continues from the weights, scaling and class labels of the last fit.
    net_params : dict, default=None
        Additional parameters for the `skorch.NeuralNet` used in training.
    device : str, default="cpu"
        Torch device for training and prediction.
    random_state : int, RandomState instance or None, default=None
        Seed for all random choices in `fit`.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    dropout_ : float
        Dropout rate: `dropout`, or the selected rate.
    masks_ : ndarray of bool of shape (`n_networks_`, n_masks, n_units)
        Whether each mask keeps each hidden unit.
    n_networks_ : int
        Number of networks: `n_members`, or more if the networks would hold out fewer than 60 rows
        (or groups) together.
    n_components_ : int
        Number of components of a prediction: networks times masks.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members and, with `dropout="auto"`, over rates.
    validation_scores_ : ndarray of shape (`n_iter_`,) or (`n_iter_`, `n_networks_`), or None
        Mean log-likelihood of the held-out rows after each epoch.
    best_validation_score_ : float or ndarray of shape (`n_networks_`,), or None
        Best held-out score of each network; None without hold-out.
    frequency_weight_ : float or None
        Weight of the class frequencies in the predicted probabilities; None without hold-out.
    calibration_ : dict of str to float, or None
        Numbers of the calibration: `temperature` (near the training rows), `exponent` and `reach`
        of "distance", `temperature` of "temperature", or `logit_std_range` of "spread" (smallest
        and largest mean logit std on the held-out rows).
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    net_ : skorch.NeuralNet
        Trained net; `net_.module_` is the torch module with all members.
    encoder_ : TableEncoder or None
        Turns a table into the inputs of the network: `encoder_.transform(X)`, with the names
        `encoder_.get_feature_names_out()`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all column names of `X` are strings.

    See Also
    --------
    MCDropoutRegressor : The same method for real targets, with notes.
    DeepEnsembleClassifier : Several networks with different initial weights.
    sk_deltauq.DeltaUQClassifier : One network, averaged over anchors; describes shared parameters.

    References
    ----------
    .. [1] Gal, Ghahramani, "Dropout as a Bayesian Approximation: Representing Model Uncertainty in
       Deep Learning", ICML 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sk_deltauq.baselines import MCDropoutClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCDropoutClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    dropout: float | str = 0.05
    n_masks: int = 50
    n_members: int = 1
    class_weight: dict | str | None = None
    calibration: str | None = "distance"
    input_corruption: str | Callable | None = None
    embedding: str | None = "auto"
    categorical_features: Any = "from_dtype"
    missing_values: str = "indicator"
    alpha: float = 0.0
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 0.01
    averaging: int = 10
    max_iter: int = 400
    max_time: float | None = None
    tol: float = 1e-4
    n_iter_no_change: int = 30
    early_stopping: bool | str = "auto"
    validation_fraction: float = 0.1
    warm_start: bool = False
    net_params: dict | None = None
    device: str = "cpu"
    random_state: Any = None
    verbose: bool | int = False
    dropout_: float = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NetworkClassifier._parameter_constraints,
        "input_corruption": CORRUPTION_CONSTRAINT,
        "dropout": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "n_masks": [Interval(Integral, 1, None, closed="left")],
    }

    def _method(self, plan):
        dropout = self.dropout_ if plan.resume else self.dropout
        return Dropout(RATES if dropout == "auto" else (float(dropout),), self.n_masks)
