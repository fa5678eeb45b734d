"""Shifts of images: `(row, y, x)` with brightness from 0 to 1 in, images of the same shape out.

Random directions are drawn for groups of rows, because one transformation of a whole stack takes
a hundredth of the time of single images.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def noise(images, amount, rng):
    """Add normal noise."""
    return np.clip(images + amount * rng.standard_normal(images.shape), 0, 1)


def impulse(images, amount, rng):
    """Replace pixels by black or white."""
    replaced = rng.random(images.shape) < amount
    return np.where(replaced, rng.integers(2, size=images.shape).astype(float), images)


def contrast(images, amount, rng):
    """Draw the brightness towards the mean of the image."""
    mean = images.mean(axis=(1, 2), keepdims=True)
    return mean + (1 - amount) * (images - mean)


def occlusion(images, amount, rng):
    """Cover a square at a random place, relative to its free range."""
    n, height, width = images.shape
    places = rng.random((n, 2))
    covered = np.ones(images.shape, dtype=bool)
    for axis, length in enumerate((height, width)):
        size = amount * length
        start = places[:, axis, None] * (length - size)
        centres = np.arange(length) + 0.5
        inside = (centres >= start) & (centres < start + size)  # (row, pixel)
        covered &= inside[:, :, None] if axis == 0 else inside[:, None, :]
    return np.where(covered, 0.0, images)


def stripes(images, amount, rng):
    """Make columns of pixels black."""
    n, _, width = images.shape
    return np.where(rng.random((n, 1, width)) < amount, 0.0, images)


def blur(images, amount, rng):
    """Filter with a normal kernel."""
    size = amount * images.shape[1] / 8
    return ndimage.gaussian_filter(images, size, axes=(1, 2)) if size > 0 else images.copy()


def motion(images, amount, rng):
    """Filter with a normal kernel along one axis."""
    size = amount * images.shape[1] / 8
    if size == 0:
        return images.copy()

    def filter_group(group, flags):
        return ndimage.gaussian_filter1d(group, size, axis=2 if flags[0] else 1)

    return _by_group(images, rng, 1, filter_group)


def rotation(images, amount, rng):
    """Rotate to the left or to the right."""

    def rotate(group, flags):
        angle = np.deg2rad(amount if flags[0] else -amount)
        matrix = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        return _transform(group, matrix)

    return _by_group(images, rng, 1, rotate)


def translation(images, amount, rng):
    """Move along both axes, in four directions."""

    def move(group, flags):
        steps = [
            amount * length * (1 if flag else -1)
            for length, flag in zip(group.shape[1:], flags, strict=True)
        ]
        return _transform(group, np.eye(2), steps)

    return _by_group(images, rng, 2, move)


def shear(images, amount, rng):
    """Move rows of pixels along x, in proportion to their height."""

    def slant(group, flags):
        return _transform(group, [[1, 0], [amount if flags[0] else -amount, 1]])

    return _by_group(images, rng, 1, slant)


def zoom(images, amount, rng):
    """Magnify or reduce."""

    def magnify(group, flags):
        factor = 1 + amount if flags[0] else 1 / (1 + amount)
        return _transform(group, np.eye(2) * factor)

    return _by_group(images, rng, 1, magnify)


def brightness(images, amount, rng):
    """Increase the brightness, at most to white."""
    return np.clip(images + amount, 0, 1)


def pixelate(images, amount, rng):
    """Replace blocks of pixels by their mean; blocks may hold fractions of pixels."""
    for axis, length in enumerate(images.shape[1:], 1):
        n_blocks = max(1, round((1 - amount) * length))
        edges = np.linspace(0, length, n_blocks + 1)
        # The share of each pixel that lies in each block: (block, pixel)
        pixels = np.arange(length)
        shares = np.clip(
            np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels), 0, 1
        )
        blend = shares.T @ (shares / shares.sum(axis=1, keepdims=True))  # (pixel, pixel)
        images = np.moveaxis(np.tensordot(blend, images, axes=(1, axis)), 0, axis)
    return images


def _by_group(images, rng, n_flags, change):
    """Apply `change(group, flags)` to groups of images with the same random flags."""
    flags = rng.integers(2, size=(len(images), n_flags)).astype(bool)
    changed = np.empty_like(images)
    for values in np.unique(flags, axis=0):
        chosen = (flags == values).all(axis=1)
        changed[chosen] = change(images[chosen], values)
    return changed


def _transform(images, matrix, steps=(0.0, 0.0)):
    """Map each image with a matrix about its centre; pixels from outside are black."""
    whole = np.eye(3)
    whole[1:, 1:] = matrix
    centre = (np.array(images.shape[1:]) - 1) / 2
    offset = centre - np.asarray(matrix) @ centre + np.asarray(steps)
    return ndimage.affine_transform(
        images,
        whole,
        [0.0, *offset],  # pyright: ignore[reportArgumentType]
        order=1,
    )
