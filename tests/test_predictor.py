"""Moments and mixtures of known components, and rows in chunks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from sk_deltauq import DeltaUQRegressor, baselines
from sk_deltauq._host import one_thread
from sk_deltauq._predictor import (
    Predictor,
    compute_moments,
    inflate_epistemic,
    spread_components,
    spread_tails,
)
from sk_deltauq._validation import Scaler
from sk_deltauq.distributions import NormalMixture

FEW = {"max_iter": 10, "random_state": 0}
REGRESSORS = {
    "Delta-UQ": DeltaUQRegressor(**FEW, n_members=2),
    "Delta-UQ without noise": DeltaUQRegressor(**FEW, noise=None),
    "deep ensemble": baselines.DeepEnsembleRegressor(**FEW),
    "MC dropout": baselines.MCDropoutRegressor(**FEW),
    "PBP": baselines.PBPRegressor(**FEW),
}


@pytest.fixture(params=REGRESSORS)
def model(request, regression_data):
    return REGRESSORS[request.param].fit(*regression_data)


# The tests below use a module whose outputs are known numbers.


class Lines(nn.Module):
    """Parts that are linear in the first feature, `(component, row, target)`; positive stds."""

    def __init__(self, n_parts=2, n_components=3, n_targets=2):
        super().__init__()
        rng = np.random.default_rng(0)
        shape = (n_parts, n_components, 1, n_targets)
        self.register_buffer("slope", torch.from_numpy(rng.normal(size=shape)).float())
        self.register_buffer("start", torch.from_numpy(rng.normal(size=shape)).float())
        self.shapes = []

    def forward(self, x):
        self.shapes.append(tuple(x.shape))
        parts = self.slope * x[:, :1] + self.start
        return parts[0], *(part.abs() + 0.1 for part in parts[1:])


class Growth(nn.Module):
    """A factor of the standard deviation that grows with the second feature."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rate", torch.tensor(0.5))

    def forward(self, x):
        return 1 + self.rate * x[:, 1].abs()


def make_scaler(mean, scale):
    found = Scaler()
    found.mean_, found.scale_ = np.array(mean, dtype=float), np.array(scale, dtype=float)
    return found


def make_predictor(n_parts=2, n_components=3, **changes):
    predictor = Predictor(
        module=Lines(n_parts, n_components),
        n_components=n_components,
        width=4,
        device="cpu",
        x_scaler=make_scaler([1.0, -2.0], [0.5, 4.0]),
        y_scaler=make_scaler([100.0, -5.0], [10.0, 0.1]),
        ddof=1,
        std_factor=np.array([1.5, 0.75]),
        noise_factor=np.array([0.8, 0.3]),
    )
    return replace(predictor, **changes)


def compute_moments_by_hand(predictor, x):
    """Mean, and epistemic, aleatoric and total variance of each row and target."""
    parts = [part.double().numpy() for part in predictor.module(x)]
    means, stds, n = parts[0], parts[1], predictor.n_components
    epistemic = ((means - means.mean(axis=0)) ** 2).sum(axis=0) / max(n - predictor.ddof, 1)
    if len(parts) == 3:
        epistemic += (parts[2] ** 2).mean(axis=0)
    aleatoric = (stds**2).mean(axis=0)
    epistemic, aleatoric = (v * predictor.std_factor**2 for v in (epistemic, aleatoric))
    aleatoric = aleatoric * predictor.noise_factor**2
    total = epistemic + aleatoric
    if predictor.inflation is not None:
        # Up to the variance of the training targets, which is 1 in the units of the scaled target.
        inflated = total * predictor.inflation(x).double().numpy()[:, None] ** 2
        total = np.where(total < 1, np.minimum(inflated, 1), total)
    unit = predictor.y_scaler.scale_
    mean = means.mean(axis=0) * unit + predictor.y_scaler.mean_
    return mean, *(v * unit**2 for v in (total - aleatoric, aleatoric, total))


@pytest.fixture(params=[2, 3], ids=["certain means", "uncertain means"])
def n_parts(request):
    return request.param


@pytest.fixture(params=[None, Growth()], ids=["not inflated", "inflated"])
def inflation(request):
    return request.param


@pytest.fixture
def scaled():
    return torch.from_numpy(np.random.default_rng(5).normal(size=(7, 2))).float()


