"""The tuple that `predict` returns if it returns more than the mean."""

from __future__ import annotations

from sk_deltauq._wrappers import NO_STD_OF_TRANSFORMED_TARGET


class PredictionTuple(tuple):
    """A plain tuple, except for the message about a missing attribute.

    The message says what to do for the two usual causes. A user forgot to unpack the tuple, or
    `TransformedTargetRegressor.predict` passed `return_std` on and asks the result for `ndim`.
    """

    __slots__ = ()

    def __getattr__(self, name):
        message = (
            f"A tuple of predictions has no attribute {name!r}. Unpack the tuple, for example: "
            "mean, std = model.predict(X, return_std=True)."
        )
        if name == "ndim":
            message = f"{message} {NO_STD_OF_TRANSFORMED_TARGET}"
        raise AttributeError(message, name=name, obj=self)
