"""Any fitted regressor of the package as a BoTorch model."""

# ruff: noqa: E402

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._estimators.regressor import BaseRegressor
from sk_deltauq._host import draw_seed
from sk_deltauq._warnings import warn_caller
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.optimize._dependencies import require_botorch

# Before BoTorch itself, so that the error names the extra to install.
require_botorch("BoTorchModel")

from botorch.exceptions.errors import UnsupportedError
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.model import Model
from botorch.posteriors.ensemble import EnsemblePosterior
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal

# Added to the diagonal of a covariance, relative to its largest variance: a covariance of K
# functions has rank K - 1, and rounding must not make it indefinite.
_JITTER = 1e-9

# A spread of the functions with less than this share of the variance cannot be scaled up to it:
# rounding errors would decide how points vary together.
_LEAST_SHARE = 1e-8

# Least standard deviation of the targets. GPyTorch replaces variances below 1e-10, and the
# epistemic standard deviation of a row can be a thousandth of the standard deviation of y.
_LEAST_SPREAD = 1e-2


class Moments(NamedTuple):
    """Predictions in the units of y, float64. `m` is the number of outputs."""

    mean: torch.Tensor  # (*batch, q, m)
    # Deviations of the K functions from the mean. Their sum of squares is the epistemic variance
    # except `rest`.
    deviations: torch.Tensor  # (K, *batch, q, m)
    rest: torch.Tensor  # (*batch, q, m), variance that no function shows
    noise: torch.Tensor  # (*batch, q, m), the aleatoric variance


