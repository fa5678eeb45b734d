"""MC dropout (Gal and Ghahramani, 2016): one network, with many dropout masks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np

from sk_deltauq._heads import CategoricalUQ, GaussianUQ
from sk_deltauq._network import NetworkUQ
from sk_deltauq._random import Stream, torch_generators
from sk_deltauq._sklearn import Interval, StrOptions
from sk_deltauq._skorch.rows import MaskedBatches
from sk_deltauq._torch.layers import dropout_masks
from sk_deltauq._torch.networks import DropoutMLP
from sk_deltauq._validation import layer_sizes

# What "auto" chooses from: the grid of the paper's own experiments on the UCI sets.
_RATES = (0.005, 0.01, 0.05, 0.1)


class _MCDropout(NetworkUQ):
    """Train with a new dropout mask for every sample; predict with all of the masks kept.

    To choose a rate, each member is trained once with each of them, in the same stack and with
    the same held-out rows; the networks of the best rate are kept.
    """

    _parameter_constraints: dict = {
        "dropout": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "n_masks": [Interval(Integral, 1, None, closed="left")],
    }
    _mlp_class = DropoutMLP

    def _rates(self, plan):
        """The dropout rates to train with."""
        if plan.resume:
            return [self.dropout_]
        return list(_RATES) if self.dropout == "auto" else [float(self.dropout)]

    def _training(self, data, plan):
        training, rates = super()._training(data, plan), self._rates(plan)
        if len(rates) > 1 and not training.n_folds:
            raise ValueError(
                "dropout='auto' needs held-out rows to choose the rate by, and there are none "
                f"with early_stopping={self.early_stopping!r} and n_samples={len(data.X)}, nor in "
                "a first partial_fit. Set dropout to a number, such as 0.05, or call fit with "
                "early_stopping=True."
            )
        batches = self._masked_batches(rates * self.n_members)
        return replace(training, copies=len(rates), batches=batches)

    def _masked_batches(self, rates):
        n_units = sum(layer_sizes(self.hidden_layer_sizes))
        return partial(MaskedBatches, n_units=n_units, rates=rates)

    def _architecture(self):
        return {**super()._architecture(), "dropout": self.dropout}

    def _make_module(self, embedding, n_outputs, generators):
        if not layer_sizes(self.hidden_layer_sizes):
            raise ValueError(
                "hidden_layer_sizes must name at least one hidden layer, since dropout acts on "
                "hidden units, got (). Give it a size, such as (50,)."
            )
        return super()._make_module(embedding, n_outputs, generators)

    def _prepare_module(self, module, data, plan, call):
        """Draw the masks to predict with; the same ones whenever training goes on."""
        rates = self._rates(plan)
        members = np.repeat(np.arange(self.n_members), len(rates)).tolist()
        generators = torch_generators(self.seed_, Stream.MASKS, members)
        masks = dropout_masks(self.n_masks, module.n_units, rates * self.n_members, generators)
        module.set_masks(masks.to(self.device))

    def _finish(self, net, monitor, plan):
        """Keep the rate whose networks have the best held-out scores, on average over members."""
        module, rates = net.module_, self._rates(plan)
        best = 0
        if len(rates) > 1:
            best = int(monitor.best_scores.reshape(-1, len(rates)).mean(axis=0).argmax())
            kept = slice(best, None, len(rates))
            net.keep_members(kept)
            net.iterator_train = self._masked_batches([rates[best]] * self.n_members)
            monitor.keep_members(kept)
            module.set_masks(module.masks[kept].clone())
        self.dropout_ = rates[best]
        self.masks_ = module.masks.cpu().transpose(1, 2).numpy() > 0  # (member, mask, unit)


class MCDropoutRegressor(GaussianUQ, _MCDropout):
    """MC dropout: one network, averaged over dropout masks.

    Dropout stays active in prediction. A forward pass with one mask is a draw from an approximate
    posterior of the network. The prediction is the equal-weight mixture over `n_masks` passes. Its
    mean is the mean of the passes (eq. 6 of [1]_). The variance of the passes is the epistemic
    part, the mean noise variance is the aleatoric part.

    Features and targets are standardised internally. Predictions have the units and shape of `y`.

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
        Number of networks, trained as one stacked module. With early stopping, each holds out a
        different fold (cross-fitting). Predictions average over all pairs of network and mask.
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise model: one variance for each row, one variance for each output, or none. None fits
        the squared error and predicts only epistemic uncertainty, as for a deterministic
        simulator.
    nll_beta : float, default=0.5
        Exponent of the beta-NLL loss [2]_: each row's loss is weighted by its predicted
        variance to this power, between 0 (plain likelihood) and 1 (the mean is fitted as by the
        squared error). Ignored with `noise=None`.
    calibrate : bool, default=True
        Whether to rescale the standard deviations to match the errors on held-out rows, by one
        factor per output (`std_factor_`), shrunk towards 1 with the weight of 100 rows. Ignored
        without early stopping or with `noise=None`.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Extra features: sines and cosines of each feature at three fixed frequencies ("sinusoidal")
        or at learnt frequencies ("periodic", [3]_). "alternating" is "sinusoidal" for the first
        and every other member, and None for the rest. "auto" is "alternating" for a regressor with
        at least 25 rows per feature, and None otherwise.
    alpha : float, default=0.0
        Strength of the L2 penalty on the weights, divided by the batch size as in `MLPRegressor`.
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch. "auto" is the power of two nearest to the square
        root of the number of rows, between 32 and 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant. `fit`
        counts epochs from 0; `partial_fit` continues the count.
    learning_rate_init : float, default=0.01
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
    dropout_ : float
        Dropout rate: `dropout`, or the selected rate.
    masks_ : ndarray of bool of shape (n_members, n_masks, n_units)
        Whether each mask keeps each hidden unit. Units are ordered by layer.
    n_components_ : int
        Number of components of a prediction: members times masks.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members and, with `dropout="auto"`, over rates.
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
    MCDropoutClassifier : The same method for class labels.
    DeepEnsembleRegressor : Several networks with different initial weights.
    sk_deltauq.DeltaUQRegressor : One network, averaged over anchors.

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
    .. [2] Seitzer et al., "On the Pitfalls of Heteroscedastic Uncertainty Estimation with
       Probabilistic Neural Networks", ICLR 2022.
    .. [3] Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning",
       NeurIPS 2022.

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

    _parameter_constraints: dict = {
        **GaussianUQ._parameter_constraints,
        **_MCDropout._parameter_constraints,
    }
    _ddof = 0

    def __init__(
        self,
        hidden_layer_sizes=(50, 50),
        activation="relu",
        *,
        dropout=0.05,
        n_masks=50,
        n_members=1,
        noise="heteroscedastic",
        nll_beta=0.5,
        calibrate=True,
        embedding="auto",
        alpha=0.0,
        batch_size="auto",
        learning_rate="invscaling",
        learning_rate_init=0.01,
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
        self.dropout = dropout
        self.n_masks = n_masks
        self.n_members = n_members
        self.noise = noise
        self.nll_beta = nll_beta
        self.calibrate = calibrate
        self.embedding = embedding
        self.alpha = alpha
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


class MCDropoutClassifier(CategoricalUQ, _MCDropout):
    """MC dropout: one network, averaged over dropout masks.

    Dropout stays active in prediction. A forward pass with one mask is a draw from an approximate
    posterior of the network. The prediction is the mean of the probabilities over `n_masks` passes
    (as in eq. 6 of [1]_).

    Features are standardised internally.

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
        Number of networks, trained as one stacked module. With early stopping, each holds out a
        different fold (cross-fitting). Predictions average over all pairs of network and mask.
    class_weight : dict or "balanced", default=None
        Weights of the classes, `{label: weight}`. "balanced" weights classes inversely to their
        frequencies. None weights all rows equally.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Extra features: sines and cosines of each feature at three fixed frequencies ("sinusoidal")
        or at learnt frequencies ("periodic", [2]_). "alternating" is "sinusoidal" for the first
        and every other member, and None for the rest. "auto" is "alternating" for a regressor with
        at least 25 rows per feature, and None otherwise.
    alpha : float, default=0.0
        Strength of the L2 penalty on the weights, divided by the batch size as in `MLPRegressor`.
    batch_size : int or "auto", default="auto"
        Maximum number of rows in a mini-batch. "auto" is the power of two nearest to the square
        root of the number of rows, between 32 and 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Schedule of the step size: `learning_rate_init / sqrt(1 + epoch / 50)`, or constant. `fit`
        counts epochs from 0; `partial_fit` continues the count.
    learning_rate_init : float, default=0.01
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
    dropout_ : float
        Dropout rate: `dropout`, or the selected rate.
    masks_ : ndarray of bool of shape (n_members, n_masks, n_units)
        Whether each mask keeps each hidden unit. Units are ordered by layer.
    n_components_ : int
        Number of components of a prediction: members times masks.
    n_iter_ : int
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members and, with `dropout="auto"`, over rates.
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
    MCDropoutRegressor : The same method for real targets, with notes.
    DeepEnsembleClassifier : Several networks with different initial weights.
    sk_deltauq.DeltaUQClassifier : One network, averaged over anchors.

    References
    ----------
    .. [1] Gal, Ghahramani, "Dropout as a Bayesian Approximation: Representing Model Uncertainty in
       Deep Learning", ICML 2016.
    .. [2] Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning",
       NeurIPS 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sk_deltauq.baselines import MCDropoutClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCDropoutClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    _parameter_constraints: dict = {
        **CategoricalUQ._parameter_constraints,
        **_MCDropout._parameter_constraints,
    }

    def __init__(
        self,
        hidden_layer_sizes=(50, 50),
        activation="relu",
        *,
        dropout=0.05,
        n_masks=50,
        n_members=1,
        class_weight=None,
        embedding="auto",
        alpha=0.0,
        batch_size="auto",
        learning_rate="invscaling",
        learning_rate_init=0.01,
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
        self.dropout = dropout
        self.n_masks = n_masks
        self.n_members = n_members
        self.class_weight = class_weight
        self.embedding = embedding
        self.alpha = alpha
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
