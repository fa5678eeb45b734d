"""
Would more data help? Epistemic and aleatoric uncertainty
=========================================================

A prediction is uncertain for two reasons. The target is noisy (aleatoric): more rows do not help.
Or there are too few rows to know the function (epistemic): more rows help. This example has a
region of each kind.
"""

# %%
# Two regions
# -----------
# On the left the noise is large, and there are many rows. On the right the noise is small, and
# there are few rows.

import matplotlib.pyplot as plt
import numpy as np

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.plotting import PredictiveIntervalDisplay, UncertaintyPartsDisplay


def draw_rows(n_left, n_right, seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.uniform(-3, 0, n_left), rng.uniform(0, 3, n_right)])
    noise = np.where(x < 0, 0.5, 0.05)
    return x[:, None], np.sin(2 * x) + noise * rng.standard_normal(x.size)


X, y = draw_rows(n_left=300, n_right=12, seed=0)
model = DeltaUQRegressor(random_state=0).fit(X, y)

display = PredictiveIntervalDisplay.from_estimator(model, X, 0, y=y)
display.ax_.plot(display.feature_values, np.sin(2 * display.feature_values), "k--", label="truth")
display.ax_.legend(fontsize="small")
display.ax_.set_title("Much noise on the left, few rows on the right")
plt.show()

# %%
# Which part is larger?
# ---------------------
# ``predict_uncertainty`` returns both parts as standard deviations, in the units of the target.

new = np.linspace(-3, 3, 121)[:, None]
side = np.where(new[:, 0] < 0, "left: much noise", "right: few rows")


def print_means(fitted):
    parts = fitted.predict_uncertainty(new)
    for name in dict.fromkeys(side):
        epistemic, aleatoric = parts.epistemic[side == name], parts.aleatoric[side == name]
        print(f"{name:17} epistemic {epistemic.mean():.2f}, aleatoric {aleatoric.mean():.2f}")


print_means(model)

# %%
# Then we collect 300 more rows on each side, and fit again.

X_more, y_more = draw_rows(n_left=300, n_right=300, seed=1)
larger = DeltaUQRegressor(random_state=0).fit(np.vstack([X, X_more]), np.append(y, y_more))

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for ax, fitted, title in zip(
    axes, [model, larger], ["312 rows", "912 rows: the epistemic part shrinks"], strict=True
):
    UncertaintyPartsDisplay.from_estimator(fitted, new, groups=side, ax=ax)
    ax.set_title(title)
axes[0].set(xlim=(0, 0.8), ylim=(0, 0.8))
plt.show()

print_means(larger)

# %%
# What to conclude
# ----------------
# - Near and above the diagonal, more rows make the prediction clearly better. Far below it, they
#   do not.
# - On the right, the epistemic part is several times as large as on the left, and 300 more rows
#   make it small.
# - On the left, the aleatoric part stays near 0.5, which is the true noise. No number of rows
#   reduces it.
# - With 12 rows, the model cannot know the noise on the right well. Its aleatoric part there is
#   much larger than the true 0.05, and becomes right with more rows. The split into two parts is
#   itself an estimate.
