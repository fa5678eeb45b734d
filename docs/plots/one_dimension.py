"""A 1-D fit with its intervals.

    python docs/plots/one_dimension.py FILE.png
    python docs/plots/one_dimension.py --count

The first command saves the figure. The second prints how often the areas hold the true mean, in
12 data sets drawn like the data of the figure.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.plotting import PredictiveIntervalDisplay

GRID = np.linspace(-1.5, 11.5, 521)
COVERAGE, N_STDS = 0.95, 1.96


def true_mean(x):
    return x * np.sin(x) / 2


def fit(seed):
    """Return rows, targets and a fitted model."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, size=400)
    x = np.sort(x[(x < 4) | (x > 6)])  # no data between 4 and 6
    y = true_mean(x) + (0.1 + 0.1 * x) * rng.standard_normal(x.size)
    return x[:, None], y, DeltaUQRegressor(n_members=5, random_state=seed).fit(x[:, None], y)


def find_inside(model):
    """Tell where on the grid the epistemic part, and the interval, hold the true mean."""
    X, truth = GRID[:, None], true_mean(GRID)
    lower, upper = model.predict_interval(X, COVERAGE).T
    inner = np.abs(model.predict(X) - truth) <= N_STDS * model.predict_uncertainty(X).epistemic
    return inner, (lower <= truth) & (truth <= upper)


def plot():
    X, y, model = fit(0)
    fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    PredictiveIntervalDisplay.from_estimator(model, X, 0, y=y, grid=GRID, coverage=COVERAGE, ax=ax)
    ax.plot(GRID, true_mean(GRID), "--", color="black", lw=1, label="true mean")
    ax.set(xlabel="x", ylabel="y")
    ax.legend(loc="lower left", frameon=False, fontsize="small")
    inner, outer = find_inside(model)
    ax.set_title(f"true mean inside: outer area {outer.mean():.0%}, inner area {inner.mean():.0%}")
    return fig


def count(n_sets=12):
    inside = np.array([find_inside(fit(seed)[-1]) for seed in range(n_sets)])  # (set, area, x)
    beyond, gap = (GRID < 0) | (GRID > 10), (GRID > 4) & (GRID < 6)
    regions = {"among the data": ~beyond & ~gap, "in the gap": gap, "beyond the ends": beyond}
    for name, region in regions.items():
        inner, outer = inside[:, 0][:, region], inside[:, 1][:, region]
        everywhere = outer.all(axis=1).sum()
        print(
            f"{name}: the interval holds the true mean everywhere in {everywhere} of {n_sets}, "
            f"the epistemic part holds it for {inner.mean():.0%} of x"
        )


if __name__ == "__main__":
    if "--count" in sys.argv:
        count()
    else:
        figure = plot()
        if len(sys.argv) > 1:
            figure.savefig(sys.argv[1], dpi=150)
