"""Bayes by Backprop (Blundell et al., 2015): a network with a distribution over its weights."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

from sk_deltauq._heads import CategoricalUQ, GaussianUQ
from sk_deltauq._network import NetworkUQ
from sk_deltauq._random import Stream, torch_generators
from sk_deltauq._sklearn import Interval
from sk_deltauq._skorch.variational import NoisyBatches, VariationalNet
from sk_deltauq._torch.bayesian import BayesianMLP, weight_noise
from sk_deltauq._validation import layer_sizes


class _VariationalBNN(NetworkUQ):
    """Train a posterior of the weights; predict with draws of them that are kept."""

    _parameter_constraints: dict = {
        "prior_std": [Interval(Real, 0, None, closed="neither")],
        "kl_weight": [Interval(Real, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }
    _net_class = VariationalNet

    def _batches(self):
        n_outputs = self._make_head(self.n_members).n_network_outputs
        n_units = sum(layer_sizes(self.hidden_layer_sizes)) + n_outputs
        return partial(NoisyBatches, n_units=n_units)

    def _penalty(self):
        return 0.0  # the prior is the penalty on the weights

    def _architecture(self):
        return {**super()._architecture(), "prior_std": self.prior_std}

    def _make_module(self, embedding, n_outputs, generators):
        return BayesianMLP(
            embedding,
            n_outputs,
            prior_std=self.prior_std,
            hidden_layer_sizes=layer_sizes(self.hidden_layer_sizes),
            activation=self.activation,
            generators=generators,
        )

    def _prepare_module(self, module, data, plan, call):
        """Draw the noise to predict with; the same one whenever training goes on."""
        module.kl_weight = self.kl_weight
        generators = torch_generators(self.seed_, Stream.DRAWS, range(self.n_members))
        draws = weight_noise(self.n_draws, module.n_weights, generators)
        module.set_draws(draws.to(self.device))


class VariationalBNNRegressor(GaussianUQ, _VariationalBNN):
    """Bayes by Backprop: one network with normal posterior weights, averaged over draws.

    Each weight has a normal prior and an independent normal posterior. The loss is the expected
    negative log-likelihood plus the Kullback-Leibler divergence of the posterior from the prior
    (eq. 1 of [1]_), computed with the local reparametrisation of [2]_. The prediction is the
    equal-weight mixture over `n_draws` networks drawn from the posterior. The variance of their
    means is the epistemic part, the mean noise variance is the aleatoric part.

    Features and targets are standardised internally. Predictions have the units and shape of `y`.

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
        Number of networks, trained as one stacked module. With early stopping, each holds out a
        different fold (cross-fitting). Predictions average over all pairs of network and draw.
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise model: one variance for each row, one variance for each output, or none. None fits
        the squared error and predicts only epistemic uncertainty, as for a deterministic
        simulator.
    calibrate : bool, default=True
        Whether to rescale the standard deviations to match the errors on held-out rows, by one
        factor per output (`std_factor_`), shrunk towards 1 with the weight of 100 rows. Ignored
        without early stopping or with `noise=None`.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Extra features: sines and cosines of each feature at three fixed frequencies ("sinusoidal")
        or at learnt frequencies ("periodic", [3]_). "alternating" is "sinusoidal" for the first
        and every other member, and None for the rest. "auto" is "alternating" for a regressor with
        at least 25 rows per feature, and None otherwise.
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch. "auto" is the power of two nearest to the square
        root of the number of rows, between 32 and 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant. `fit`
        counts epochs from 0; `partial_fit` continues the count.
    learning_rate_init : float, default=0.003
        Step size of Adam in the first epoch.
    averaging : int, default=10
        Number of epochs in the exponential moving average of the weights, which is scored for
        early stopping and used for prediction. 1 uses the last weights, as `partial_fit` does.
    max_iter : int, default=400
        Maximum number of epochs (passes over the training rows).
    tol : float, default=1e-4
        Minimum improvement of the held-out score or, without early stopping, the training loss.
    n_iter_no_change : int, default=30
        Number of consecutive epochs without improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to hold out rows, stop by their log-likelihood, and restore the best weights of
        each member. "auto" does so if each fold has at least 5 rows, and enlarges folds of fewer
        than 20 rows, up to a quarter of all rows. Without early stopping, training uses all rows
        until the loss stops falling, and the standard deviations are less reliable.
    validation_fraction : float, default=0.1
        Largest fraction of the rows that each member holds out, in (0, 0.5]. It is rounded down to
        1/k for k equal folds, with k at least the number of members: 0.3 becomes 1/4.
    warm_start : bool, default=False
        Whether `fit` continues from the weights, scaling and class labels of the last fit. It then
        ignores `random_state`. With early stopping, the held-out score never gets worse.
    net_params : dict, default=None
        Additional parameters for the `skorch.NeuralNet` used in training, such as
        `{"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.01}` or
        `{"callbacks": [...]}`. Callbacks can read the history; scoring callbacks (`EpochScoring`)
        are not supported. Names that have their own constructor parameter raise an error.
    device : str, default="cpu"
        Torch device for training and prediction.
    random_state : int, RandomState instance or None, default=None
        Seed for all random choices in `fit`. An int makes results reproducible.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    n_components_ : int
        Number of components of a prediction: members times draws.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members.
    validation_scores_ : ndarray of shape (`n_iter_`,) or (`n_iter_`, n_members), or None
        Mean log density of the held-out (standardised) targets after each epoch, or minus the mean
        squared error with `noise=None`. None without early stopping.
    best_validation_score_ : float or ndarray of shape (n_members,), or None
        Best held-out score of each member. None without early stopping.
    noise_std_ : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise, in the units of `y`, with `noise="homoscedastic"`.
    std_factor_ : float or ndarray of shape (n_outputs,)
        Factor by which `calibrate` multiplies the standard deviations; 1 without calibration.
    n_outputs_ : int
        Number of outputs.
    net_ : skorch.NeuralNet
        Trained net; `net_.module_` is the torch module with all members.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all column names of `X` are strings.

    See Also
    --------
    VariationalBNNClassifier : The same method for class labels.
    MCDropoutRegressor : One network, averaged over dropout masks.
    sk_deltauq.DeltaUQRegressor : One network, averaged over anchors.

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
    .. [3] Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning",
       NeurIPS 2022.

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

    _parameter_constraints: dict = {
        **GaussianUQ._parameter_constraints,
        **_VariationalBNN._parameter_constraints,
    }
    del _parameter_constraints["alpha"], _parameter_constraints["nll_beta"]
    _ddof = 0

    def __init__(
        self,
        hidden_layer_sizes=(50, 50),
        activation="relu",
        *,
        prior_std=1.0,
        kl_weight=0.1,
        n_draws=50,
        n_members=1,
        noise="heteroscedastic",
        calibrate=True,
        embedding="auto",
        batch_size="auto",
        learning_rate="invscaling",
        learning_rate_init=3e-3,
        averaging=10,
        max_iter=400,
        tol=1e-4,
        n_iter_no_change=30,
        early_stopping="auto",
        validation_fraction=0.1,
        warm_start=False,
        net_params=None,
        device="cpu",
        random_state=None,
        verbose=False,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.prior_std = prior_std
        self.kl_weight = kl_weight
        self.n_draws = n_draws
        self.n_members = n_members
        self.noise = noise
        self.calibrate = calibrate
        self.embedding = embedding
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.averaging = averaging
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.net_params = net_params
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _nll_beta(self):
        return 0.0  # with rows weighted by their variance the loss would be no bound


class VariationalBNNClassifier(CategoricalUQ, _VariationalBNN):
    """Bayes by Backprop: one network with normal posterior weights, averaged over draws.

    Each weight has a normal prior and an independent normal posterior. The loss is the expected
    negative log-likelihood plus the Kullback-Leibler divergence of the posterior from the prior
    (eq. 1 of [1]_), computed with the local reparametrisation of [2]_. The prediction is the
    mean of the probabilities of `n_draws` networks drawn from the posterior.

    Features are standardised internally.

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
        Number of networks, trained as one stacked module. With early stopping, each holds out a
        different fold (cross-fitting). Predictions average over all pairs of network and draw.
    class_weight : dict or "balanced", default=None
        Weights of the classes, `{label: weight}`. "balanced" weights classes inversely to their
        frequencies. None weights all rows equally.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Extra features: sines and cosines of each feature at three fixed frequencies ("sinusoidal")
        or at learnt frequencies ("periodic", [3]_). "alternating" is "sinusoidal" for the first
        and every other member, and None for the rest. "auto" is "alternating" for a regressor with
        at least 25 rows per feature, and None otherwise.
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch. "auto" is the power of two nearest to the square
        root of the number of rows, between 32 and 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant. `fit`
        counts epochs from 0; `partial_fit` continues the count.
    learning_rate_init : float, default=0.003
        Step size of Adam in the first epoch.
    averaging : int, default=10
        Number of epochs in the exponential moving average of the weights, which is scored for
        early stopping and used for prediction. 1 uses the last weights, as `partial_fit` does.
    max_iter : int, default=400
        Maximum number of epochs (passes over the training rows).
    tol : float, default=1e-4
        Minimum improvement of the held-out score or, without early stopping, the training loss.
    n_iter_no_change : int, default=30
        Number of consecutive epochs without improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to hold out rows, stop by their log-likelihood, and restore the best weights of
        each member. "auto" does so if each fold has at least 5 rows, and enlarges folds of fewer
        than 20 rows, up to a quarter of all rows. Without early stopping, training uses all rows
        until the loss stops falling, and the standard deviations are less reliable.
    validation_fraction : float, default=0.1
        Largest fraction of the rows that each member holds out, in (0, 0.5]. It is rounded down to
        1/k for k equal folds, with k at least the number of members: 0.3 becomes 1/4.
    warm_start : bool, default=False
        Whether `fit` continues from the weights, scaling and class labels of the last fit. It then
        ignores `random_state`. With early stopping, the held-out score never gets worse.
    net_params : dict, default=None
        Additional parameters for the `skorch.NeuralNet` used in training, such as
        `{"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.01}` or
        `{"callbacks": [...]}`. Callbacks can read the history; scoring callbacks (`EpochScoring`)
        are not supported. Names that have their own constructor parameter raise an error.
    device : str, default="cpu"
        Torch device for training and prediction.
    random_state : int, RandomState instance or None, default=None
        Seed for all random choices in `fit`. An int makes results reproducible.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    n_components_ : int
        Number of components of a prediction: members times draws.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members.
    validation_scores_ : ndarray of shape (`n_iter_`,) or (`n_iter_`, n_members), or None
        Mean log-likelihood of the held-out rows after each epoch. None without early stopping.
    best_validation_score_ : float or ndarray of shape (n_members,), or None
        Best held-out score of each member. None without early stopping.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    net_ : skorch.NeuralNet
        Trained net; `net_.module_` is the torch module with all members.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all column names of `X` are strings.

    See Also
    --------
    VariationalBNNRegressor : The same method for real targets, with notes.
    MCDropoutClassifier : One network, averaged over dropout masks.
    sk_deltauq.DeltaUQClassifier : One network, averaged over anchors.

    References
    ----------
    .. [1] Blundell et al., "Weight Uncertainty in Neural Networks", ICML 2015.
    .. [2] Kingma et al., "Variational Dropout and the Local Reparameterization Trick",
       NeurIPS 2015.
    .. [3] Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning",
       NeurIPS 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sk_deltauq.baselines import VariationalBNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VariationalBNNClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    _parameter_constraints: dict = {
        **CategoricalUQ._parameter_constraints,
        **_VariationalBNN._parameter_constraints,
    }
    del _parameter_constraints["alpha"]

    def __init__(
        self,
        hidden_layer_sizes=(50, 50),
        activation="relu",
        *,
        prior_std=1.0,
        kl_weight=0.1,
        n_draws=50,
        n_members=1,
        class_weight=None,
        embedding="auto",
        batch_size="auto",
        learning_rate="invscaling",
        learning_rate_init=3e-3,
        averaging=10,
        max_iter=400,
        tol=1e-4,
        n_iter_no_change=30,
        early_stopping="auto",
        validation_fraction=0.1,
        warm_start=False,
        net_params=None,
        device="cpu",
        random_state=None,
        verbose=False,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.prior_std = prior_std
        self.kl_weight = kl_weight
        self.n_draws = n_draws
        self.n_members = n_members
        self.class_weight = class_weight
        self.embedding = embedding
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.averaging = averaging
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.net_params = net_params
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
