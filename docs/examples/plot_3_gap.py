"""
A gap in the data
=================

Rows are missing in the middle of the domain. A model must notice that it does not know the
function there. This example compares methods in the gap, and shows what no method can know.
"""

# %%
# Data with a gap
# ---------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.baselines import DeepEnsembleRegressor
from sk_deltauq.plotting import PredictiveIntervalDisplay


def true_mean(x):
    return np.sin(3 * x) + x


rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-2, -0.6, 60), rng.uniform(0.6, 2, 60)])
X, y = x[:, None], true_mean(x) + 0.15 * rng.standard_normal(x.size)

# %%
# Four models
# -----------
# ``widening`` inflates the standard deviation with the distance from the training rows. It is on
# by default. Without it, the spread of the predictions over the anchors and networks is all that a
# network knows about the gap.

models = {
    "Delta-UQ": DeltaUQRegressor(random_state=0),
    "Delta-UQ, widening=0": DeltaUQRegressor(widening=0, random_state=0),
    "deep ensemble": DeepEnsembleRegressor(random_state=0),
    "Gaussian process": GaussianProcessRegressor(RBF() + WhiteKernel(0.02), random_state=0),
}
grid = np.linspace(-2.5, 2.5, 201)
inside = np.abs(grid) < 0.6
fig, axes = plt.subplots(2, 2, figsize=(10, 6.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    display = PredictiveIntervalDisplay.from_estimator(
        model.fit(X, y), X, 0, y=y, grid=grid, ax=ax
    )
    ax.plot(grid, true_mean(grid), "k--", label="truth")
    held = (display.lower <= true_mean(grid)) & (true_mean(grid) <= display.upper)
    ax.set(
        title=f"{name}: holds {held[inside].mean():.0%} of the gap",
        xlabel="x",
        ylabel="y",
        ylim=(-4, 4),
    )
    ax.get_legend().remove()
    width = (display.upper - display.lower)[inside].mean()
    print(f"{name:21} truth inside: gap {held[inside].mean():4.0%}, ends", end=" ")
    print(f"{held[np.abs(grid) > 2].mean():4.0%}; mean width in the gap {width:.2f}")
axes[0, 0].legend(fontsize="small", loc="lower right")
fig.suptitle("90 % intervals in a gap and beyond the ends of the data")
plt.show()

# %%
# What to conclude
# ----------------
# - The interval should be wider in the gap than among the rows. Its width there is a guess: no row
#   says how wide it should be.
# - Compare the first two pictures: without the inflation by distance, the network may be too sure.
# - The Gaussian process assumes a smooth function of one length scale, and the truth here is one.
#   It is the better choice for few rows of such a function. It takes long for many rows, and its
#   assumption is often wrong for tables with many features.
# - Beyond the ends of the data, the truth leaves some of the intervals. Do not trust any of these
#   methods far from the training rows. If such predictions matter, hold out a *region* in the
#   test, not random rows.
