"""
A classifier meets unknown classes
==================================

A classifier trained on the digits 0 to 6 is shown the digits 7 to 9. It must put each of them into
one of the classes it knows. Does its uncertainty tell that something is wrong?
"""

# %%
# Train on seven digits
# ---------------------
# 200 images are few, so that some known digits are hard too.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sk_deltauq import DeltaUQClassifier
from sk_deltauq.metrics import ood_auroc
from sk_deltauq.plotting import ReliabilityDisplay, RiskCoverageDisplay, UncertaintyPartsDisplay

X, y = load_digits(return_X_y=True)
known = y < 7
X_train, X_test, y_train, y_test = train_test_split(
    X[known], y[known], train_size=200, random_state=0
)
model = DeltaUQClassifier(random_state=0).fit(X_train, y_train)
print(f"accuracy on new images of known digits: {model.score(X_test, y_test):.1%}")

# %%
# Probabilities of known digits
# -----------------------------
# First the images like the training images. On the left, points on the diagonal mean that a
# probability of 80 % is right in 80 % of the cases. The area of a point is its share of the
# images. On the right, the certain images come first.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=axes[0])
axes[0].set_title("Probabilities of known digits")
RiskCoverageDisplay.from_estimator(model, X_test, y_test, ax=axes[1])
axes[1].set_title("Errors if only certain images are classified")
plt.show()

# %%
# Unknown digits
# --------------
# The mutual information says how much the predictions for several anchors
# disagree. The aleatoric part says how ambiguous the image is for each of them.

X_both = np.vstack([X_test, X[~known]])
groups = np.repeat(["known digits", "unknown digits"], [len(X_test), (~known).sum()])
display = UncertaintyPartsDisplay.from_estimator(model, X_both, groups=groups)
display.ax_.set_title("Unknown digits are more uncertain, not all of them")
plt.show()

# %%
# How well does each uncertainty separate both groups? 0.5 is a guess, and 1 is perfect.

found = model.predict_uncertainty(X_both)
found["outlier_score"] = model.outlier_score(X_both)
found["1 - largest probability"] = 1 - model.predict_proba(X_both).max(axis=1)
is_known = groups == "known digits"
for name, values in found.items():
    print(f"{name:24} AUROC {ood_auroc(values[is_known], values[~is_known]):.3f}")

sure = model.predict_proba(X[~known]).max(axis=1) > 0.9
print(f"unknown digits with a probability above 90 %: {sure.mean():.0%}")

# %%
# What to conclude
# ----------------
# - Probabilities of known digits are right on average if the points stay in the grey bars. Most
#   images are certain and right.
# - Unknown digits have a larger uncertainty on average. `outlier_score` is made for this question.
# - `logit_std`, the standard deviation of the logits, fails here. An AUROC below 0.5 means that it
#   is larger for known digits: large logits also vary more. The paper uses it as the score for
#   images of natural scenes. Test a score on outliers of your own before you rely on it.
# - A part of the unknown digits still gets a probability above 90 %. Probabilities are right only
#   for rows like the training rows. A large probability is no proof that a row belongs to a known
#   class.
# - Choose the threshold of an alarm with rows of your own that are known to be outliers.