@pytest.mark.parametrize(("n_components", "ddof"), [(1, 1), (1, 0), (3, 1), (3, 0), (2, 1)])
def test_moments_follow_the_law_of_total_variance(scaled, n_parts, inflation, n_components, ddof):
    predictor = make_predictor(n_parts, n_components, ddof=ddof, inflation=inflation)
    names = ("total", "mean", "aleatoric", "epistemic")
    parts = predictor.module(scaled)
    total, mean, aleatoric, epistemic = compute_moments(predictor, parts, scaled, names)
    expected = compute_moments_by_hand(predictor, scaled)
    assert mean.dtype == total.dtype == torch.float64
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6)
    np.testing.assert_allclose(epistemic**2, expected[1], rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(aleatoric**2, expected[2], rtol=1e-5)
    np.testing.assert_allclose(total**2, expected[3], rtol=1e-5)
    (mean_alone,) = compute_moments(predictor, parts, scaled, ("mean",))
    assert torch.equal(mean_alone, mean)
    (total_alone,) = compute_moments(predictor, parts, scaled, ("total",))
    assert torch.equal(total_alone, total)


def test_the_mean_needs_no_distance_from_the_training_rows(scaled):
    class Refuse(nn.Module):
        def forward(self, x):
            raise AssertionError("the inflation is not needed")

    predictor = make_predictor(inflation=Refuse())
    (mean,) = compute_moments(predictor, predictor.module(scaled), scaled, ("mean",))
    np.testing.assert_allclose(
        mean, compute_moments_by_hand(make_predictor(), scaled)[0], rtol=1e-6
    )


def test_the_variance_of_components_far_from_zero_is_exact(scaled):
    """float32 has seven digits, so squares of the means would lose the spread."""
    predictor = make_predictor()
    (expected,) = compute_moments(predictor, predictor.module(scaled), scaled, ("epistemic",))
    predictor.module.start[0] += 1000
    (found,) = compute_moments(predictor, predictor.module(scaled), scaled, ("epistemic",))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize(("n_components", "ddof"), [(1, 1), (3, 1), (3, 0), (2, 1)])
def test_the_mixture_has_the_same_moments(scaled, n_parts, inflation, n_components, ddof):
    predictor = make_predictor(n_parts, n_components, ddof=ddof, inflation=inflation)
    parts = predictor.module(scaled)
    means, stds, noise = spread_components(predictor, parts, scaled)
    assert means.dtype == stds.dtype == torch.float64
    unit = torch.from_numpy(predictor.y_scaler.scale_)
    offset = torch.from_numpy(predictor.y_scaler.mean_)
    mean, _, aleatoric, total = compute_moments_by_hand(predictor, scaled)
    heavy = replace(predictor, outlier_scale=np.full(1, 4.0))
    heavy_means, heavy_stds, _ = spread_components(heavy, parts, scaled)
    for one, two in ((heavy_means, means), (heavy_stds.square(), stds.square())):
        torch.testing.assert_close(one.mean(0), two.mean(0))
    torch.testing.assert_close(heavy_means.var(0, correction=0), means.var(0, correction=0))
    variance = (stds**2).mean(0) + ((means - means.mean(0)) ** 2).mean(0)
    np.testing.assert_allclose(means.mean(0) * unit + offset, mean, rtol=1e-6)
    np.testing.assert_allclose(variance * unit**2, total, rtol=1e-5)
    # Each mean keeps its side of the centre, and each component its own noise.
    factor = torch.from_numpy(predictor.std_factor)
    raw = (parts[0] - parts[0].mean(0)).double()
    expected = raw * factor * np.sqrt(n_components / max(n_components - ddof, 1))
    own = (parts[1].double() * factor * torch.from_numpy(predictor.noise_factor)) ** 2
    uncertain = (parts[2].double() * factor) ** 2 if n_parts == 3 else torch.zeros_like(own)
    if inflation is not None:
        share = torch.from_numpy(aleatoric / total)
        rest = torch.from_numpy(total / predictor.y_scaler.scale_**2) - own.mean(0)
        rest = rest - share * (expected.square() + uncertain).mean(0)
        expected, uncertain = expected * share.sqrt(), uncertain * share + rest
    torch.testing.assert_close(means - means.mean(0), expected, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(stds, (own + uncertain).sqrt(), rtol=1e-5, atol=1e-7)
    if n_parts == 3 or inflation is not None:
        np.testing.assert_allclose((noise * unit) ** 2, aleatoric, rtol=1e-5)
    else:
        assert noise is None


@pytest.mark.parametrize(("n_components", "n_copies"), [(1, 20), (7, 3), (20, 1), (45, 1)])
def test_one_component_in_20_has_the_wider_noise(n_components, n_copies):
    """Fewer than 20 components are copied. Each target has its own scale."""
    rng = np.random.default_rng(0)
    means, stds = rng.normal(size=(2, n_components, 3, 2))
    scale = np.array([3.0, 1.0])
    found = spread_tails(torch.tensor(means), torch.tensor(stds**2), torch.tensor(scale))
    np.testing.assert_array_equal(found[0], np.tile(means, (n_copies, 1, 1)))
    narrow = np.tile(stds**2, (n_copies, 1, 1))
    wide = narrow.copy()
    wide[19::20, :, 0] *= 3
    wide *= np.sqrt((narrow**2).mean(axis=0) / (wide**2).mean(axis=0))
    np.testing.assert_allclose(found[1], wide)
    np.testing.assert_allclose(found[1][:, :, 1], narrow[:, :, 1])


def test_point_masses_have_no_noise_to_widen():
    means, stds = torch.ones(3, 4, 2), torch.zeros(3, 4, 2)
    assert not spread_tails(means, stds, torch.full((1,), 3.0))[1].any()


@pytest.mark.parametrize("outlier_scale", [1.0, 3.0])
def test_components_are_copied_only_for_heavy_tails(scaled, outlier_scale):
    predictor = make_predictor(outlier_scale=np.full(2, outlier_scale))
    assert predictor.has_tails == (outlier_scale > 1)
    means, _, _ = spread_components(predictor, predictor.module(scaled), scaled)
    assert len(means) == (21 if outlier_scale > 1 else 3)


def test_a_constant_target_adds_its_std_to_the_epistemic_part(scaled):
    plain, added = make_predictor(), make_predictor(added_std=np.array([0.5, 0.0]))
    assert (plain.adds_std, added.adds_std) == (False, True)
    (before,), (after,) = (
        compute_moments(p, p.module(scaled), scaled, ("epistemic",)) for p in (plain, added)
    )
    torch.testing.assert_close(after[:, 0], (before[:, 0] ** 2 + 5**2).sqrt())
    torch.testing.assert_close(after[:, 1], before[:, 1])
    _, stds, _ = spread_components(plain, plain.module(scaled), scaled)
    _, wider, _ = spread_components(added, added.module(scaled), scaled)
    torch.testing.assert_close(wider[..., 0], torch.hypot(stds[..., 0], torch.tensor(0.5)))
    torch.testing.assert_close(wider[..., 1], stds[..., 1])


@pytest.mark.parametrize("n_parts", [2, 3])
def test_equal_components_have_the_least_std_scaled_and_inflated(scaled, n_parts):
    """Both parts of the variance are multiplied by the factors, in moments and mixture."""
    least, factor = np.array([0.03, 0.0]), np.array([1.5, 0.75])
    predictor = make_predictor(n_parts=n_parts, least_std=least, inflation=Growth())
    parts = [torch.zeros(3, len(scaled), 2) for _ in range(n_parts)]
    (std,) = compute_moments(predictor, parts, scaled, ("epistemic",))
    growth = Growth()(scaled).double().numpy()[:, None]
    expected = np.minimum(growth * least * factor, 1) * [10.0, 0.1]
    np.testing.assert_allclose(std, expected, rtol=1e-6, atol=1e-12)
    means, stds, _ = spread_components(predictor, parts, scaled)
    mixture = NormalMixture(means.numpy(), stds.numpy())
    np.testing.assert_allclose(mixture.std * [10.0, 0.1], expected, rtol=1e-6, atol=1e-12)


def test_the_inflation_stops_at_the_std_of_the_training_targets():
    factor = torch.tensor([1.0, 2.0, 100.0])
    aleatoric = torch.tensor([[0.09, 4.0]]).expand(3, 2).double()
    epistemic = torch.tensor([[0.01, 2.0]]).expand(3, 2).double()
    found = inflate_epistemic(factor, epistemic, aleatoric) + aleatoric
    expected = torch.tensor([[0.1, 6], [0.4, 6], [1, 6]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)


def test_the_density_of_distant_components_has_no_spikes(scaled):
    """Where the noise is small, the density is nearly the normal one with the same moments."""
    predictor = make_predictor(inflation=Growth(), std_factor=np.array([1.0, 1.0]))
    means = torch.linspace(-0.5, 0.5, 5)[:, None, None].expand(5, 7, 2)
    parts = means, torch.full_like(means, 1e-3)
    means, stds, _ = spread_components(predictor, parts, scaled)
    mixture = NormalMixture(means.numpy(), stds.numpy())
    normal = NormalMixture(mixture.mean[None], mixture.std[None])
    for distance in (-3.0, -0.2, 0.0, 1.3):
        y = mixture.mean + distance * mixture.std
        np.testing.assert_allclose(mixture.log_pdf(y), normal.log_pdf(y), atol=0.05)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_the_mixture_has_finite_gradients(noise, spread):
    predictor = make_predictor(inflation=Growth())
    x = torch.ones(1, 2, requires_grad=True)
    means = torch.tensor([-1.0, 1.0])[:, None, None] * spread * x.sum()
    parts = means.expand(2, 1, 2), (noise * x).expand(2, 1, 2)
    means, stds, _ = spread_components(predictor, parts, x)
    (means + stds).square().sum().backward()
    assert torch.isfinite(x.grad).all()
    assert (stds > 0).all() == bool(noise or spread)


def test_defaults_of_optional_fields():
    predictor = Predictor(Lines(), 3, 4, "cpu", make_scaler([0, 0], [1, 1]))
    assert predictor.y_scaler is predictor.inflation is None
    assert predictor.ddof == 1
    for name in ("std_factor", "noise_factor", "outlier_scale"):
        assert getattr(predictor, name).tolist() == [1.0]


@pytest.mark.parametrize("n_rows", [1, 16, 17, 40, 230])
def test_rows_are_mapped_in_chunks(n_rows):
    """16 rows per chunk here; 230 rows are enough for threads."""
    predictor = make_predictor(width=2**20)
    X = np.random.default_rng(2).normal(size=(n_rows, 2))
    inference = []

    def function(x):
        inference.append(torch.is_inference_mode_enabled())
        means, stds = predictor.module(x)
        return means[0], stds.sum((0, 2))

    one, two = predictor.map_rows(X, function)
    whole, rest = divmod(n_rows, 16)
    expected = [(16, 2)] * whole + [(rest, 2)] * bool(rest)
    assert sorted(predictor.module.shapes, reverse=True) == expected
    assert all(inference)
    assert one.dtype == two.dtype == np.float64
    scaled = torch.from_numpy((X - [1.0, -2.0]) / [0.5, 4.0]).float()
    means, stds = predictor.module(scaled)
    np.testing.assert_allclose(one, means[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(two, stds.sum((0, 2)), rtol=1e-5)


def test_one_thread_computes_a_chunk():
    predictor = make_predictor(width=2**20)
    counts = []

    def function(x):
        counts.append(torch.get_num_threads())
        return (x,)

    predictor.map_rows(np.zeros((200, 2)), function)
    assert set(counts) == {1}


@pytest.mark.parametrize(
    ("width", "expected"), [(1, 65_536), (8, 32_768), (100, 2048), (2**20, 16), (2**30, 16)]
)
def test_a_chunk_has_as_many_rows_as_fit_into_a_million_floats(width, expected):
    """A power of two, 16 to 65,536; three components here."""
    assert make_predictor(width=width).count_chunk_rows() == expected
    if 16 < expected < 65_536:
        assert expected <= 2**20 / (3 * width) < 2 * expected


@pytest.mark.parametrize("model", [name for name in REGRESSORS if name != "PBP"], indirect=True)
def test_the_module_is_the_network_followed_by_its_head(model):
    predictor = model._predictor()
    x = torch.from_numpy(np.random.default_rng(3).uniform(-1, 3, size=(12, 3))).float()
    with one_thread():
        raw = predictor.module.network.components(x.T)
        expected = predictor.module.head.components(raw)
        for part, other in zip(predictor.module(x), expected, strict=True):
            assert torch.equal(part, other)
            assert part.shape == (predictor.n_components, 12, 1)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 33])
def test_predictions_agree_across_batch_sizes(model, n_rows):
    """Up to 1e-6 of the value and of the std of y, because the order of float32 sums differs."""
    X = np.random.default_rng(3).uniform(-1, 2, size=(66, 3))
    near = {"rtol": 1e-6, "atol": 1e-6 * model.y_scaler_.scale_[0]}
    mean, parts = model.predict(X), model.predict_uncertainty(X)
    for start in range(0, 66, n_rows):
        rows = slice(start, start + n_rows)
        np.testing.assert_allclose(model.predict(X[rows]), mean[rows], **near)
        for name, value in model.predict_uncertainty(X[rows]).items():
            np.testing.assert_allclose(value, parts[name][rows], **near, err_msg=name)
