"""Bayes by Backprop (Blundell et al., 2015): a network with a distribution over its weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sk_deltauq._estimators.classifier import NetworkClassifier
from sk_deltauq._estimators.parameters import without
from sk_deltauq._estimators.regressor import NetworkRegressor
from sk_deltauq._methods.variational import Variational
from sk_deltauq._sklearn import Interval


@dataclass(eq=False, repr=False)
class VariationalBNNRegressor(NetworkRegressor):
    """Bayes by Backprop: a network with a distribution over its weights, averaged over draws.

    Each weight has a normal prior, and a normal posterior, independent of the others. The loss is
    the expected negative log-likelihood plus the Kullback-Leibler divergence of the posterior from
    the prior (eq. 1 of [1]_), with the local reparametrisation of [2]_. The prediction is the
    equal-weight mixture over `n_draws` networks drawn from the posterior: the variance of their
    means is the epistemic part, their mean noise variance the aleatoric one.

    Rows and targets are standardised inside; all answers are in the units and shape of `y`.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    prior_std : float, default=1.0
        Standard deviation of the normal prior of each weight and bias.
    kl_weight : float, default=0.1
        Weight of the divergence of the posterior from the prior; 1 is the evidence lower bound.
        Below 1 the posterior is tempered: narrower, and bound less to the prior, as if each row
        had come `1 / kl_weight` times. The larger it is, the larger the epistemic uncertainty.
    n_draws : int, default=50
        Number of draws of the weights, made in `fit` and kept. Each prediction is a mean over
        all of them.
    n_members : int, default=1
        Number of networks, trained side by side as one stacked module. With early stopping each
        leaves out another fold of the rows (cross-fitting). The components of a prediction are
        all pairs of a member and a draw.
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise model: a variance that the network predicts for each row, one learnt variance for
        each output, or none. With None the loss is the squared error and the standard deviation
        is epistemic only: for targets without noise, such as a deterministic simulator.
    calibrate : bool, default=True
        Whether to multiply the standard deviations by one factor an output, `std_factor_`: that by
        which the held-out errors come out as large as predicted, drawn towards 1 as if 100 more
        rows needed none. The error of several members together is taken to be that of the one that
        holds the row out, less what averaging takes away. Not without rows held out for early
        stopping, nor with `noise=None`.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Embedding of the standardised inputs: fixed sines and cosines in three octaves
        ("sinusoidal"), the same for the first member and every other one, and none for the rest
        ("alternating"), or ones with learnt frequencies ("periodic", [3]_). The inputs themselves
        are kept beside them. "auto" is "alternating" for a regressor with at least 25 rows a
        feature, and otherwise None.
    batch_size : int or "auto", default="auto"
        Most rows in a mini-batch. "auto" is the power of two nearest the square root of the
        number of rows, from 32 to 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Step size of an epoch: `learning_rate_init / sqrt(1 + epoch / 50)`, or always the same.
        `partial_fit` counts on, `fit` counts from 0.
    learning_rate_init : float, default=0.003
        Step size of Adam in the first epoch.
    averaging : int, default=10
        Number of epochs over which the weights are averaged (an exponential moving average of one
        value an epoch): what is judged for early stopping, and what predicts. 1 takes the last
        weights, as `partial_fit` does.
    max_iter : int, default=400
        Most epochs, each a pass over the training rows.
    tol : float, default=1e-4
        An epoch counts as an improvement if the score (or, without early stopping, the training
        loss) is better than the best one by more than this.
    n_iter_no_change : int, default=30
        Number of epochs in a row without an improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to hold rows out, to stop by their log-likelihood, and to keep the weights that
        were best on them, member by member. "auto" does so where each fold gets at least 5 rows:
        with the default `validation_fraction` and up to four members, from 20 rows on. It holds
        out more than `validation_fraction` where that would be fewer than 20 rows, up to a
        quarter. With fewer rows a hold-out means nothing: training runs on all rows until its
        loss no longer falls, and the band deserves less trust.
    validation_fraction : float, default=0.1
        Largest part of the rows that a member holds out, above 0 and at most 0.5. The rows are
        dealt into folds of one size, at least one a member, so the part is one over a whole
        number: 0.1 is a tenth, 0.3 a quarter.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights and scales of the last fit.
    net_params : dict, default=None
        Further parameters for the `skorch.NeuralNet` that does the training, such as
        `{"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.01}` or
        `{"callbacks": [...]}`. Callbacks see the history, with `train_loss` and, with early
        stopping, `valid_loss`; those that score data of their own are not served. What another
        parameter sets is refused.
    device : str, default="cpu"
        Torch device to train and predict on.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the mini-batches, the noise and the held-out rows. An int
        gives the same model each time; torch's and NumPy's global generators are left alone.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    n_components_ : int
        Number of components of a prediction: members times draws.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, mean over members.
    validation_scores_ : ndarray of shape (`n_iter_`,) or (`n_iter_`, n_members), or None
        Mean log density (minus the squared error with `noise=None`) of the held-out
        rows after each epoch; None without early stopping.
    best_validation_score_ : float or ndarray of shape (n_members,), or None
        The best of them.
    noise_std_ : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise, in the units of `y`. Only with `noise="homoscedastic"`.
    std_factor_ : float or ndarray of shape (n_outputs,)
        What `calibrate` multiplies the standard deviations by; 1 if it does not.
    n_outputs_ : int
        Number of outputs.
    net_ : skorch.NeuralNet
        The trained net; `net_.module_` is the torch module with all members.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where `X` had names that are all strings.

    See Also
    --------
    VariationalBNNClassifier : The same method for class labels.
    MCDropoutRegressor : One network, and dropout masks as components.
    sk_deltauq.DeltaUQRegressor : One network, and anchors as components.

    Notes
    -----
    The noise of the weights to predict with is drawn once, in `fit`, so that predictions are
    repeatable, and the same for all rows, so that each component is one function of `x`. In
    training the outputs of each layer are drawn anew for each sample, which amounts to a draw of
    the weights of its own. The divergence has a closed form; its share in the loss of a row is one
    over the number of training rows, of all calls so far in `partial_fit`.

    The paper has a mixture of two normals as the prior, and `kl_weight=1`. On three of four UCI
    sets of 300 to 1030 rows (a split or two each) that underfits, and the log-likelihood of
    left-out rows was better with 0.1; on the fourth it was 0.06 worse.

    With `noise=None` the likelihood is normal with the standard deviation of `y`, which says how
    much the data count beside the prior. The frequencies of a periodic embedding are learnt
    without a prior. There is no L2 penalty, since the prior is one, and no beta-NLL, with which
    the loss is no bound. A `weight_decay` in `net_params` would also act on the logarithms of the
    standard deviations, and widen the posterior.

    References
    ----------
    .. [1] Blundell, Cornebise, Kavukcuoglu, Wierstra, "Weight Uncertainty in Neural Networks",
       ICML 2015.
    .. [2] Kingma, Salimans, Welling, "Variational Dropout and the Local Reparameterization Trick",
       NeurIPS 2015.
    .. [3] Gorishniy, Rubachev, Babenko, "On Embeddings for Numerical Features in Tabular Deep
       Learning", NeurIPS 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> from sk_deltauq.baselines import VariationalBNNRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = VariationalBNNRegressor(max_iter=20, random_state=0).fit(X_train, y_train)
    >>> y_mean, y_std = model.predict(X_test, return_std=True)
    >>> y_mean.shape, y_std.shape
    ((111,), (111,))
    >>> model.n_components_
    50
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
    embedding: str | None = "auto"
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 3e-3
    averaging: int = 10
    max_iter: int = 400
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
        **without(NetworkRegressor._parameter_constraints, "alpha", "nll_beta"),
        "prior_std": [Interval(Real, 0, None, closed="neither")],
        "kl_weight": [Interval(Real, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    def _method(self, plan):
        return Variational(self.prior_std, self.kl_weight, self.n_draws)


@dataclass(eq=False, repr=False)
class VariationalBNNClassifier(NetworkClassifier):
    """Bayes by Backprop: a network with a distribution over its weights, averaged over draws.

    Each weight has a normal prior, and a normal posterior, independent of the others. The loss is
    the expected negative log-likelihood plus the Kullback-Leibler divergence of the posterior from
    the prior (eq. 1 of [1]_), with the local reparametrisation of [2]_. The prediction is the
    mean of the probabilities of `n_draws` networks drawn from the posterior.

    Rows are standardised inside.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    prior_std : float, default=1.0
        Standard deviation of the normal prior of each weight and bias.
    kl_weight : float, default=0.1
        Weight of the divergence of the posterior from the prior; 1 is the evidence lower bound.
        Below 1 the posterior is tempered: narrower, and bound less to the prior, as if each row
        had come `1 / kl_weight` times. The larger it is, the larger the epistemic uncertainty.
    n_draws : int, default=50
        Number of draws of the weights, made in `fit` and kept. Each prediction is a mean over
        all of them.
    n_members : int, default=1
        Number of networks, trained side by side as one stacked module. With early stopping each
        leaves out another fold of the rows (cross-fitting). The components of a prediction are
        all pairs of a member and a draw.
    class_weight : dict or "balanced", default=None
        Weights of the classes, `{label: weight}`; "balanced" weighs them inversely to their
        frequencies. None weighs all rows alike.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Embedding of the standardised inputs: fixed sines and cosines in three octaves
        ("sinusoidal"), the same for the first member and every other one, and none for the rest
        ("alternating"), or ones with learnt frequencies ("periodic", [3]_). The inputs themselves
        are kept beside them. "auto" is "alternating" for a regressor with at least 25 rows a
        feature, and otherwise None.
    batch_size : int or "auto", default="auto"
        Most rows in a mini-batch. "auto" is the power of two nearest the square root of the
        number of rows, from 32 to 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Step size of an epoch: `learning_rate_init / sqrt(1 + epoch / 50)`, or always the same.
        `partial_fit` counts on, `fit` counts from 0.
    learning_rate_init : float, default=0.003
        Step size of Adam in the first epoch.
    averaging : int, default=10
        Number of epochs over which the weights are averaged (an exponential moving average of one
        value an epoch): what is judged for early stopping, and what predicts. 1 takes the last
        weights, as `partial_fit` does.
    max_iter : int, default=400
        Most epochs, each a pass over the training rows.
    tol : float, default=1e-4
        An epoch counts as an improvement if the score (or, without early stopping, the training
        loss) is better than the best one by more than this.
    n_iter_no_change : int, default=30
        Number of epochs in a row without an improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to hold rows out, to stop by their log-likelihood, and to keep the weights that
        were best on them, member by member. "auto" does so where each fold gets at least 5 rows:
        with the default `validation_fraction` and up to four members, from 20 rows on. It holds
        out more than `validation_fraction` where that would be fewer than 20 rows, up to a
        quarter. With fewer rows a hold-out means nothing: training runs on all rows until its
        loss no longer falls, and the band deserves less trust.
    validation_fraction : float, default=0.1
        Largest part of the rows that a member holds out, above 0 and at most 0.5. The rows are
        dealt into folds of one size, at least one a member, so the part is one over a whole
        number: 0.1 is a tenth, 0.3 a quarter.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights and scales of the last fit.
    net_params : dict, default=None
        Further parameters for the `skorch.NeuralNet` that does the training, such as
        `{"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.01}` or
        `{"callbacks": [...]}`. Callbacks see the history, with `train_loss` and, with early
        stopping, `valid_loss`; those that score data of their own are not served. What another
        parameter sets is refused.
    device : str, default="cpu"
        Torch device to train and predict on.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the mini-batches, the noise and the held-out rows. An int
        gives the same model each time; torch's and NumPy's global generators are left alone.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    n_components_ : int
        Number of components of a prediction: members times draws.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, mean over members.
    validation_scores_ : ndarray of shape (`n_iter_`,) or (`n_iter_`, n_members), or None
        Mean log-likelihood of the held-out rows after each epoch; None without early
        stopping.
    best_validation_score_ : float or ndarray of shape (n_members,), or None
        The best of them.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    net_ : skorch.NeuralNet
        The trained net; `net_.module_` is the torch module with all members.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where `X` had names that are all strings.

    See Also
    --------
    VariationalBNNRegressor : The same method for real targets.
    MCDropoutClassifier : One network, and dropout masks as components.
    sk_deltauq.DeltaUQClassifier : One network, and anchors as components.

    Notes
    -----
    The noise of the weights to predict with is drawn once, in `fit`, so that predictions are
    repeatable, and the same for all rows, so that each component is one function of `x`. In
    training the outputs of each layer are drawn anew for each sample, which amounts to a draw of
    the weights of its own. The divergence has a closed form; its share in the loss of a row is one
    over the number of training rows, of all calls so far in `partial_fit`.

    The paper has a mixture of two normals as the prior, and `kl_weight=1`. On three of four UCI
    sets of 300 to 1030 rows (a split or two each) that underfits, and the log-likelihood of
    left-out rows was better with 0.1; on the fourth it was 0.06 worse.

    The frequencies of a periodic embedding are learnt without a prior. There is no L2 penalty,
    since the prior is one. A `weight_decay` in `net_params` would also act on the logarithms of
    the standard deviations, and widen the posterior.

    References
    ----------
    .. [1] Blundell, Cornebise, Kavukcuoglu, Wierstra, "Weight Uncertainty in Neural Networks",
       ICML 2015.
    .. [2] Kingma, Salimans, Welling, "Variational Dropout and the Local Reparameterization Trick",
       NeurIPS 2015.
    .. [3] Gorishniy, Rubachev, Babenko, "On Embeddings for Numerical Features in Tabular Deep
       Learning", NeurIPS 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from sk_deltauq.baselines import VariationalBNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = VariationalBNNClassifier(max_iter=20, random_state=0).fit(X_train, y_train)
    >>> model.predict_proba(X_test).shape
    (38, 3)
    >>> sorted(model.predict_uncertainty(X_test))
    ['aleatoric', 'epistemic', 'mutual_information', 'total']
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    prior_std: float = 1.0
    kl_weight: float = 0.1
    n_draws: int = 50
    n_members: int = 1
    class_weight: dict | str | None = None
    embedding: str | None = "auto"
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 3e-3
    averaging: int = 10
    max_iter: int = 400
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
        **without(NetworkClassifier._parameter_constraints, "alpha"),
        "prior_std": [Interval(Real, 0, None, closed="neither")],
        "kl_weight": [Interval(Real, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    def _method(self, plan):
        return Variational(self.prior_std, self.kl_weight, self.n_draws)
