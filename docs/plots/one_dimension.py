"""A 1-D fit with its intervals. `python docs/plots/one_dimension.py FILE.png` saves the figure."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.plotting import PredictiveIntervalDisplay


def true_mean(x):
    return x * np.sin(x) / 2


rng = np.random.default_rng(0)
x = rng.uniform(0, 10, size=400)
x = np.sort(x[(x < 4) | (x > 6)])  # no data between 4 and 6
y = true_mean(x) + (0.1 + 0.1 * x) * rng.standard_normal(x.size)

model = DeltaUQRegressor(n_members=5, random_state=0).fit(x[:, None], y)

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
grid = np.linspace(-1.5, 11.5, 521)
display = PredictiveIntervalDisplay.from_estimator(
    model, x[:, None], 0, y=y, grid=grid, coverage=0.95, ax=ax
)
ax.plot(grid, true_mean(grid), "--", color="black", lw=1, label="true mean")
ax.set(xlabel="x", ylabel="y")
ax.legend(loc="lower left", frameon=False, fontsize="small")

# How often each area holds the true mean: the page says so.
half = 1.96 * display.epistemic
inner = np.abs(display.mean - true_mean(grid)) <= half
outer = (display.lower <= true_mean(grid)) & (true_mean(grid) <= display.upper)
ax.set_title(f"true mean inside: outer area {outer.mean():.0%}, inner area {inner.mean():.0%}")

if len(sys.argv) > 1:
    fig.savefig(sys.argv[1], dpi=150)
