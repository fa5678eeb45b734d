"""
Uncertainty falls with the number of rows
=========================================

This example draws figure 3 of the paper [Thiagarajan2022]_: Delta-UQ fits the same curve with 5,
10, 50 and 200 rows without noise. The epistemic uncertainty should vanish as rows are added.
"""

# %%
# Four fits
# ---------
# ``noise=None`` is the model of the paper. It predicts epistemic uncertainty only, as for a
# simulator that always returns the same value.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.plotting import PredictiveIntervalDisplay


def simulate(x):
    return np.sin(2 * x) + 0.5 * np.sin(5 * x)


rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, size=200)
grid = np.linspace(-2, 2, 201)
sizes, stds, errors = [5, 10, 50, 200], [], []

fig, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, sharey=True, layout="constrained")
for ax, n in zip(axes.flat, sizes, strict=True):
    model = DeltaUQRegressor(noise=None, random_state=0)
    with warnings.catch_warnings():  # of few rows, and of training that improves for ever
        warnings.simplefilter("ignore")
        model.fit(x[:n, None], simulate(x[:n]))
    display = PredictiveIntervalDisplay.from_estimator(
        *(model, x[:n, None], 0),
        y=simulate(x[:n]),
        grid=grid,
        coverage=0.95,
        ax=ax,
        points_kwargs={"markersize": 10, "alpha": 1},
    )
    ax.get_legend().remove()
    ax.plot(grid, simulate(grid), "k--", label="truth")
    inside = (display.lower <= simulate(grid)) & (simulate(grid) <= display.upper)
    ax.set(
        title=f"{n} rows: the interval holds {inside.mean():.0%} of the truth",
        xlabel="x",
        ylabel="y",
        ylim=(-3, 3),
    )
    stds.append(display.epistemic.mean())
    errors.append(np.sqrt(np.mean((display.mean - simulate(grid)) ** 2)))
axes[0, 0].legend(fontsize="small", loc="lower right")
fig.suptitle("95 % intervals of Delta-UQ, without noise")
plt.show()

# %%
# The mean standard deviation against the true error
# --------------------------------------------------

for n, std, error in zip(sizes, stds, errors, strict=True):
    print(f"{n:3} rows: standard deviation {std:.3f}, true error (RMSE) {error:.3f}")

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.loglog(sizes, stds, "o-", label="mean epistemic standard deviation")
ax.loglog(sizes, errors, "s--", label="true error (RMSE)")
ax.set(xlabel="number of rows", title="Both fall as rows are added")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.legend()
plt.show()

# %%
# What to conclude
# ----------------
# - The uncertainty falls with the number of rows, as in the paper, and so does the error.
# - An interval of 95 % should hold 95 % of the curve. The titles say how much each of them holds.
#   With 5 and 10 rows, it holds far less: the standard deviation is less than half of the error.
# - So few rows cannot show the shape of the curve. The model warns about this
#   (`UncertaintyWarning`, silenced here). Where the curve does something that no row shows, no
#   method knows how wide the interval must be.
# - The model holds rows out to calibrate its standard deviation, also from five rows. The paper
#   trains on all rows (`early_stopping=False`). The interval for five rows then holds only a few
#   percent of this curve.
# - With enough rows, the standard deviation is about as large as the error.
