"""Let the examples of the pages run on other processors, which round differently."""

import re

import numpy as np
import pytest

NUMBER = r"-?\d+\.?\d*(?:e[+-]?\d+)?"


def has_close_numbers(want, got, rtol=0.05, atol=0.015):
    """Compare words exactly, and numbers with a tolerance. Spaces may differ."""
    # A number may begin or end with a space, so compare the text between the numbers.
    same_text = ["".join(re.sub(NUMBER, "#", text).split()) for text in (want, got)]
    numbers = [np.array(re.findall(NUMBER, text), dtype=float) for text in (want, got)]
    return (
        same_text[0] == same_text[1]
        and numbers[0].shape == numbers[1].shape
        and np.allclose(*numbers, rtol=rtol, atol=atol)
    )


class CloseNumbers:
    """A checker of doctests that also accepts an output whose numbers are close."""

    def __init__(self, checker):
        self._checker = checker

    def check_output(self, want, got, optionflags):
        return self._checker.check_output(want, got, optionflags) or has_close_numbers(want, got)

    def output_difference(self, example, got, optionflags):
        return self._checker.output_difference(example, got, optionflags)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Replace the checker of the pages' examples."""
    runner = getattr(item, "runner", None)  # only doctests have one
    if runner is not None and not isinstance(runner._checker, CloseNumbers):
        runner._checker = CloseNumbers(runner._checker)
