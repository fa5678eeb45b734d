"""Delta-UQ for real targets: the anchored network with a normal head, wider off the data."""

from __future__ import annotations

from numbers import Real

from sk_deltauq._anchoring import AnchoredUQ
from sk_deltauq._heads import GaussianUQ
from sk_deltauq._landmarks import Landmarks
from sk_deltauq._random import Stream, numpy_rng
from sk_deltauq._sklearn import Interval


class DeltaUQRegressor(GaussianUQ, AnchoredUQ):
    """Regressor with uncertainty estimates: an MLP averaged over anchors (Delta-UQ).

    The network receives each row `x` together with another training row, the anchor `c`, as
    `[c, x - c]`. Training pairs each row with random anchors. Prediction pairs each row with the
    same `n_anchors` anchors. The mean over the anchors is the prediction, and their spread is the
    epistemic uncertainty (eq. 6 of [1]_). A noise model adds the aleatoric uncertainty.

    Features and targets are standardised internally. Predictions have the units and shape of `y`.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(50, 50)
        Number of units in each hidden layer.
    activation : {"relu", "tanh", "logistic", "silu", "gelu", "identity"}, default="relu"
        Activation function of the hidden layers.
    n_anchors : int, default=20
        Number of training rows kept as anchors for prediction (all of them if there are fewer).
    n_members : int, default=1
        Number of networks, trained as one stacked module. With early stopping, each holds out a
        different fold (cross-fitting). Predictions average over all pairs of network and anchor.
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
    widening : float, default=1.0
        Strength of the distance-based inflation of the standard deviation, which is multiplied by
        `1 + widening * max(d - r, 0) / (r + 1/2)`. Here `d` is the distance to the nearest of 64
        selected training rows, in standardised features; `d <= r` for 90 % of the training rows.
        The added variance is epistemic. 0 turns the inflation off, as in the paper.
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
    module : callable, default=None
        Factory of a torch module that replaces the multilayer perceptron, called once per member
        as `module(in_features, out_features)`. Its inputs are `[c, x - c]`, so `in_features` is
        twice the width of the (embedded) features. `hidden_layer_sizes` and `activation` are then
        ignored, and `embedding="auto"` means None.
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
    anchors_ : ndarray of shape (min(n_anchors, n_samples), n_features)
        Training rows used as anchors, in the units of `X`.
    n_components_ : int
        Number of components of a prediction: members times anchors.
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
    y_scaler_ : StandardScaler
        Mean and scale of each output.
    x_scaler_ : StandardScaler
        Mean and scale of each feature. The scale of a constant feature is infinite.
    net_ : skorch.NeuralNet
        Trained net; `net_.module_` is the torch module with all members.
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

    `warm_start` keeps the weights and draws the anchors from the new training rows. The prediction
    for a row does not depend on the other rows in `X`.

    References
    ----------
    .. [1] Thiagarajan et al., "Single Model Uncertainty Estimation via Stochastic Data Centering",
       NeurIPS 2022.
    .. [2] Seitzer et al., "On the Pitfalls of Heteroscedastic Uncertainty Estimation with
       Probabilistic Neural Networks", ICLR 2022.
    .. [3] Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning",
       NeurIPS 2022.

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

    _parameter_constraints: dict = {
        **AnchoredUQ._parameter_constraints,
        **GaussianUQ._parameter_constraints,
        "widening": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        hidden_layer_sizes=(50, 50),
        activation="relu",
        *,
        n_anchors=20,
        n_members=1,
        noise="heteroscedastic",
        nll_beta=0.5,
        calibrate=True,
        widening=1.0,
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
        module=None,
        net_params=None,
        device="cpu",
        random_state=None,
        verbose=False,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.n_anchors = n_anchors
        self.n_members = n_members
        self.noise = noise
        self.nll_beta = nll_beta
        self.calibrate = calibrate
        self.widening = widening
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
        self.module = module
        self.net_params = net_params
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _prepare_module(self, module, data, plan, call):
        super()._prepare_module(module, data, plan, call)
        # Even if `widening` is 0: it may change between calls of `partial_fit`.
        earlier = self._landmarks_ if plan.resume and plan.partial else None
        rng = numpy_rng(self.seed_, Stream.LANDMARKS, call)
        self._landmarks_ = Landmarks.pick(data.x, rng, earlier)
        self._widening_ = self.widening

    def _row_factors(self, x):
        return 1 + self._widening_ * self._landmarks_.excess(x) if self._widening_ else None
