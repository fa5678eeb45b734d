"""Assumed-density filtering, row by row: the inner loop of PBP, in NumPy.

The formulas are from section 3 of the PBP paper (Hernández-Lobato and Adams, ICML 2015). The paper
divides the sum of a layer with n inputs (including the bias) by sqrt(n). Here the weights contain
this factor, and only their prior in `_pbp_posterior.py` depends on it.

`d_mean` is the derivative of log Z with respect to a mean. `d_var` is *twice* the derivative with
respect to a variance, because all formulas contain this factor. Each row needs about seventy NumPy
calls on small preallocated arrays, and their number determines the training time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
# Arrays, because converting a Python number takes a ufunc as long as fifty products.
_ONE, _MINUS_HALF, _PEAK = map(np.array, (1.0, -0.5, math.exp(-_LOG_ROOT_TWO_PI)))


class Precision:
    """Gamma distribution of a precision (of the noise or of the weights), by shape and rate."""

    def __init__(self, shape: float, rate: float):
        self.shape, self.rate = shape, rate

    @property
    def variance(self) -> float:
        """Variance of the normal density that approximates Student's t."""
        return self.rate / (self.shape - 1)

    def absorb(self, mean: float, var: float, y: float, weight: float):
        """Update the distribution with one observation.

        The observation y is normal with this precision. Its mean is uncertain and normal too, with
        mean `mean` and variance `var`. The weight is a power of the likelihood, in (0, 1].

        Returns the derivatives of log Z with respect to `mean` and `var`, and the log density of y
        before the update, without the weight.

        Up to a constant, a normal density of precision p to the power w is a normal density of
        precision w p times p^((w - 1) / 2). The second factor is conjugate: it changes the shape.
        """
        shape, rate = self.shape + 0.5 * (weight - 1), self.rate
        scaled = rate / weight
        residual = y - mean
        half_square = 0.5 * residual * residual
        predicted = var + self.variance
        log_density = -_LOG_ROOT_TWO_PI - 0.5 * math.log(predicted) - half_square / predicted
        # Z, Z1 and Z2 of the paper: normal densities, for shape, shape + 1 and shape + 2.
        var_0 = var + scaled / (shape - 1)
        var_1 = var + scaled / shape
        var_2 = var + scaled / (shape + 1)
        ratio_1 = math.sqrt(var_0 / var_1) * math.exp(half_square * (1 / var_0 - 1 / var_1))
        ratio_2 = math.sqrt(var_1 / var_2) * math.exp(half_square * (1 / var_1 - 1 / var_2))
        # Both ratios underflow to zero for an extreme y, and the distribution stays unchanged.
        if ratio_1 > 0:
            new_shape_inverse = ratio_2 / ratio_1 * (shape + 1) / shape - 1
            new_rate_inverse = (ratio_2 * (shape + 1) - ratio_1 * shape) / rate
            # The variance needs shape > 1, and the weight of the next y lowers it by up to 0.5.
            if 0 < new_shape_inverse < 1 / 1.5 and 0 < new_rate_inverse < math.inf:
                self.shape, self.rate = 1 / new_shape_inverse, 1 / new_rate_inverse
        d_mean = residual / var_0
        return d_mean, d_mean * d_mean - 1 / var_0, log_density


class LinearLayer:
    """One layer with independent normal weights: `mean` and `var` of shape (input, output).

    The last input is the bias, always one. `var` of the inputs is None if they are known exactly.
    """

    def __init__(self, mean: np.ndarray, var: np.ndarray):
        self.mean, self.var = mean, var
        self._out_mean, self._out_var = _allocate(2, mean.shape[1])
        self._squares, self._gain, self._shrink, self._buffer = _allocate(4, *mean.shape)
        self._flat_shrink = self._shrink.reshape(-1)

    def forward(self, mean, var, square):
        """Compute mean and variance of the outputs; `square` is the mean of the squared inputs."""
        np.dot(mean, self.mean, self._out_mean)
        np.dot(square, self.var, self._out_var)
        if var is not None:
            np.square(self.mean, self._squares)
            self._out_var += np.dot(var, self._squares)
        return self._out_mean, self._out_var

    def backward(self, mean, d_mean, d_var):
        """Compute derivatives for the moments of the inputs, after `forward` of the same row."""
        d_input = np.dot(self.var, d_var)
        np.multiply(d_input, mean, d_input)
        np.add(d_input, np.dot(self.mean, d_mean), d_input)
        np.add(self._squares, self.var, self._squares)
        return d_input, np.dot(self._squares, d_var)

    def update(self, mean, var, square, d_mean, d_var):
        """Update every weight to mean m + v g and variance v - v^2 (g^2 - 2 h).

        Here g and h are the derivatives of log Z with respect to the mean m and variance v of the
        weight. A weight keeps its moments if the new variance would not be positive.
        """
        gain, shrink = self._gain, self._shrink
        # np.dot of a column and a row is twice as fast as broadcasting.
        mean, square = mean[:, None], square[:, None]
        if var is None:
            np.dot(mean, d_mean[None], gain)
            # For known inputs, g^2 - 2 h is an outer product too.
            np.dot(square, (d_mean * d_mean - d_var)[None], shrink)
        else:
            d_mean, d_var, buffer = d_mean[None], d_var[None], self._buffer
            np.dot(var[:, None], d_var, gain)
            np.multiply(gain, self.mean, gain)
            np.dot(mean, d_mean, buffer)
            np.add(gain, buffer, gain)
            np.square(gain, shrink)
            np.dot(square, d_var, buffer)
            np.subtract(shrink, buffer, shrink)
        np.multiply(shrink, self.var, shrink)
        np.multiply(gain, self.var, gain)
        # argmax is several times faster than max, and it detects NaN.
        if not self._flat_shrink[self._flat_shrink.argmax()] < 1:
            refused = ~(shrink < 1)
            gain[refused] = shrink[refused] = 0
        np.add(self.mean, gain, self.mean)
        np.subtract(_ONE, shrink, shrink)
        np.multiply(self.var, shrink, self.var)


