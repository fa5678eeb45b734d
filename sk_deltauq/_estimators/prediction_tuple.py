"""The tuple that `predict` returns if it returns more than the mean."""

from __future__ import annotations

from sk_deltauq._wrappers import NO_STD_OF_TRANSFORMED_TARGET


class PredictionTuple(tuple):
    """A plain tuple, except for one error message.

    `TransformedTargetRegressor.predict` passes `return_std` on, and then asks the result for
    `ndim`. A tuple has none, and this one says what to do instead.
    """

    __slots__ = ()

    def __getattr__(self, name):
        message = f"A tuple of predictions has no attribute {name!r}."
        if name == "ndim":
            message = f"{message} {NO_STD_OF_TRANSFORMED_TARGET}"
        raise AttributeError(message, name=name, obj=self)
