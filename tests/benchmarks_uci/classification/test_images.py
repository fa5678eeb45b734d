import numpy as np
import pytest

from benchmarks_uci.classification import images


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def dots():
    """One bright pixel per image, away from the edges."""
    stack = np.zeros((40, 9, 9))
    stack[:, 3, 5] = 1.0
    return stack


def test_translation_moves_by_whole_pixels(dots, rng):
    moved = images.translation(dots, 2 / 9, rng)
    places = {tuple(np.argwhere(image > 0.99)[0]) for image in moved}
    assert places == {(1, 3), (1, 7), (5, 3), (5, 7)}


def test_rotation_by_a_quarter_turn(dots, rng):
    turned = images.rotation(dots, 90.0, rng)
    for image in turned:
        assert any(np.allclose(image, np.rot90(dots[0], k), atol=1e-9) for k in (1, 3))


def test_zoom_takes_the_centre_or_reduces(dots, rng):
    zoomed = images.zoom(dots, 1.0, rng)
    places = {tuple(np.argwhere(image > 0.99)[0]) for image in zoomed if image.max() > 0.99}
    assert (2, 6) in places  # twice as far from the centre (4, 4)


def test_shear_leaves_the_middle_row(rng):
    stack = rng.random((10, 9, 9))
    slanted = images.shear(stack, 1.0, rng)
    np.testing.assert_allclose(slanted[:, 4], stack[:, 4])
    assert np.abs(slanted[:, 0] - stack[:, 0]).max() > 0.1


def test_filters_keep_the_sum(dots, rng):
    for name in ("blur", "motion"):
        filtered = getattr(images, name)(dots, 0.5, rng)
        np.testing.assert_allclose(filtered.sum(axis=(1, 2)), 1.0, rtol=1e-6)
    along = images.motion(dots, 0.5, rng)
    assert {(image[3, 4] > 0, image[2, 5] > 0) for image in along} == {
        (True, False),
        (False, True),
    }


def test_contrast_keeps_the_mean(rng):
    stack = rng.random((5, 4, 4))
    flat = images.contrast(stack, 0.75, rng)
    np.testing.assert_allclose(flat.mean(axis=(1, 2)), stack.mean(axis=(1, 2)))
    np.testing.assert_allclose(flat.std(axis=(1, 2)), 0.25 * stack.std(axis=(1, 2)))


def test_occlusion_covers_a_square(rng):
    covered = images.occlusion(np.ones((3000, 10, 10)), 0.3, rng) == 0
    assert {*covered.sum(axis=(1, 2))} == {9}
    assert covered.any(axis=0).all()  # everywhere in some image


def test_stripes_are_whole_columns(rng):
    black = images.stripes(np.ones((200, 6, 10)), 0.4, rng) == 0
    np.testing.assert_array_equal(black.any(axis=1), black.all(axis=1))
    assert black.mean() == pytest.approx(0.4, abs=0.04)


def test_impulse_and_brightness(rng):
    stack = np.full((100, 8, 8), 0.25)
    changed = images.impulse(stack, 0.2, rng)
    assert (changed != 0.25).mean() == pytest.approx(0.2, abs=0.02)
    assert {*np.unique(changed)} == {0.0, 0.25, 1.0}
    assert {*np.unique(images.brightness(stack, 0.5, rng))} == {0.75}
    assert images.brightness(stack, 0.9, rng).max() == 1.0


def test_pixelate_averages_blocks(rng):
    stack = rng.random((3, 8, 8))
    blocks = stack.reshape(3, 4, 2, 4, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(
        images.pixelate(stack, 0.5, rng), blocks.repeat(2, axis=1).repeat(2, axis=2)
    )
    # A number of blocks that does not divide the side keeps the mean too.
    np.testing.assert_allclose(images.pixelate(stack, 0.4, rng).mean(), stack.mean())


def test_noise_stays_in_the_range(rng):
    noisy = images.noise(np.full((50, 8, 8), 0.5), 0.1, rng)
    assert noisy.std() == pytest.approx(0.1, rel=0.1)
    assert images.noise(np.zeros((2, 8, 8)), 1.0, rng).min() == 0
