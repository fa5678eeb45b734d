"""Deep ensembles (Lakshminarayanan et al., 2017): networks from different initial weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from sk_deltauq._estimators.network_classifier import NetworkClassifier
from sk_deltauq._estimators.network_regressor import NetworkRegressor
from sk_deltauq._estimators.parameters import CORRUPTION_CONSTRAINT, MODULE_CONSTRAINT
from sk_deltauq._methods.ensemble import Ensemble
from sk_deltauq._sklearn import Interval


@dataclass(eq=False, repr=False)
class DeepEnsembleRegressor(NetworkRegressor):
    """Deep ensemble: several networks with different initial weights, averaged.

    Each network predicts a normal density `N(mu_m(x), sigma_m(x)^2)` and is trained by its
    negative log-likelihood (eq. 1 of [1]_). The prediction is the equal-weight mixture of these
    densities (section 2.4 of [1]_), with mean `mu = mean_m mu_m` and variance
    `mean_m(sigma_m^2 + mu_m^2) - mu^2`. The mean noise variance is the aleatoric part, the
    variance of the means is the epistemic part.

    Features and targets are standardised internally. Predictions have the units and shape of `y`.
    `DeltaUQRegressor` describes the shared parameters in full.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    n_members : int, default=5
        Minimum number of networks (components), trained as one stacked module. Each has its own
        initial weights and row order; they hold out the folds in turn (cross-fitting).
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise variance: one per row, one per output, or none.
    nll_beta : float, default=0.5
        Exponent of the beta-NLL loss, from 0 (plain likelihood) to 1 (squared error of the mean).
    calibrate : bool, default=True
        Whether to match the predictive distribution to the errors on held-out rows.
    refine_mean : bool, default=False
        Whether to train on after early stopping, for the predicted means only: on all rows, for as
        many epochs as the networks needed on average to reach their best held-out scores.
    adversarial_epsilon : float, default=0.0
        Step of adversarial training, as a fraction of each feature's range over the training rows
        (0.01 in the paper). Each sample is also trained on after a shift by this step in the
        direction that raises the loss (fast gradient sign). This smooths the predictive
        distribution around the training rows and doubles the training time. 0 turns it off.
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
    module : callable, default=None
        Factory of a torch module that replaces the multilayer perceptron, called once per member
        as `module(in_features, out_features)`. Its inputs are the (embedded) features.
        `hidden_layer_sizes` and `activation` are then ignored, and `embedding="auto"` means None.
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
        Number of components of a prediction: the networks.
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
    DeepEnsembleClassifier : The same method for class labels.
    MCDropoutRegressor : One network, averaged over dropout masks.
    sk_deltauq.DeltaUQRegressor : One network, averaged over anchors; describes shared parameters.

    Notes
    -----
    As in the paper, the members differ in their initial weights and in the order of the rows. Here
    they also differ in the held-out rows. With `early_stopping=False` all members train on all
    rows, as in the paper. The paper uses `nll_beta=0` and `adversarial_epsilon=0.01`.

    References
    ----------
    .. [1] Lakshminarayanan et al., "Simple and Scalable Predictive Uncertainty Estimation using
       Deep Ensembles", NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sk_deltauq.baselines import DeepEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DeepEnsembleRegressor(max_iter=20, random_state=0).fit(X, y)
    >>> y_mean, y_std = model.predict(X, return_std=True)
    >>> y_mean.shape, y_std.shape
    ((442,), (442,))
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    n_members: int = 5
    noise: str | None = "heteroscedastic"
    nll_beta: float = 0.5
    calibrate: bool = True
    refine_mean: bool = False
    adversarial_epsilon: float = 0.0
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
    module: Callable | None = None
    net_params: dict | None = None
    device: str = "cpu"
    random_state: Any = None
    verbose: bool | int = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NetworkRegressor._parameter_constraints,
        **MODULE_CONSTRAINT,
        "adversarial_epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def _method(self, plan):
        return Ensemble(self.adversarial_epsilon, self.module)


@dataclass(eq=False, repr=False)
class DeepEnsembleClassifier(NetworkClassifier):
    """Deep ensemble: several networks with different initial weights, averaged.

    Each network is trained by the cross-entropy. The prediction is the mean of their
    probabilities, `p(y | x) = mean_m p_m(y | x)` (section 2.4 of [1]_).

    `DeltaUQClassifier` and the regressor of this method describe the parameters in full. Features
    are standardised internally.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    n_members : int, default=5
        Minimum number of networks (components), trained as one stacked module.
    class_weight : dict or "balanced", default=None
        Weights `{label: weight}`; "balanced" weights classes inversely to their frequencies.
    calibration : {"distance", "temperature", "spread"} or None, default="distance"
        How to divide the logits of each row by a temperature.
    input_corruption : {"swap", "noise"}, callable or None, default=None
        Augmentation of one mini-batch in ten: the row `x + T(c) - c` in place of `x`, with a
        random training row `c` and the corruption T of `DeltaUQClassifier`.
    adversarial_epsilon : float, default=0.0
        Step of adversarial training, as a fraction of each feature's range over the training rows
        (0.01 in the paper).
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
    module : callable, default=None
        Factory of a torch module that replaces the multilayer perceptron, called once per member
        as `module(in_features, out_features)`.
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
        Number of components of a prediction: the networks.
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
    DeepEnsembleRegressor : The same method for real targets, with notes.
    MCDropoutClassifier : One network, averaged over dropout masks.
    sk_deltauq.DeltaUQClassifier : One network, averaged over anchors; describes shared parameters.

    References
    ----------
    .. [1] Lakshminarayanan et al., "Simple and Scalable Predictive Uncertainty Estimation using
       Deep Ensembles", NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sk_deltauq.baselines import DeepEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DeepEnsembleClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    n_members: int = 5
    class_weight: dict | str | None = None
    calibration: str | None = "distance"
    input_corruption: str | Callable | None = None
    adversarial_epsilon: float = 0.0
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
    module: Callable | None = None
    net_params: dict | None = None
    device: str = "cpu"
    random_state: Any = None
    verbose: bool | int = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NetworkClassifier._parameter_constraints,
        "input_corruption": CORRUPTION_CONSTRAINT,
        **MODULE_CONSTRAINT,
        "adversarial_epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def _method(self, plan):
        return Ensemble(self.adversarial_epsilon, self.module)
