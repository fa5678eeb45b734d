"""Data and small models for tests on the real packages, and the check that no test is skipped.

A package that is not installed skips its tests. With the environment variable WORKS_WITH=required,
as in `make works-with`, a skipped test fails the run instead.
"""

import os

import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from sk_deltauq import DeltaUQClassifier
from tests.works_with._models import make_regressor

_skipped = []


@pytest.fixture(scope="session")
def regression():
    """Diabetes rows to fit, to calibrate and to test; the target has 25 to 346 units."""
    X, y = load_diabetes(return_X_y=True)
    X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, random_state=0)
    X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
    return Bunch(X_fit=X_fit, y_fit=y_fit, X_cal=X_cal, y_cal=y_cal, X_test=X_test, y_test=y_test)


@pytest.fixture
def model(regression):
    """A regressor that is fitted again for each test, because some packages change it."""
    return make_regressor().fit(regression.X_fit, regression.y_fit)


@pytest.fixture(scope="session")
def classification():
    """Wine rows to fit and to calibrate, and a fitted classifier."""
    X, y = load_wine(return_X_y=True)
    X_fit, X_cal, y_fit, y_cal = train_test_split(X, y, test_size=0.5, random_state=0)
    model = DeltaUQClassifier(max_iter=15, random_state=0).fit(X_fit, y_fit)
    return Bunch(X_fit=X_fit, y_fit=y_fit, X_cal=X_cal, y_cal=y_cal, model=model)


# Hooks see all tests of a run. Only skips in this folder count.


def _note_skip(report):
    # pytest reports an expected failure (xfail) as skipped too, but its test has run.
    if report.skipped and "works_with" in report.nodeid and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        _skipped.append(f"{report.nodeid}: {reason}")


def pytest_collectreport(report):
    _note_skip(report)


def pytest_runtest_logreport(report):
    _note_skip(report)


def pytest_sessionfinish(session):
    if _skipped and os.environ.get("WORKS_WITH") == "required":
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if _skipped and os.environ.get("WORKS_WITH") == "required":
        terminalreporter.section("FAILED: skipped tests in tests/works_with", red=True)
        for line in _skipped:
            terminalreporter.line(line)
