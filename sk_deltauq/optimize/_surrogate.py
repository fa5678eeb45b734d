"""The recommended regressor for sequential optimisation."""

from __future__ import annotations

from typing import Any

from sk_deltauq._deltauq_regressor import DeltaUQRegressor


def surrogate(
    *, noisy: bool = False, calibrated: bool = False, random_state: Any = None
) -> DeltaUQRegressor:
    """Return the recommended unfitted surrogate for sequential optimisation.

    Parameters
    ----------
    noisy : bool, default=False
        Whether the values have noise. The surrogate then estimates its level, and is calibrated.
    calibrated : bool, default=False
        Whether to calibrate the epistemic standard deviation on held-out points. False searches
        better without noise, but the standard deviation is far too small. Use True to read the
        standard deviation, and to evaluate many points at once.
    random_state : int, RandomState instance or None, default=None
        Seed. `Optimizer` sets another one for each fit.

    Returns
    -------
    estimator : DeltaUQRegressor
        An unfitted estimator, whose parameters can be changed with `set_params`.

    See Also
    --------
    Optimizer : Uses it by default, with `target_transform="yeo-johnson"`.

    Notes
    -----
    The settings fit few points and little time per step. All have random Fourier features
    (`embedding="fourier"`) for a smooth function of few points, 2 x 64 units and five anchors.

    - By default, one network with the nearest points as anchors trains on all points for 120
      epochs. The search goes almost to the best predicted value. This closed more of the gap to
      the optimum than calibrated networks, whose search explores more. Five networks
      (`n_members=5`) search as well, and their standard deviation is closer to the errors.
    - With `calibrated`, four networks first hold out half of the points each (a third from 60
      points on, a quarter from 80), so that errors on many unseen points calibrate the epistemic
      standard deviation. They train for up to 60
      epochs, and again as many on all points. The distance from the points inflates the standard
      deviation with three times its usual strength (`widening=3`).

    `python -m benchmarks_uci optimisation` measures both.

    Examples
    --------
    >>> from sk_deltauq.optimize import surrogate
    >>> surrogate().n_members, surrogate(calibrated=True).n_members
    (1, 4)
    """
    shared: dict[str, Any] = {
        "hidden_layer_sizes": (64, 64),
        "n_anchors": 5,
        "noise": "homoscedastic" if noisy else None,
        "embedding": "fourier",
        "batch_size": 128,
        "learning_rate_init": 0.02,
        "random_state": random_state,
    }
    if not (noisy or calibrated):
        return DeltaUQRegressor(
            **shared,
            anchors="neighbours",
            widening=0.0,
            early_stopping=False,
            max_iter=120,
            n_iter_no_change=120,
        )
    return DeltaUQRegressor(
        **shared,
        n_members=4,
        widening=3.0,
        max_iter=60,
        n_iter_no_change=20,
        validation_fraction=0.5,
    )
