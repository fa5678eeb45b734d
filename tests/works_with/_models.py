"""A small model for the tests on other packages."""

from sk_deltauq import DeltaUQRegressor


def make_regressor(**params):
    return DeltaUQRegressor(**{"max_iter": 15, "random_state": 0, **params})