class Rectifier:
    """Moments of max(0, z) for a layer of normal z, followed by the bias.

    z has mean m and standard deviation s. With a = m / s, the normal density f, the distribution
    function F, and h(a) = a F(a) + f(a): the mean is s h(a), the variance is
    s^2 (F(a) - h(a) h(-a)), and h(-a) = h(a) - a. No formula divides by F, so a very negative a
    needs no expansion of f / F.
    """

    def __init__(self, n_units: int):
        self.mean, self.square = np.ones(n_units + 1), np.ones(n_units + 1)
        self.var = np.zeros(n_units + 1)
        self._mean, self._var = self.mean[:-1], self.var[:-1]
        self._std, self._ratio, self._cdf, self._pdf = _allocate(4, n_units)
        self._h, self._part, self._buffer = _allocate(3, n_units)

    def forward(self, mean, var):
        """Compute mean, variance and mean square of the units, then the bias."""
        std, ratio, cdf, pdf, h = self._std, self._ratio, self._cdf, self._pdf, self._h
        part = self._part  # variance / s^2
        np.sqrt(var, std)
        np.divide(mean, std, ratio)
        ndtr(ratio, cdf)
        np.square(ratio, pdf)
        np.multiply(pdf, _MINUS_HALF, pdf)
        np.exp(pdf, pdf)
        np.multiply(pdf, _PEAK, pdf)
        np.multiply(ratio, cdf, h)
        np.add(h, pdf, h)
        np.subtract(h, ratio, part)
        np.multiply(part, h, part)
        np.subtract(cdf, part, part)
        np.multiply(std, h, self._mean)
        np.multiply(var, part, self._var)
        np.square(self.mean, self.square)
        np.add(self.square, self.var, self.square)
        return self.mean, self.var, self.square

    def backward(self, d_mean, d_var):
        """Compute derivatives for the mean and variance of z, after `forward` of the same row.

        The derivatives of the rectified mean are F and f / (2 s). The derivatives of the rectified
        variance are 2 s h (1 - F) and F - h f.
        """
        cdf, pdf, buffer, part = self._cdf, self._pdf, self._buffer, self._part
        d_mean, d_var = d_mean[:-1], d_var[:-1]
        np.multiply(self._h, pdf, buffer)
        np.subtract(cdf, buffer, buffer)
        np.multiply(buffer, d_var, buffer)
        np.divide(pdf, self._std, pdf)
        np.multiply(pdf, d_mean, pdf)
        np.add(buffer, pdf, buffer)
        np.multiply(self._mean, d_var, part)
        np.multiply(d_mean, cdf, d_mean)
        np.subtract(_ONE, cdf, cdf)
        np.multiply(part, cdf, part)
        np.add(d_mean, part, d_mean)
        return d_mean, buffer


class Filter:
    """A network and its noise, updated row by row; the arrays are changed in place."""

    def __init__(self, means, variances, noise: Precision):
        self.noise = noise
        self._layers = [LinearLayer(m, v) for m, v in zip(means, variances, strict=True)]
        self._rectifiers = [Rectifier(mean.shape[1]) for mean in means[:-1]]

    def one_pass(self, x, squares, y, weights, order, before_row=lambda: None) -> float:
        """Absorb rows in a given order; return the mean log density of y before each update.

        The last column of `x` contains ones. `squares` is `x * x`. Weights are at most one.
        `before_row` may raise an error to end the pass.
        """
        total = 0.0
        for row, target, weight in zip(
            order.tolist(), y[order].tolist(), weights[order].tolist(), strict=True
        ):
            before_row()
            total += weight * self.absorb(x[row], squares[row], target, weight)
        return total / weights[order].sum()

    def absorb(self, x, square, y: float, weight: float = 1.0) -> float:
        """Update every weight and the noise with one row; return the log density before it."""
        moments = (x, None, square)
        inputs: list[Any] = [moments]
        for layer, rectifier in zip(self._layers, self._rectifiers, strict=False):
            moments = rectifier.forward(*layer.forward(moments[0], moments[1], moments[2]))
            inputs.append(moments)
        last = self._layers[-1]
        mean, var = last.forward(moments[0], moments[1], moments[2])
        d_mean, d_var, log_density = self.noise.absorb(mean.item(), var.item(), y, weight)
        d_mean, d_var = np.array(((d_mean,), (d_var,)))
        for depth in range(len(self._layers) - 1, 0, -1):
            layer, (m, v, m2) = self._layers[depth], inputs[depth]  # m2: mean square
            below = layer.backward(m, d_mean, d_var)
            layer.update(m, v, m2, d_mean, d_var)
            d_mean, d_var = self._rectifiers[depth - 1].backward(*below)
        self._layers[0].update(x, None, square, d_mean, d_var)
        return log_density


def _allocate(n_arrays: int, *shape: int) -> list[np.ndarray]:
    return [np.empty(shape) for _ in range(n_arrays)]
