"""A 1-D fit with its intervals. `python docs/plots/one_dimension.py FILE.png` saves the figure."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sk_deltauq import DeltaUQRegressor


def true_mean(x):
    return x * np.sin(x) / 2


rng = np.random.default_rng(0)
x = rng.uniform(0, 10, size=400)
x = np.sort(x[(x < 4) | (x > 6)])  # no data between 4 and 6
y = true_mean(x) + (0.1 + 0.1 * x) * rng.standard_normal(x.size)

model = DeltaUQRegressor(n_members=5, random_state=0).fit(x[:, None], y)

grid = np.linspace(-1.5, 11.5, 400)[:, None]
mean = model.predict(grid)
parts = model.predict_uncertainty(grid)

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for std, label, colour in [
    (parts.total, "total", "#c6dbef"),
    (parts.epistemic, "epistemic", "#fd8d3c"),
]:
    lower, upper = mean - 2 * std, mean + 2 * std
    ax.fill_between(grid[:, 0], lower, upper, color=colour, label=f"mean ± 2 {label} std", lw=0)
ax.plot(grid, mean, color="#08519c", label="mean")
ax.plot(grid, true_mean(grid), "--", color="black", lw=1, label="true mean")
ax.plot(x, y, ".", color="black", markersize=3, label="training data")
ax.set(xlabel="x", ylabel="y")
ax.legend(loc="lower left", frameon=False, fontsize="small")

if len(sys.argv) > 1:
    fig.savefig(sys.argv[1], dpi=150)