class BoTorchModel(Model):
    """A fitted regressor as a BoTorch model, for acquisition functions and `optimize_acqf`.

    The posterior describes the noise-free function. It is the joint normal distribution of q
    points with the mean and the covariance of the components: each pair of network and anchor
    (or each member, mask or draw of the weights) is one function, so points at which these
    functions vary together are correlated. The variances equal the squared epistemic standard
    deviations of `predict_uncertainty`.

    Parameters
    ----------
    estimator : regressor
        A fitted regressor of this package. The model keeps a copy: a later `fit` of the estimator
        does not change the model.
    posterior : {"normal", "components"}, default="normal"
        Kind of the posterior. "normal" is the joint normal distribution, for analytic and Monte
        Carlo acquisition functions. "components" is BoTorch's `EnsemblePosterior`: each sample is
        one function, for Thompson sampling with `MaxPosteriorSampling`.
    latent : bool, default=False
        Whether an estimator with `target_transform` predicts the transformed target. Then `best_f`
        and reference points must be transformed as well, by
        `estimator.target_transform_.transform`. Without `target_transform` it changes nothing.

    Raises
    ------
    TypeError
        If the estimator is not a regressor of this package.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `posterior` is invalid, or if the estimator has a `target_transform`, which torch
        cannot undo, and `latent` is False.

    See Also
    --------
    Optimizer : Asks for points and learns from their values.

    Notes
    -----
    Inputs have the units and columns of `X` in `fit` (after a table with categories or missing
    values: of `encoder_.transform(X)`), and outputs the units of `y`. So `best_f` and reference
    points must have the units of `y` as well. BoTorch maximises: to minimise, fit to `-y`. All
    results are float64. Scale `y` to a standard deviation near 1: GPyTorch and BoTorch replace
    variances below about 1e-10 by a constant. Different outputs have covariance 0. Networks have
    kinks, so BoTorch may warn about a line search that failed; it tries other starting points.

    The distance-based inflation of a row scales the deviations of its functions, so that near
    rows stay correlated. A variance that no function shows is independent between rows: of a
    single network, and of probabilistic backpropagation. Then a batch of points may have near
    copies.

    `fantasize` and `condition_on_observations` raise `UnsupportedError`: a network can only be
    fitted again. So knowledge gradients (`qKnowledgeGradient`) and multi-step look-ahead do not
    work.

    Examples
    --------
    >>> import torch
    >>> from botorch.acquisition import LogExpectedImprovement
    >>> from botorch.optim import optimize_acqf
    >>> from sk_deltauq.optimize import BoTorchModel, surrogate
    >>> X = torch.linspace(0, 1, 12)[:, None]
    >>> y = -((X[:, 0] - 0.7) ** 2)
    >>> estimator = surrogate(calibrated=True, random_state=0)
    >>> model = BoTorchModel(estimator.fit(X.numpy(), y.numpy()))
    >>> acquisition = LogExpectedImprovement(model, best_f=y.max())
    >>> box = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    >>> x, _ = optimize_acqf(acquisition, box, q=1, num_restarts=4, raw_samples=64)
    >>> x.shape
    torch.Size([1, 1])
    """

    def __init__(self, estimator: Any, posterior: str = "normal", *, latent: bool = False):
        super().__init__()
        if isinstance(estimator, type):
            raise TypeError(
                f"BoTorchModel needs a fitted regressor, got the class {estimator.__name__}."
            )
        if not isinstance(estimator, BaseRegressor):
            raise TypeError(
                "BoTorchModel needs a fitted regressor of sk_deltauq, such as DeltaUQRegressor, "
                f"got {type(estimator).__name__}. Take the regressor out of a pipeline or a "
                "search with sk_deltauq.unwrap; a classifier has no posterior of a real target."
            )
        if posterior not in ("normal", "components"):
            raise ValueError(f"posterior must be 'normal' or 'components', got {posterior!r}.")
        check_is_fitted(estimator)
        spread = float(np.min(estimator.y_scaler_.scale_))
        if spread < _LEAST_SPREAD:
            warn_caller(
                f"The targets have a standard deviation of {spread:.2g}. BoTorch replaces "
                "variances below about 1e-10 by a constant, so its posterior and acquisition "
                "values can be wrong. Scale y to a standard deviation near 1, at least "
                f"{_LEAST_SPREAD:g}.",
                UncertaintyWarning,
            )
        if not latent and getattr(estimator, "target_transform_", None) is not None:
            raise ValueError(
                f"BoTorchModel cannot undo target_transform={estimator.target_transform!r} in "
                "torch. Use BoTorchModel(..., latent=True), which predicts the transformed "
                "target, and transform best_f by estimator.target_transform_.transform. Or fit "
                "with target_transform=None."
            )
        self.regressor = estimator.to_torch(latent=latent).double()
        self.kind, self._n_outputs = posterior, estimator.n_outputs_

    @property
    def num_outputs(self) -> int:
        """Number of outputs of the estimator."""
        return self._n_outputs

    @property
    def batch_shape(self) -> torch.Size:
        """No batch of models: an empty shape."""
        return torch.Size()

    def forward(self, X: torch.Tensor) -> MultivariateNormal:
        """Predict the joint normal distribution of q points, as models of GPyTorch do.

        Parameters
        ----------
        X : torch.Tensor of shape (..., q, n_features)
            Points.

        Returns
        -------
        distribution : gpytorch.distributions.MultivariateNormal
            The distribution of the noise-free function; with several outputs a
            `MultitaskMultivariateNormal`.

        Raises
        ------
        TypeError
            If `X` is no tensor.
        ValueError
            If `X` has another number of features, no point, or a value that is not finite.
        """
        return _make_normal(self._predict(X, None), observation_noise=False)

    def posterior(
        self,
        X: torch.Tensor,
        output_indices: Sequence[int] | None = None,
        observation_noise: Any = False,
        posterior_transform: Any = None,
    ) -> Posterior:
        """Predict the joint distribution of q points, for each batch.

        Parameters
        ----------
        X : torch.Tensor of shape (..., q, n_features)
            Points.
        output_indices : sequence of int, default=None
            Outputs to predict. None predicts all.
        observation_noise : bool, default=False
            Whether to add the aleatoric variance, for the distribution of new observations.
        posterior_transform : PosteriorTransform, default=None
            Transformation of the posterior, as in BoTorch.

        Returns
        -------
        posterior : GPyTorchPosterior or EnsemblePosterior
            Means and variances of shape (..., q, n_outputs).

        Raises
        ------
        TypeError
            If `X` is no tensor.
        ValueError
            If `X` has another number of features, no point, or a value that is not finite, or if
            `output_indices` are no outputs.
        UnsupportedError
            If `observation_noise` is a tensor, or True with `posterior="components"`.
        """
        if not isinstance(observation_noise, bool):
            raise UnsupportedError(
                "observation_noise must be True or False: the estimator predicts its own noise, "
                f"and takes no {type(observation_noise).__name__}."
            )
        found = self._predict(X, output_indices)
        if self.kind == "components":
            if observation_noise:
                raise UnsupportedError(
                    "observation_noise=True needs BoTorchModel(..., posterior='normal'): the "
                    "components are functions without noise."
                )
            posterior = EnsemblePosterior(_list_functions(found))
        else:
            posterior = GPyTorchPosterior(_make_normal(found, observation_noise))
        return posterior if posterior_transform is None else posterior_transform(posterior)

    def sample_function(self, random_state: Any = None) -> GenericDeterministicModel:
        """Draw one function: a Thompson sample that `optimize_acqf` can maximise.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Seed of the draw.

        Returns
        -------
        model : GenericDeterministicModel
            One of the components, drawn with equal probability. It is a deterministic model of
            BoTorch, whose `PosteriorMean` is the function itself.
        """
        number = draw_seed(random_state)

        def follow(X: torch.Tensor) -> torch.Tensor:
            functions = _list_functions(self._predict(X, None))  # (*batch, K, q, m)
            return functions[..., number % functions.shape[-3], :, :]

        return GenericDeterministicModel(follow, num_outputs=self.num_outputs)

    def fantasize(self, *args: Any, **kwargs: Any):
        """Raise an error: a network cannot be conditioned on points.

        Parameters
        ----------
        *args, **kwargs : object
            Ignored.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            "BoTorchModel cannot be conditioned on points: a network must be fitted again. Use "
            "acquisition functions without fantasies, such as qLogExpectedImprovement with "
            "X_pending, instead of qKnowledgeGradient."
        )

    def condition_on_observations(self, *args: Any, **kwargs: Any):
        """Raise an error, as `fantasize` does.

        Parameters
        ----------
        *args, **kwargs : object
            Ignored.

        Raises
        ------
        UnsupportedError
            Always.
        """
        self.fantasize()

    def subset_output(self, idcs: Any):
        """Raise an error: select outputs in `posterior` instead.

        Parameters
        ----------
        idcs : object
            Ignored.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            "BoTorchModel has no model of some outputs: fit an estimator to these outputs, or "
            "call posterior(X, output_indices=...)."
        )

    def _predict(self, X: torch.Tensor, output_indices: Sequence[int] | None) -> Moments:
        """Predict the moments of points `(*batch, q, feature)`."""
        if not torch.is_tensor(X):
            raise TypeError(f"X must be a torch.Tensor, got {type(X).__name__}.")
        if X.ndim < 2:
            raise ValueError(
                "X must have shape (..., q, n_features), with one row for each of q points, got "
                f"shape {tuple(X.shape)}. For one point, use X[None]."
            )
        if not X.isfinite().all():
            raise ValueError("X must not contain NaN or infinity.")
        if not X.shape[-2]:
            raise ValueError(f"X must have at least one point, got shape {tuple(X.shape)}.")
        found = self.regressor(X.double())
        parts = found.mean, found.aleatoric, found.component_means, found.component_stds
        parts = (*parts, found.functions)
        if self.num_outputs == 1:
            parts = tuple(part.unsqueeze(-1) for part in parts)
        if output_indices is not None:
            wrong = [i for i in output_indices if not 0 <= i < self.num_outputs]
            if wrong:
                raise ValueError(
                    f"output_indices must be from 0 to {self.num_outputs - 1}, got {wrong}."
                )
            parts = tuple(part[..., list(output_indices)] for part in parts)
        mean, aleatoric, means, stds, functions = parts
        noise = aleatoric.square()
        # From the mixture and not from `found.epistemic`, whose root has no derivative at zero.
        total = means.var(dim=0, correction=0) + stds.square().mean(dim=0)
        epistemic = (total - noise).clamp(min=0)  # (*batch, q, m)
        deviations = (functions - mean) / len(functions) ** 0.5
        shown = deviations.square().sum(dim=0)
        # A tiny constant, so that the quotient has a derivative where all variances are zero.
        floor = _LEAST_SHARE * epistemic + torch.finfo(shown.dtype).tiny ** 0.5
        ratio = epistemic / torch.maximum(shown, floor)
        has_spread = ratio > 0
        scale = torch.where(has_spread, ratio, 1.0).sqrt() * has_spread
        deviations = deviations * scale
        rest = (epistemic - deviations.square().sum(dim=0)).clamp(min=0)
        return Moments(mean, deviations, rest, noise)


