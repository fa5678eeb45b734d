"""Delta-UQ for real targets: parameters, and their documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from sk_deltauq._estimators.network_regressor import NetworkRegressor
from sk_deltauq._estimators.parameters import ANCHOR_CONSTRAINTS, MODULE_CONSTRAINT
from sk_deltauq._methods.anchored import Anchored
from sk_deltauq._methods.neighbours import NearestAnchors
from sk_deltauq._sklearn import Interval


@dataclass(eq=False, repr=False)
class DeltaUQRegressor(NetworkRegressor):
    """Regressor with uncertainty estimates: an MLP averaged over anchors (Delta-UQ).

    The network receives each row `x` together with an anchor `c`. By default, an anchor is a
    random training row without its target, as in [1]_. With `anchors="neighbours"` it is a random
    half of the nearest training rows with their targets, and the network predicts the difference
    from these targets. Anchors are random in training. Prediction pairs each row with `n_anchors`
    anchors: the mean over the anchors is the prediction, and their spread is the epistemic
    uncertainty (eq. 6 of [1]_). A noise model adds the aleatoric uncertainty.

    Features and targets are standardised internally. Predictions have the units and shape of `y`.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    anchors : {"random", "neighbours"}, default="random"
        What an anchor is. "random" is a random training row without its target, the method of
        [1]_. "neighbours" is a random half of the `n_neighbors` nearest training rows, in a metric
        that is learnt first [4]_. They are blended with weights that fall with the distance, and
        the network predicts the difference from their mean target. Rows equal to `x` never count,
        and in training no rows of the same group (`groups`) and no held-out rows. It is more
        accurate where near rows have similar targets.
    n_anchors : int, default=20
        Number of anchors in prediction. With `anchors="random"`, all rows if there are fewer.
    n_neighbors : int, default=16
        Number of nearest training rows for `anchors="neighbours"`; at most a quarter of the
        distinct rows, or two for 4 to 11 distinct rows.
    neighbor_search : {"exact", "approximate"}, default="exact"
        How to find the neighbours. "approximate" compares a row with the most similar clusters of
        training rows only. It misses a few neighbours, and more of them if many features are
        equally important. It is faster in tables with more than 20 features; with less than 9
        features or 10,000 rows the search stays exact, as it does on GPUs, in `to_torch`, and for
        gradients. It needs faiss (`pip install 'sk-deltauq[neighbours]'`). For
        `anchors="neighbours"`.
    anchor_pool : int or None, default=100_000
        Largest number of training rows to keep as possible neighbours, a random sample of all rows
        (in proportion to the weights); None keeps all. Each kept row takes about
        `28 * n_features + 50` bytes (twice with `refine_mean`), and prediction searches among
        them. For `anchors="neighbours"`.
    n_members : int, default=1
        Minimum number of networks, trained as one stacked module (see `n_networks_`). They hold
        out the folds in turn (cross-fitting). Predictions average over all pairs of network and
        anchor.
    noise : {"heteroscedastic", "homoscedastic", None}, default="heteroscedastic"
        Noise variance: one per row, one per output, or none. None fits the squared error and
        predicts only epistemic uncertainty, as for a deterministic simulator. After early
        stopping, training continues on all rows, for as many epochs again.
    nll_beta : float, default=0.5
        Exponent of the beta-NLL loss, from 0 (plain likelihood) to 1 (squared error of the mean).
        The loss of each row is weighted by its predicted variance to this power [2]_. Ignored with
        `noise=None`.
    calibrate : bool, default=True
        Whether to match the predictive distribution to the errors on held-out rows. Too small
        standard deviations are multiplied by a factor for each output (`std_factor_`). If they are
        too large, mainly the noise shrinks (`noise_factor_`), so that the epistemic part remains
        out of distribution. The change of the variance is shrunk towards 1 with the weight of 30
        rows, then multiplied by `1 + 8 / h` for h distinct held-out rows. If the errors have
        heavier tails than a normal distribution, the noise gets them too (`outlier_scale_`). With
        `noise=None` the factor is not shrunk, the tails are normal, and each row gets 1 % of the
        mean variance of the held-out rows on top, so that no standard deviation is zero. Ignored
        without early stopping.
    refine_mean : bool, default=False
        Whether to train on after early stopping, for the predicted means only: on all rows, for as
        many epochs as the networks needed on average to reach their best held-out scores. Held-out
        rows stop training where the variances are best, and the means still improve there. The
        aleatoric part and the calibration stay; the epistemic part is the spread of the new means.
        It takes about half as many epochs in addition, and prediction takes twice as long. Ignored
        if the squared errors of the held-out rows rose by more than a quarter after the best
        epoch, without early stopping, and with `noise=None`; see `mean_refined_`. `partial_fit`
        goes back to the means before.
    target_transform : str, transformer or None, default=None
        Strictly monotone transformation of the targets before standardisation. Results keep the
        units of `y`. Names are "log" (targets above 0), "log1p" (above -1), "yeo-johnson" (skewed,
        of any sign) and "quantile" (any shape, to a normal). "auto" uses "log", or "yeo-johnson"
        if a target is not positive, where this clearly raises the held-out likelihood; `fit` then
        takes about three times as long. A transformer of scikit-learn is copied and fitted to
        each output.
    widening : float, default=1.0
        Strength of the distance-based inflation of the standard deviation, which is multiplied by
        `1 + widening * max(d - r, 0) / (r + 1/4)`, up to the standard deviation of the training
        targets. Here `d` is the distance to the nearest of up to 512 training rows. The distance
        weighs each standardised feature by its effect on the prediction. `d <= r` for 90 % of new
        rows like the training rows. The added variance is epistemic. 0 turns the inflation off,
        and the mixture of `predict_dist` is then not smoothed, as in the paper.
    embedding : {"auto", "alternating", "sinusoidal", "periodic", "fourier", None}, default="auto"
        Sines and cosines of each feature that are added to the inputs. "sinusoidal" has three
        fixed frequencies, "periodic" four learnt ones ([3]_). "alternating" is "sinusoidal" for
        every second member, beginning with the first. "fourier" has 32 random mixtures of all
        features instead, of low frequency, for smooth functions of few rows
        (`sk_deltauq.optimize`). "auto" is "alternating" for a regressor with at least 25 rows per
        feature, else None.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to encode as categories, with one input for each level. "from_dtype" selects the
        columns of text and of a category type in a data frame (pandas, polars or pyarrow). An
        array holds column names, positions, or one flag per column. None takes numbers only. The
        255 most frequent levels of a category have an input of their own, the others share one.
    missing_values : {"indicator", "error"}, default="indicator"
        What to do about missing values in `X`. "indicator" replaces a missing number by the mean
        of the training rows and adds an input that marks it. In a category, it is a level of its
        own. "error" raises an error.
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
        Number of epochs in the exponential moving average of the weights. Early stopping and
        prediction use the average. 1 uses the last weights, as `partial_fit` does.
    max_iter : int, default=400
        Maximum number of epochs (passes over the training rows). After early stopping,
        `noise=None` and `refine_mean` train for up to as many epochs again.
    max_time : float, default=None
        Maximum duration of training in `fit`, in seconds. Training stops after the first epoch
        that ends later, keeps the best weights so far, and warns (`ConvergenceWarning`). Ctrl-C
        does the same after the mini-batch at hand; a second Ctrl-C, at once or within two seconds,
        interrupts `fit` and what is around it, such as a grid search. None means no limit.
    tol : float, default=1e-4
        Minimum improvement of the held-out score or, without early stopping, the training loss.
    n_iter_no_change : int, default=30
        Number of consecutive epochs without improvement after which training stops.
    early_stopping : bool or "auto", default="auto"
        Whether to stop by the log-likelihood of held-out rows and restore the best weights. "auto"
        does so from two rows on, with folds of at least 20 rows where five folds allow it. `fit`
        with `groups` says which rows belong together. Without early stopping, training uses all
        rows until the loss stops falling, and the standard deviations are not calibrated. `fit`
        with `X_val` and `y_val` stops by these rows in any case.
    validation_fraction : float, default=0.1
        Fraction of the rows that each network holds out, in (0, 0.5]. It is rounded down to 1/k
        for k equal folds: 0.3 becomes 1/4. `early_stopping="auto"` enlarges small folds. It also
        makes at least `n_members` folds, as long as they keep 20 rows, so five members hold out
        at most a fifth each.
    warm_start : bool, default=False
        Whether `fit` continues from the weights, scaling and class labels of the last fit. It then
        ignores `random_state`. With early stopping, the held-out score never gets worse. On other
        rows, or in another order, networks may hold out rows that they trained on, and `fit`
        warns.
    module : callable, default=None
        Factory of a torch module that replaces the multilayer perceptron, called once per member
        as `module(in_features, out_features)`. Its inputs are `[c, x - c]`, so `in_features` is
        twice the width of the (embedded) features; with `anchors="neighbours"`, they are the
        features and a description of the neighbours. `hidden_layer_sizes` and `activation` are
        ignored, and `embedding="auto"` means None. The factory and its modules run with float32 on
        the CPU as torch's defaults and without autocast, also if the caller has set others.
    net_params : dict, default=None
        Additional parameters for the `skorch.NeuralNet` used in training. Examples are
        `{"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.01}` and
        `{"callbacks": [...]}`. Callbacks can read the history; scoring callbacks (`EpochScoring`)
        are not supported. Callbacks that watch a held-out loss, such as `EarlyStopping`, do not
        run while `noise=None` or `refine_mean` trains on all rows. Names that have their own
        constructor parameter raise an error.
    device : str, default="cpu"
        Torch device for training and prediction.
    random_state : int, RandomState instance or None, default=None
        Seed for all random choices in `fit`. An int makes results reproducible.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_rows, n_features)
        Training rows that anchors are made of, in the units of `X`: the `min(n_anchors,
        n_samples)` anchors, or the possible neighbours (see `anchor_pool`).
    n_networks_ : int
        Number of networks: `n_members`, or more if the networks would hold out fewer than 60 rows
        (or groups) together. One member is five networks below 75 rows, one from 600 rows on.
    n_components_ : int
        Number of components of a prediction: networks times anchors.
    n_iter_ : int
        Number of epochs run. `refine_mean` is not counted.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members.
    validation_scores_ : ndarray of shape (n_epochs,) or (n_epochs, `n_networks_`), or None
        Score of the held-out rows after each epoch; None without hold-out. The score is the mean
        log density of the standardised targets, or minus the mean squared error with
        `noise=None`.
    best_validation_score_ : float or ndarray of shape (`n_networks_`,), or None
        Best held-out score of each network; None without hold-out.
    noise_std_ : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise, in the units of `y`, with `noise="homoscedastic"`. With
        `target_transform`, it has the units of the transformed target.
    std_factor_ : float or ndarray of shape (n_outputs,)
        Factor by which `calibrate` multiplies all standard deviations; 1 without calibration.
    noise_factor_ : float or ndarray of shape (n_outputs,)
        Factor by which `calibrate` multiplies the standard deviation of the noise besides, up to
        1; 1 without calibration.
    outlier_scale_ : float or ndarray of shape (n_outputs,)
        Noise scale of one component in 20, relative to the others: larger than 1 if `calibrate`
        finds more large errors than a normal distribution has. It changes densities, intervals and
        quantiles, but no mean or standard deviation. Fewer than 20 components are copied first.
    mean_refined_ : bool
        Whether `refine_mean` changed the predicted means.
    target_transform_ : object or None
        Fitted transformation of the targets, with `transform` and `inverse_transform` of arrays
        of shape (n_samples, n_outputs); None if the targets are not transformed.
    n_outputs_ : int
        Number of outputs.
    y_scaler_ : StandardScaler
        Mean and scale of each output, after `target_transform`.
    x_scaler_ : StandardScaler
        Mean and scale of each feature. The scale of a constant feature is infinite.
    net_ : skorch.NeuralNet
        Trained net; `net_.module_` is the torch module with all members.
    encoder_ : TableEncoder or None
        Turns a table into the inputs of the network: `encoder_.transform(X)`, with the names
        `encoder_.get_feature_names_out()`. It holds scikit-learn's `OneHotEncoder` (`one_hot_`)
        and `SimpleImputer` (`imputer_`). None if `X` had only numbers and no missing values.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all column names of `X` are strings.

    See Also
    --------
    DeltaUQClassifier : The same method for class labels.

    Notes
    -----
    The first layer computes `W x + V c`. This equals the paper's layer, with weights `[V + W, W]`
    on `[c, x - c]`, and has the same initial distribution. It trains better and predicts faster.

    With `anchors="neighbours"`, each member learns two metrics before the networks train: a scale
    for each feature, and a linear map (with more than 32 features, a second set of scales). Both
    minimise the squared error of a kernel regression [4]_. The first layer sees the row and, for
    each metric, the difference between the row and the weighted mean neighbour, the mean and the
    spread of the targets, and the mean distance; differences and distances as asinh, so that far
    neighbours do not dominate. A k-d tree finds the neighbours in the mean of all metrics, or a
    comparison with all rows if there are more than 20 features (see `neighbor_search`). The metric
    and the search take seconds to minutes with tens of thousands of rows, before the networks
    train. `max_time` does not count them. Training keeps up to 64 MB and half a kilobyte per row
    for each network. The fitted model contains its training rows and targets, also in a file.

    `warm_start` keeps the weights and draws the anchors from the new training rows; `partial_fit`
    adds new rows to the possible neighbours. The prediction for a row does not depend on the other
    rows in `X`, up to rounding in float32.

    References
    ----------
    .. [1] Thiagarajan et al., "Single Model Uncertainty Estimation via Stochastic Data Centering",
       NeurIPS 2022.
    .. [2] Seitzer et al., "On the Pitfalls of Heteroscedastic Uncertainty Estimation with
       Probabilistic Neural Networks", ICLR 2022.
    .. [3] Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning",
       NeurIPS 2022.
    .. [4] Weinberger and Tesauro, "Metric Learning for Kernel Regression", AISTATS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> from sk_deltauq import DeltaUQRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(X_train, y_train)
    >>> y_mean, y_std = model.predict(X_test, return_std=True)
    >>> y_mean.shape, y_std.shape
    ((111,), (111,))
    >>> model.predict_interval(X_test, coverage=0.9).shape
    (111, 2)
    """

    hidden_layer_sizes: Any = (50, 50)
    activation: str = "relu"
    _: KW_ONLY
    anchors: str = "random"
    n_anchors: int = 20
    n_neighbors: int = 16
    neighbor_search: str = "exact"
    anchor_pool: int | None = 100_000
    n_members: int = 1
    noise: str | None = "heteroscedastic"
    nll_beta: float = 0.5
    calibrate: bool = True
    refine_mean: bool = False
    target_transform: Any = None
    widening: float = 1.0
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
        **ANCHOR_CONSTRAINTS,
        "widening": [Interval(Real, 0, None, closed="left")],
    }

    def _method(self, plan):
        if self.anchors == "random":
            return Anchored(self.n_anchors, self.module, inflation=self.widening)
        return NearestAnchors(
            *(self.n_anchors, self.n_neighbors, self.anchor_pool, self.module),
            inflation=self.widening,
            approximate=self.neighbor_search == "approximate",
        )
