"""What an anchor is: a row, its nearest training rows, and predictions from random halves of them.

python docs/plots/anchors.py FILE.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import torch

from sk_deltauq import DeltaUQRegressor

ROW = np.array([[0.6, -0.2]])


def fit():
    """Return rows, targets and a fitted model with one network."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(600)
    model = DeltaUQRegressor(anchors="neighbours", n_anchors=10, random_state=0)
    return X, y, model.fit(X, y)


def find_neighbours(model, X):
    """Return the training rows nearest to `ROW`, `(neighbour, feature)`, nearest first."""
    scaled, row = (torch.tensor(model.x_scaler_.transform(rows)).float() for rows in (X, ROW))
    pool = model.net_.module_.pool
    near, _ = pool.find(row, by_tree=True)
    distances = torch.cdist(pool.x[near[0, 0]], scaled)
    return X[distances.argmin(dim=1)]


def plot():
    X, _, model = fit()
    near = find_neighbours(model, X)
    halves = model.net_.module_.subsets.numpy()  # (anchor, neighbour)
    means = model.to_torch()(torch.tensor(ROW)).component_means.ravel().numpy()
    lower, upper = model.predict_interval(ROW, 0.9)[0]

    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.scatter(*X.T, s=6, color="lightgray", label="training rows")
    for half, colour, marker in zip(halves[:2], ("tab:blue", "tab:orange"), "os", strict=True):
        label = "a random half of the neighbours"
        left.scatter(*near[half].T, s=28, color=colour, marker=marker, label=label)
    left.scatter(*ROW.T, s=90, color="black", marker="*", label="new row")
    left.set(xlabel="feature 1", ylabel="feature 2", xlim=(0.3, 0.9), ylim=(-0.5, 0.3))
    left.set_title("two anchors of a new row")
    left.legend(fontsize="small", loc="upper left", framealpha=0.9)

    places = np.arange(len(means))
    colours = ["tab:blue", "tab:orange", *["gray"] * (len(means) - 2)]
    right.axhspan(lower, upper, color="tab:green", alpha=0.15, label="90 % interval")
    right.axhline(means.mean(), color="tab:green", label="predicted mean")
    right.scatter(places, means, color=colours, zorder=3)
    right.set(xlabel="anchor", ylabel="y", xticks=places, xticklabels=places + 1)
    right.set_title("the prediction from each anchor")
    right.legend(fontsize="small", loc="lower right")
    return fig


if __name__ == "__main__":
    plot().savefig(sys.argv[1], dpi=150)
