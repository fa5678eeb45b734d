"""Anchor ensembles (Delta-UQ's first claim): one initialisation, shifted rows per member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from sk_deltauq._estimators.classifier import NetworkClassifier
from sk_deltauq._estimators.parameters import MODULE_CONSTRAINT
from sk_deltauq._estimators.regressor import NetworkRegressor
from sk_deltauq._methods.shifted import Shifted


@dataclass(eq=False, repr=False)
class AnchorEnsembleRegressor(NetworkRegressor):
    """Anchor ensemble: networks from the same initial weights, on rows shifted by anchors.

    Member `m` is trained on the rows `x - c_m`, where its anchor `c_m` is a training row drawn
    once and for all, and all members start from the same weights (section 3.1 of [1]_). A network
    is not blind to such a shift, so they end apart, and the spread of their answers is the
    epistemic uncertainty. The prediction is the equal-weight mixture of the members' normal
    densities: its variance is that of their means plus the mean noise variance, the aleatoric
    part.

    Rows and targets are standardised inside; all answers are in the units and shape of `y`.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    n_members : int, default=5
        Number of networks, each with an anchor of its own, which are the components of a
        prediction. They meet the rows in different orders, and are trained side by side as one
        stacked module. With early stopping each leaves out another fold of the rows
        (cross-fitting). With fewer training rows than members, some members share an anchor.
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise model: a variance that the network predicts for each row, one learnt variance for
        each output, or none. With None the loss is the squared error and the standard deviation
        is epistemic only: for targets without noise, such as a deterministic simulator.
    nll_beta : float, default=0.5
        Each row's negative log-likelihood is weighted by its predicted variance to this power
        (beta-NLL, [2]_), between 0 (plain likelihood) and 1 (as hard on the mean as the squared
        error). Not used with `noise=None`.
    calibrate : bool, default=True
        Whether to multiply the standard deviations by one factor an output, `std_factor_`: that by
        which the held-out errors come out as large as predicted, drawn towards 1 as if 100 more
        rows needed none. The error of several members together is taken to be that of the one that
        holds the row out, less what averaging takes away. Not without rows held out for early
        stopping, nor with `noise=None`.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Embedding of the standardised and shifted inputs: fixed sines and cosines in three octaves
        ("sinusoidal"), the same for the first member and every other one, and none for the rest
        ("alternating"), or ones with learnt frequencies ("periodic", [3]_). The inputs themselves
        are kept beside them. "auto" is "alternating" for a regressor with at least 25 rows a
        feature and without a `module` of your own, and otherwise None.
    alpha : float, default=0.0
        Strength of the L2 penalty on the weights, divided by the batch size as in
        `MLPRegressor`. Early stopping regularises already.
    batch_size : int or "auto", default="auto"
        Most rows in a mini-batch. "auto" is the power of two nearest the square root of the
        number of rows, from 32 to 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Step size of an epoch: `learning_rate_init / sqrt(1 + epoch / 50)`, or always the same.
        `partial_fit` counts on, `fit` counts from 0.
    learning_rate_init : float, default=0.01
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
    module : callable, default=None
        Factory of a torch module to use in place of the multilayer perceptron:
        `module(in_features, out_features)` is called once a member, and gets rows of the
        (embedded) inputs. `hidden_layer_sizes` and `activation` are then not used.
    net_params : dict, default=None
        Further parameters for the `skorch.NeuralNet` that does the training, such as
        `{"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.01}` or
        `{"callbacks": [...]}`. Callbacks see the history, with `train_loss` and, with early
        stopping, `valid_loss`; those that score data of their own are not served. What another
        parameter sets is refused.
    device : str, default="cpu"
        Torch device to train and predict on.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the anchors, the mini-batches and the held-out rows. An int
        gives the same model each time; torch's and NumPy's global generators are left alone.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_members, n_features)
        The anchor of each member, in the units of `X`.
    n_components_ : int
        Number of components of a prediction: the members.
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
    AnchorEnsembleClassifier : The same method for class labels.
    DeepEnsembleRegressor : Networks from different initial weights, on the same rows.
    sk_deltauq.DeltaUQRegressor : One network, and anchors as components.

    Notes
    -----
    The shift acts on the standardised rows, before an embedding. It is part of the network, in
    training, early stopping and prediction alike. Without an embedding the first layer's bias can
    take it up, so that all members can represent the same functions; what differs is where they
    start and how they move from there. In the paper the members differ in their anchors alone.
    Ours differ besides in the order of the rows, and in the rows that each holds out to
    stop by; with `early_stopping=False` all members train on all rows. The paper has no noise
    model: that is `noise=None`.

    References
    ----------
    .. [1] Thiagarajan, Anirudh, Narayanaswamy, Bremer, "Single Model Uncertainty Estimation via
       Stochastic Data Centering", NeurIPS 2022.
    .. [2] Seitzer, Tavakoli, Antic, Martius, "On the Pitfalls of Heteroscedastic Uncertainty
       Estimation with Probabilistic Neural Networks", ICLR 2022.
    .. [3] Gorishniy, Rubachev, Babenko, "On Embeddings for Numerical Features in Tabular Deep
       Learning", NeurIPS 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> from sk_deltauq.baselines import AnchorEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = AnchorEnsembleRegressor(max_iter=20, random_state=0).fit(X_train, y_train)
    >>> y_mean, y_std = model.predict(X_test, return_std=True)
    >>> y_mean.shape, y_std.shape
    ((111,), (111,))
    >>> model.n_components_
    5
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    n_members: int = 5
    noise: str | None = "heteroscedastic"
    nll_beta: float = 0.5
    calibrate: bool = True
    embedding: str | None = "auto"
    alpha: float = 0.0
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 0.01
    averaging: int = 10
    max_iter: int = 400
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
    }

    def _method(self, plan):
        return Shifted(self.module)


