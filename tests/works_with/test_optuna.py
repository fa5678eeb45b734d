"""Optuna: a search that stops unpromising fits with `partial_fit`."""

import pytest

from tests.works_with._models import make_regressor

optuna = pytest.importorskip("optuna")


@pytest.fixture(autouse=True)
def hide_messages():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def test_pruning(regression):
    d = regression
    histories = {}

    def objective(trial):
        step_size = trial.suggest_float("learning_rate_init", 1e-4, 1e-1, log=True)
        model = make_regressor(learning_rate_init=step_size, early_stopping=False)
        histories[trial.number] = history = []
        for epoch in range(6):
            model.partial_fit(d.X_fit, d.y_fit)
            history.append(model.predict_dist(d.X_cal).crps(d.y_cal).mean())
            trial.report(history[-1], epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return history[-1]

    study = optuna.create_study(
        sampler=optuna.samplers.RandomSampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
    )
    study.optimize(objective, n_trials=8)
    pruned = [t.number for t in study.trials if t.state == optuna.trial.TrialState.PRUNED]
    assert 0 < len(pruned) < 6
    assert all(len(histories[number]) < 6 for number in pruned)
    # The same fit without Optuna
    step_size = study.best_params["learning_rate_init"]
    model = make_regressor(learning_rate_init=step_size, early_stopping=False)
    for _ in range(6):
        model.partial_fit(d.X_fit, d.y_fit)
    assert study.best_value == pytest.approx(model.predict_dist(d.X_cal).crps(d.y_cal).mean())
