"""
Optimise in the space of a decoder
==================================

A decoder turns a few numbers into an image. Which numbers give the image with the thickest
strokes? The Delta-UQ paper [Thiagarajan2022]_ asks this of a generator of digits with 100 inputs.
Here the decoder is small: a principal component analysis of the 8 x 8 digits of scikit-learn, with
six inputs. The search sees values only, no gradients, as if each image were an experiment.
"""

# %%
# The decoder and two scores
# --------------------------
# Each input is a principal component, in standard deviations. *Thickness* is the sum of all
# pixels. It grows towards the edge of the space. The second score has its best value inside the
# space: it is the log probability that a classifier gives to an eight, less a penalty for a
# thickness other than 300.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq.optimize import minimize

images, labels = load_digits(return_X_y=True)
pca = PCA(6, whiten=True, random_state=0).fit(images)
classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(images, labels)
bounds = [(-2, 2)] * 6


def decode(z):
    return np.clip(pca.inverse_transform(np.reshape(z, (1, -1))), 0, 16)


def measure_thickness(z):
    return decode(z).sum()


def score_eight(z):
    image = decode(z)
    log_proba = classifier.predict_log_proba(image)[0, 8]
    return log_proba - ((image.sum() - 300) / 100) ** 2


# %%
# The search
# ----------
# ``minimize`` looks for the smallest value, so both scores change their sign. It begins with ten
# points of a Sobol design, and then makes eight proposals.


def search(score):
    return minimize(lambda z: -score(z), bounds, n_calls=18, n_initial=10, random_state=0)


results = {"thickness": search(measure_thickness), "an eight": search(score_eight)}

fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, (name, result) in zip(axes, results.items(), strict=True):
    best = np.maximum.accumulate(-result.func_vals)
    ax.plot(np.arange(1, 19), best, drawstyle="steps-post", color="#08519c")
    ax.plot(np.arange(1, 19), -result.func_vals, "o", markersize=3, color="#252525")
    ax.axvline(10.5, color="#737373", linestyle=":")
    ax.set(title=f"Best value so far: {name}", xlabel="evaluation", ylabel="score")
plt.show()

# %%
# The images
# ----------
# The best image of the design beside the best image of the search.

fig, axes = plt.subplots(2, 2, figsize=(4.5, 4.5), layout="constrained")
for row, (name, result) in zip(axes, results.items(), strict=True):
    first = result.x_iters[np.argmin(result.func_vals[:10])]
    for ax, z, when in zip(row, [first, result.x], ["best of the design", "found"], strict=True):
        ax.imshow(decode(z).reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(title=f"{name}: {when}", xticks=[], yticks=[])
plt.show()

# %%
# What to conclude
# ----------------
# After the dotted line each point is a proposal. Few of them are enough to improve on the best of
# the ten points of the design, in six dimensions. The decoder is a stand-in for a generator: its
# inputs are few, and nearly linear, so a search is easier here than in the paper.