@dataclass(eq=False, repr=False)
class AnchorEnsembleClassifier(NetworkClassifier):
    """Anchor ensemble: networks from the same initial weights, on rows shifted by anchors.

    Member `m` is trained on the rows `x - c_m`, where its anchor `c_m` is a training row drawn
    once and for all, and all members start from the same weights (section 3.1 of [1]_). A network
    is not blind to such a shift, so they end apart, and the spread of their answers is the
    epistemic uncertainty. The prediction is the mean of their probabilities.

    Rows are standardised inside.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    n_members : int, default=5
        Number of networks, each with an anchor of its own, which are the components of a
        prediction. They meet the rows in different orders, and are trained side by side as one
        stacked module. With early stopping each leaves out another fold of the rows
        (cross-fitting). With fewer training rows than members, some members share an anchor.
    class_weight : dict or "balanced", default=None
        Weights of the classes, `{label: weight}`; "balanced" weighs them inversely to their
        frequencies. None weighs all rows alike.
    embedding : {"auto", "alternating", "sinusoidal", "periodic"} or None, default="auto"
        Embedding of the standardised and shifted inputs: fixed sines and cosines in three octaves
        ("sinusoidal"), the same for the first member and every other one, and none for the rest
        ("alternating"), or ones with learnt frequencies ("periodic", [2]_). The inputs themselves
        are kept beside them. "auto" is "alternating" for a regressor with at least 25 rows a
        feature and without a `module` of your own, and otherwise None.
    alpha : float, default=0.0
        Strength of the L2 penalty on the weights, divided by the batch size as in
        `MLPRegressor`. Early stopping regularises already.
    batch_size : int or "auto", default="auto"
        Most rows in a mini-batch. "auto" is the power of two nearest the square root of the
        number of rows, from 32 to 1024.
    learning_rate : {"invscaling", "constant"}, default="invscaling"
        Step size of an epoch: `learning_rate_init / sqrt(1 + epoch / 50)`, or always the same.
        `partial_fit` counts on, `fit` counts from 0.
    learning_rate_init : float, default=0.01
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
    module : callable, default=None
        Factory of a torch module to use in place of the multilayer perceptron:
        `module(in_features, out_features)` is called once a member, and gets rows of the
        (embedded) inputs. `hidden_layer_sizes` and `activation` are then not used.
    net_params : dict, default=None
        Further parameters for the `skorch.NeuralNet` that does the training, such as
        `{"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.01}` or
        `{"callbacks": [...]}`. Callbacks see the history, with `train_loss` and, with early
        stopping, `valid_loss`; those that score data of their own are not served. What another
        parameter sets is refused.
    device : str, default="cpu"
        Torch device to train and predict on.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the anchors, the mini-batches and the held-out rows. An int
        gives the same model each time; torch's and NumPy's global generators are left alone.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_members, n_features)
        The anchor of each member, in the units of `X`.
    n_components_ : int
        Number of components of a prediction: the members.
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
    AnchorEnsembleRegressor : The same method for real targets.
    DeepEnsembleClassifier : Networks from different initial weights, on the same rows.
    sk_deltauq.DeltaUQClassifier : One network, and anchors as components.

    Notes
    -----
    The shift acts on the standardised rows, before an embedding. It is part of the network, in
    training, early stopping and prediction alike. Without an embedding the first layer's bias can
    take it up, so that all members can represent the same functions; what differs is where they
    start and how they move from there. In the paper the members differ in their anchors alone.
    Ours differ besides in the order of the rows, and in the rows that each holds out to
    stop by; with `early_stopping=False` all members train on all rows.

    References
    ----------
    .. [1] Thiagarajan, Anirudh, Narayanaswamy, Bremer, "Single Model Uncertainty Estimation via
       Stochastic Data Centering", NeurIPS 2022.
    .. [2] Gorishniy, Rubachev, Babenko, "On Embeddings for Numerical Features in Tabular Deep
       Learning", NeurIPS 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from sk_deltauq.baselines import AnchorEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = AnchorEnsembleClassifier(max_iter=20, random_state=0).fit(X_train, y_train)
    >>> model.predict_proba(X_test).shape
    (38, 3)
    >>> sorted(model.predict_uncertainty(X_test))
    ['aleatoric', 'epistemic', 'mutual_information', 'total']
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    n_members: int = 5
    class_weight: dict | str | None = None
    embedding: str | None = "auto"
    alpha: float = 0.0
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 0.01
    averaging: int = 10
    max_iter: int = 400
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
        **MODULE_CONSTRAINT,
    }

    def _method(self, plan):
        return Shifted(self.module)
