"""
A convolutional network on images
=================================

The parameter `module` takes any torch network. Here it is a small convolutional network on images
of digits. Does it find turned digits, occluded digits and photographs strange?
"""

# %%
# A network with anchors
# ----------------------
# The input of the network is `[c, x - c]`: the anchor and the difference from it. For an image
# these are two channels. The last layer has one output per class.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_sample_images
from sklearn.model_selection import train_test_split
from torch import nn

from sk_deltauq import DeltaUQClassifier
from sk_deltauq.metrics import ood_auroc


def make_network(in_features, out_features):
    n_channels = in_features // 64
    return nn.Sequential(
        nn.Unflatten(1, (n_channels, 8, 8)),
        nn.Conv2d(n_channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 16, out_features),
    )


X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=600, test_size=400, random_state=0
)
model = DeltaUQClassifier(module=make_network, n_anchors=10, n_iter_no_change=5, random_state=0)
model.fit(X_train, y_train)
print(f"accuracy on new digits: {model.score(X_test, y_test):.1%}")

# %%
# Strange images
# --------------
# The strange images have the brightness range of the digits.

rng = np.random.default_rng(0)
images = X_test.reshape(-1, 8, 8)
occluded = images.copy()
occluded[:, 2:6, 2:6] = 0
photos = []
for photo in load_sample_images().images:
    grey = photo.mean(axis=2)[: 8 * 40, : 8 * 40].reshape(40, 8, 40, 8).mean(axis=(1, 3))
    photos += [grey[i : i + 8, j : j + 8] * 16 / 255 for i, j in rng.integers(32, size=(100, 2))]
strange = {
    "turned by 90 degrees": np.rot90(images, axes=(1, 2)).reshape(-1, 64),
    "occluded": occluded.reshape(-1, 64),
    "photographs": np.array(photos).reshape(-1, 64),
}

# %%
# Which score finds them?
# -----------------------
# An AUROC of 1 means that each strange image has a higher score than each new digit.

kinds = ["combined", "distance", "entropy", "mutual_information", "logit_std"]
print(f"{'':22}" + "".join(f"{kind:>20}" for kind in kinds))
clean = {kind: model.outlier_score(X_test, kind=kind) for kind in kinds}
for name, rows in strange.items():
    aurocs = [ood_auroc(clean[kind], model.outlier_score(rows, kind=kind)) for kind in kinds]
    print(f"{name:22}" + "".join(f"{auroc:20.3f}" for auroc in aurocs))

# %%
# The strangest images
# --------------------
# In each row, the ten images with the highest score. The title is the predicted class and its
# probability.

fig, axes = plt.subplots(4, 10, figsize=(10, 5), layout="constrained")
for row, (name, rows) in zip(axes, {"new digits": X_test, **strange}.items(), strict=True):
    top = np.argsort(-model.outlier_score(rows))[:10]
    proba = model.predict_proba(rows[top])
    for ax, image, p in zip(row, rows[top], proba, strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{model.classes_[p.argmax()]}: {p.max():.0%}", fontsize=9)
    row[0].set_ylabel(name.replace(" by", "\nby"), fontsize=9)
plt.show()

# %%
# What to conclude
# ----------------
# - The strangest new digits are unusual handwriting, and their probabilities are small too.
# - `outlier_score` finds nearly all turned digits and photographs. Occluded digits are harder: a
#   part of them still looks like another digit.
# - The distance finds them best here, although it compares images pixel by pixel. Each pixel is
#   standardised. So ink counts much where digits have none. On larger images, where objects move,
#   this comparison means less. Then compare the kinds on outliers of your own.
