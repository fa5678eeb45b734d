"""
Intervals for a real table
==========================

A pipeline fills missing values, the model predicts intervals, and four pictures check whether to
believe them. The table has 442 patients with diabetes. The target is the progress of the disease
after one year, a number between 25 and 346.
"""

# %%
# Fit a pipeline
# --------------
# We remove every tenth value of the blood pressure, as real tables have gaps. The rows for the
# test are put aside before anything else.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from sk_deltauq import DeltaUQRegressor
from sk_deltauq.metrics import coverage
from sk_deltauq.plotting import (
    PredictiveIntervalDisplay,
    QuantileCalibrationDisplay,
    SortedIntervalsDisplay,
    StdErrorDisplay,
)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X.loc[::10, "bp"] = np.nan
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
model = make_pipeline(SimpleImputer(add_indicator=True), DeltaUQRegressor(random_state=0))
model.fit(X_train, y_train)

# %%
# Predict intervals
# -----------------
# A pipeline passes the keywords of ``predict`` on to the model. ``coverage=0.9`` asks for
# intervals that hold nine of ten new patients.

mean, interval = model.predict(X_test, coverage=0.9)
for row in range(3):
    low, high = interval[row]
    print(
        f"predicted {mean[row]:.0f}, interval {low:.0f} to {high:.0f}, true {y_test.iloc[row]:.0f}"
    )

# %%
# Do they hold nine of ten? Chance alone moves the fraction, so compare it with the range that a
# perfect model reaches in 95 of 100 test sets of this size.

covered = coverage(y_test, *interval.T)
low, high = binom.interval(0.95, len(y_test), 0.9)
print(f"covered: {covered:.1%} of {len(y_test)} patients")
print(f"chance allows {low / len(y_test):.1%} to {high / len(y_test):.1%}")

# %%
# How does the prediction depend on a feature?
# --------------------------------------------
# All other features are fixed at their median. The outer area is the interval for a new patient.
# The inner area is the epistemic part, which more patients would narrow. It grows where there are
# few patients.

PredictiveIntervalDisplay.from_estimator(model, X_train, "bmi", y=y_train)
plt.title("Disease progress along the body mass index")
plt.show()

# %%
# The points spread more than the interval is wide, because their other features vary. To judge the
# interval of each patient, use the patient's own features, as below.
#
# Are the intervals right?
# ------------------------

fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
SortedIntervalsDisplay.from_estimator(model, X_test, y_test, ax=axes[0])
axes[0].set_title("Intervals, sorted by width")
QuantileCalibrationDisplay.from_estimator(model, X_test, y_test, name="model", ax=axes[1])
axes[1].set_title("All quantiles")
StdErrorDisplay.from_estimator(model, X_test, y_test, n_bins=5, name="model", ax=axes[2])
axes[2].set_title("Error against predicted error")
plt.show()

# %%
# What to conclude
# ----------------
# - **Left:** crosses should be one tenth of the points, and not only at one side. Here most
#   of them are on the left: the model is a little too sure where it is most sure.
# - **Middle:** the curve should stay in the shaded region. It is where a perfect model stays at
#   each level in 95 of 100 test sets. The larger the test set, the narrower the region. A curve
#   above the diagonal means that predictions are too large, as here for the lower quantiles.
# - **Right:** the curve should rise along the diagonal. Then the model knows which patients are
#   hard to predict.
# - The intervals are wide: more than half the range of the target. The features say little about
#   the disease. The inner area of the first picture is narrow for common values, so more patients
#   of the same kind would hardly help. More informative features would.
