"""Warnings of the package."""

__all__ = ["UncertaintyWarning"]


class UncertaintyWarning(UserWarning):
    """The predicted uncertainty may be wrong: few rows, no hold-out, near copies, outliers.

    The message names the reason and what to do. Turn it into an error with
    ``warnings.simplefilter("error", UncertaintyWarning)``.
    """