def _list_functions(found: Moments) -> torch.Tensor:
    """Return the functions `(*batch, K, q, m)`; their variance with divisor K - 1 is epistemic."""
    n_functions = len(found.deviations)
    functions = found.mean + found.deviations * max(n_functions - 1, 1) ** 0.5
    return functions.movedim(0, -3)


def _make_normal(found: Moments, observation_noise: bool) -> MultivariateNormal:
    """Return the joint normal distribution of q points; outputs are independent."""
    root = found.deviations.movedim((0, -1), (-1, 0))  # (m, *batch, q, K)
    covariance = root @ root.mT
    own = found.rest + (found.noise if observation_noise else 0)
    own = own.movedim(-1, 0)  # (m, *batch, q)
    variance = covariance.diagonal(dim1=-2, dim2=-1) + own
    # A single point needs no jitter.
    jitter = _JITTER * variance.amax(dim=-1, keepdim=True) * (variance.shape[-1] > 1)
    # The tiny constant keeps a point without any variance positive definite.
    covariance = covariance + torch.diag_embed(own + jitter + torch.finfo(own.dtype).tiny ** 0.5)
    mean = found.mean.movedim(-1, 0)  # (m, *batch, q)
    if len(mean) == 1:
        return MultivariateNormal(mean[0], covariance[0])
    joint = MultivariateNormal(mean, covariance)
    return MultitaskMultivariateNormal.from_batch_mvn(joint, task_dim=0)
