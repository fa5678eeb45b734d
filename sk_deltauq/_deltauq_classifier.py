"""Delta-UQ for class labels: parameters, and their documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from sk_deltauq._estimators.network_classifier import NetworkClassifier
from sk_deltauq._estimators.parameters import (
    ANCHOR_CONSTRAINTS,
    CORRUPTION_CONSTRAINT,
    MODULE_CONSTRAINT,
)
from sk_deltauq._methods.anchored import Anchored
from sk_deltauq._methods.neighbours import NearestAnchors
from sk_deltauq._sklearn import StrOptions


@dataclass(eq=False, repr=False)
class DeltaUQClassifier(NetworkClassifier):
    """Classifier with uncertainty estimates: an MLP averaged over anchors (Delta-UQ).

    The network receives each row `x` together with an anchor `c`. By default, an anchor is a
    random training row without its label, as in [1]_. With `anchors="neighbours"` it is a random
    half of the nearest training rows with their labels, and the network corrects the shares of
    the classes among them. Anchors are random in training. Prediction pairs each row with
    `n_anchors` anchors. The mean of the probabilities over the anchors is the prediction, and the
    spread of the logits is the epistemic uncertainty (eq. 6 of [1]_).

    Features are standardised internally.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    anchors : {"random", "neighbours"}, default="random"
        What an anchor is. "random" is a random training row without its label, the method of
        [1]_. "neighbours" is a random half of the `n_neighbors` nearest training rows, in a metric
        that is learnt first [5]_. They are blended with weights that fall with the distance, and
        the network predicts what to add to the logarithm of the shares of the classes. Rows equal
        to `x` never count, and in training no rows of the same group (`groups`) and no held-out
        rows. It is more accurate where near rows have the same label.
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
        `28 * n_features + 12 * n_classes + 50` bytes, and prediction searches among them. For
        `anchors="neighbours"`.
    n_members : int, default=1
        Minimum number of networks, trained as one stacked module (see `n_networks_`). They hold
        out the folds in turn (cross-fitting). Predictions average over all pairs of network and
        anchor.
    class_weight : dict or "balanced", default=None
        Weights `{label: weight}`; "balanced" weights classes inversely to their frequencies.
    calibration : {"distance", "temperature", "spread"} or None, default="distance"
        How to divide the logits of each row by a temperature. "distance" is 1 near the training
        rows and grows with the distance `d` from them, as
        `((d + 1/4) / (r + 1/4)) ** exponent` beyond the reach `r`. Here `d` is the mean Euclidean
        distance of the standardised row from the 5 nearest of up to 2,000 training rows, and 90 %
        of these rows are within `r`. The exponent minimises the log loss of held-out rows and of
        corrupted copies of them, shrunk towards 2 with the weight of 20 rows. "temperature" is
        one number for all rows that minimises the log loss of held-out rows ([3]_, section 4.2).
        "spread" multiplies the logits by `1 - s`, where `s` is the mean logit std of the row,
        scaled to [0, 1) by its range on held-out rows. The paper (section 4b) takes the range of
        the test batch, so its prediction for a row depends on the other rows. "temperature" and
        "spread" need held-out rows. With several networks and corruption, the temperature of
        "distance" and "temperature" is multiplied by the mean entropy of the networks, divided by
        the entropy of their mean, because the mean is underconfident ([4]_).
    anchor_corruption : {"swap", "noise"}, callable or None, default=None
        Corruption T of anchors in training. In one mini-batch in ten the network sees
        `[T(c), x - c]` in place of `[c, x - c]` (section 4 of [1]_, consistency training). "swap"
        takes 30 % of the features from other rows, and "noise" adds normal noise with a
        standard deviation of 0.5 standardised units. A callable is called as `T(rows, generator)`
        with a tensor of standardised rows, of shape (n_rows, n_features), and a
        `torch.Generator`, and returns a tensor of this shape. The pair is also an augmentation of
        the rows: it is the row `x + T(c) - c` with the anchor `T(c)`. With `anchors="neighbours"`,
        it is this row with its own neighbours, for a random training row `c`.
    temper : bool, default="deprecated"
        Deprecated. True is `calibration="spread"`, and False is `calibration=None`.
    embedding : {"auto", "alternating", "sinusoidal", "periodic", "fourier", None}, default="auto"
        Sines and cosines of each feature that are added to the inputs. "sinusoidal" has three
        fixed frequencies, "periodic" four learnt ones ([2]_). "alternating" is "sinusoidal" for
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
        Maximum number of epochs (passes over the training rows).
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
        does so with at least two rows more than classes, with folds of at least 20 rows where five
        folds allow it. `fit` with `groups` says which rows belong together. Without early
        stopping, training uses all rows until the loss stops falling. Then
        `calibration="distance"` uses the exponent 2, and the class frequencies are not mixed in.
        `fit` with `X_val` and `y_val` stops by these rows in any case.
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
        Number of epochs run.
    loss_curve_ : list of float
        Training loss of each epoch, averaged over members.
    validation_scores_ : ndarray of shape (`n_iter_`,) or (`n_iter_`, `n_networks_`), or None
        Mean log-likelihood of the held-out rows after each epoch. None without early stopping.
    best_validation_score_ : float or ndarray of shape (`n_networks_`,), or None
        Best held-out score of each network; None without hold-out.
    frequency_weight_ : float or None
        Weight of the class frequencies in the predicted probabilities; None without hold-out. It
        is the posterior mean under the likelihood of the held-out rows. The prior is Beta(1/2, 2),
        times the likelihood of six rows with half the probability of the class frequencies.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    calibration_ : dict of str to float, or None
        Numbers of the calibration: `temperature` (near the training rows), `exponent` and `reach`
        of "distance", `temperature` of "temperature", or `logit_std_range` of "spread" (smallest
        and largest mean logit std on the held-out rows). None with `calibration=None`.
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
    DeltaUQRegressor : The same method for real targets.

    Notes
    -----
    The paper averages logits. This class averages probabilities, which gives the integral of
    `p(y | x, c)` over the anchors. Only then is the mutual information the difference of two
    entropies.

    With `anchors="neighbours"`, the metric minimises the squared error of the shares of the
    classes among the neighbours [5]_. The first layer sees the row and, for two metrics, the
    difference from the weighted mean neighbour, the shares of the classes, their spread, and the
    mean distance. The Notes of `DeltaUQRegressor` describe the rest. The fitted model contains its
    training rows and labels, also in a file.

    `warm_start` keeps the weights and draws the anchors from the new training rows; `partial_fit`
    adds new rows to the possible neighbours. The prediction for a row does not depend on the other
    rows in `X`, up to rounding in float32.

    References
    ----------
    .. [1] Thiagarajan et al., "Single Model Uncertainty Estimation via Stochastic Data Centering",
       NeurIPS 2022.
    .. [2] Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning",
       NeurIPS 2022.
    .. [3] Guo et al., "On Calibration of Modern Neural Networks", ICML 2017.
    .. [4] Rahaman and Thiery, "Uncertainty Quantification and Deep Ensembles", NeurIPS 2021.
    .. [5] Weinberger and Tesauro, "Metric Learning for Kernel Regression", AISTATS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from sk_deltauq import DeltaUQClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = DeltaUQClassifier(max_iter=50, random_state=0).fit(X_train, y_train)
    >>> model.predict_proba(X_test).shape
    (38, 3)
    >>> sorted(model.predict_uncertainty(X_test))
    ['aleatoric', 'epistemic', 'logit_std', 'mutual_information', 'total']
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
    class_weight: dict | str | None = None
    calibration: str | None = "distance"
    anchor_corruption: str | Callable | None = None
    temper: bool | str = "deprecated"
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
        **MODULE_CONSTRAINT,
        **ANCHOR_CONSTRAINTS,
        "anchor_corruption": CORRUPTION_CONSTRAINT,
        "temper": ["boolean", StrOptions({"deprecated"})],
    }

    def _method(self, plan):
        if self.anchors == "random":
            return Anchored(self.n_anchors, self.module)
        return NearestAnchors(
            *(self.n_anchors, self.n_neighbors, self.anchor_pool, self.module),
            n_classes=len(self.classes_),
            approximate=self.neighbor_search == "approximate",
        )
