"""
Text, gaps and a grid search
============================

A table has a column of text and missing values. A pipeline adds a feature, a grid search chooses
the network, and the intervals show what a missing value costs. The table has 150 iris flowers of
three species. The target is the width of their petals in millimetres.
"""

# %%
# A table with text and gaps
# --------------------------
# We remove the length of the petal, a useful feature, from every fourth flower. The species is
# text.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_deltauq import DeltaUQRegressor, unwrap
from sk_deltauq.metrics import coverage, crps_scorer

iris = load_iris(as_frame=True)
table = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
table["species"] = iris.target_names[iris.target]
y = 10 * table.pop("petal width")
table.loc[::4, "petal length"] = np.nan
print(table.head(3).to_string())

# %%
# A pipeline and a search
# -----------------------
# The first step works on the data frame and returns one. So the model still sees which column is
# text. It encodes text and gaps itself, with what it has learnt from the training rows of each
# fold. The search compares networks by the CRPS, which rewards accurate means and standard
# deviations that fit the errors.


def add_ratio(table):
    return table.assign(ratio=table["sepal length"] / table["sepal width"])


train, test, y_train, y_test = train_test_split(
    table, y, random_state=0, stratify=table["species"]
)
pipeline = make_pipeline(FunctionTransformer(add_ratio), DeltaUQRegressor(random_state=0))
search = GridSearchCV(
    pipeline,
    {"deltauqregressor__hidden_layer_sizes": [(20,), (50, 50)]},
    scoring=crps_scorer,
    cv=3,
).fit(train, y_train)
print("chosen:", search.best_params_)
print(f"CRPS of the choice: {-search.best_score_:.2f} mm")

# %%
# The names of the inputs say how the columns were encoded:

model, rows = unwrap(search, test)
print(*model.encoder_.get_feature_names_out(), sep="\n")

# %%
# Intervals of new flowers
# ------------------------
# ``unwrap`` gives the fitted model and the rows that it sees, so every method is there.

mean, intervals = model.predict(rows), model.predict_interval(rows)
has_gap = test["petal length"].isna().to_numpy()
for name, chosen in (("complete", ~has_gap), ("with a gap", has_gap)):
    width = np.diff(intervals[chosen]).mean()
    covered = coverage(y_test[chosen], *intervals[chosen].T)
    print(f"{chosen.sum()} flowers {name}: width {width:.1f} mm, covered {covered:.0%}")

# %%
# One picture per group
# ---------------------

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, chosen, title in zip(
    axes, (~has_gap, has_gap), ("Complete rows", "Petal length missing"), strict=True
):
    for species in iris.target_names:
        of = chosen & (test["species"] == species).to_numpy()
        errors = np.abs(intervals[of].T - mean[of])
        ax.errorbar(y_test[of], mean[of], errors, fmt="o", alpha=0.7, capsize=2, label=species)
    ax.plot([0, 26], [0, 26], "k--", lw=1)
    ax.set(title=title, xlabel="true petal width (mm)")
axes[0].set_ylabel("predicted, with 90 % interval")
axes[0].legend()
plt.show()

# %%
# What to conclude
# ----------------
# - Text and gaps need no step of their own. A pipeline may add features, as long as it returns a
#   data frame.
# - The search knows nothing of intervals. It needs a scorer that looks at the whole prediction,
#   such as ``crps_scorer``.
# - A missing value is an input, so the model can learn what it costs. Here it costs little: the
#   other columns say almost as much about the width as the length does.
# - Eight flowers with a gap are too few to tell their coverage from 90 %.
