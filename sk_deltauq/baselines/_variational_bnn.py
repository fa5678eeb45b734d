"""Bayes by Backprop (Blundell et al., 2015): a network with a distribution over its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sk_deltauq._estimators.network_classifier import NetworkClassifier
from sk_deltauq._estimators.network_regressor import NetworkRegressor
from sk_deltauq._estimators.parameters import CORRUPTION_CONSTRAINT, drop_constraints
from sk_deltauq._methods.variational import Variational
from sk_deltauq._sklearn import Interval


@dataclass(eq=False, repr=False)
class VariationalBNNRegressor(NetworkRegressor):
    """Bayes by Backprop: one network with a normal posterior for each weight, averaged over draws.

    Each weight has a normal prior and an independent normal posterior. The loss is the expected
    negative log-likelihood plus the Kullback-Leibler divergence of the posterior from the prior
    (eq. 1 of [1]_), computed with the local reparametrisation of [2]_. The prediction is the
    equal-weight mixture over `n_draws` networks drawn from the posterior. The variance of their
    means is the epistemic part, the mean noise variance is the aleatoric part.

    Features and targets are standardised internally. Predictions have the units and shape of `y`.
    `DeltaUQRegressor` describes the shared parameters in full.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    prior_std : float, default=1.0
        Standard deviation of the normal prior of each weight and bias.
    kl_weight : float, default=0.1
        Weight of the Kullback-Leibler divergence in the loss; 1 is the evidence lower bound. A
        value below 1 narrows the posterior, as if each row had been observed `1 / kl_weight`
        times. A larger value gives a larger epistemic uncertainty.
    n_draws : int, default=50
        Number of draws of the weights, made in `fit` and kept. Predictions average over all draws.
    n_members : int, default=1
        Minimum number of networks, trained as one stacked module. They hold out the folds in turn
        (cross-fitting). Predictions average over all pairs of network and draw.
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise variance: one per row, one per output, or none.
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
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant.
    learning_rate_init : float, default=0.003
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
    n_networks_ : int
        Number of networks: `n_members`, or more if the networks would hold out fewer than 60 rows
        (or groups) together.
    n_components_ : int
        Number of components of a prediction: networks times draws.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members.
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
    VariationalBNNClassifier : The same method for class labels.
    MCDropoutRegressor : One network, averaged over dropout masks.
    sk_deltauq.DeltaUQRegressor : One network, averaged over anchors; describes shared parameters.

    Notes
    -----
    The noise of the predictive draws is drawn once, in `fit`, so predictions are repeatable. All
    rows share the same draws, so each component is a function of `x`. In training, the outputs of
    each layer are drawn for each sample, which is equivalent to a new draw of the weights for each
    sample.

    The divergence has a closed form. Its weight in the loss of a row is `kl_weight` divided by the
    number of training rows, which `partial_fit` counts over all calls.

    The paper uses a mixture of two normals as the prior, and `kl_weight=1`. On three of four UCI
    data sets of 300 to 1030 rows (one or two splits each), `kl_weight=1` underfits: the held-out
    log-likelihood is better with 0.1. On the fourth it is 0.06 worse.

    With `noise=None` the likelihood is normal with the standard deviation of `y`, which sets the
    weight of the data relative to the prior. The frequencies of a periodic embedding have no
    prior. There is no L2 penalty, because the prior already is one. There is no beta-NLL, because
    the loss would not be a bound. A `weight_decay` in `net_params` would also act on the
    logarithms of the standard deviations and widen the posterior.

    References
    ----------
    .. [1] Blundell et al., "Weight Uncertainty in Neural Networks", ICML 2015.
    .. [2] Kingma et al., "Variational Dropout and the Local Reparameterization Trick",
       NeurIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sk_deltauq.baselines import VariationalBNNRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = VariationalBNNRegressor(max_iter=20, random_state=0).fit(X, y)
    >>> y_mean, y_std = model.predict(X, return_std=True)
    >>> y_mean.shape, y_std.shape
    ((442,), (442,))
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    prior_std: float = 1.0
    kl_weight: float = 0.1
    n_draws: int = 50
    n_members: int = 1
    noise: str | None = "heteroscedastic"
    calibrate: bool = True
    refine_mean: bool = False
    target_transform: Any = None
    embedding: str | None = "auto"
    categorical_features: Any = "from_dtype"
    missing_values: str = "indicator"
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 3e-3
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **drop_constraints(NetworkRegressor._parameter_constraints, "alpha", "nll_beta"),
        "prior_std": [Interval(Real, 0, None, closed="neither")],
        "kl_weight": [Interval(Real, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    def _method(self, plan):
        return Variational(self.prior_std, self.kl_weight, self.n_draws)


@dataclass(eq=False, repr=False)
class VariationalBNNClassifier(NetworkClassifier):
    """Bayes by Backprop: one network with a normal posterior for each weight, averaged over draws.

    Each weight has a normal prior and an independent normal posterior. The loss is the expected
    negative log-likelihood plus the Kullback-Leibler divergence of the posterior from the prior
    (eq. 1 of [1]_), computed with the local reparametrisation of [2]_. The prediction is the
    mean of the probabilities of `n_draws` networks drawn from the posterior.

    `DeltaUQClassifier` and the regressor of this method describe the parameters in full. Features
    are standardised internally.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    prior_std : float, default=1.0
        Standard deviation of the normal prior of each weight and bias.
    kl_weight : float, default=0.1
        Weight of the Kullback-Leibler divergence in the loss; 1 is the evidence lower bound.
    n_draws : int, default=50
        Number of draws of the weights, made in `fit` and kept.
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
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant.
    learning_rate_init : float, default=0.003
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
    n_networks_ : int
        Number of networks: `n_members`, or more if the networks would hold out fewer than 60 rows
        (or groups) together.
    n_components_ : int
        Number of components of a prediction: networks times draws.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members.
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
    VariationalBNNRegressor : The same method for real targets, with notes.
    MCDropoutClassifier : One network, averaged over dropout masks.
    sk_deltauq.DeltaUQClassifier : One network, averaged over anchors; describes shared parameters.

    References
    ----------
    .. [1] Blundell et al., "Weight Uncertainty in Neural Networks", ICML 2015.
    .. [2] Kingma et al., "Variational Dropout and the Local Reparameterization Trick",
       NeurIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sk_deltauq.baselines import VariationalBNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VariationalBNNClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    prior_std: float = 1.0
    kl_weight: float = 0.1
    n_draws: int = 50
    n_members: int = 1
    class_weight: dict | str | None = None
    calibration: str | None = "distance"
    input_corruption: str | Callable | None = None
    embedding: str | None = "auto"
    categorical_features: Any = "from_dtype"
    missing_values: str = "indicator"
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 3e-3
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **drop_constraints(NetworkClassifier._parameter_constraints, "alpha"),
        "input_corruption": CORRUPTION_CONSTRAINT,
        "prior_std": [Interval(Real, 0, None, closed="neither")],
        "kl_weight": [Interval(Real, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    def _method(self, plan):
        return Variational(self.prior_std, self.kl_weight, self.n_draws)
