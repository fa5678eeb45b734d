"""The cases: a situation, the estimator with its parameters, and the seeds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from benchmarks_uci.trust import draws
from benchmarks_uci.trust.names import CLASSIFIER, COMPARISON, OURS, SMALL

SEEDS = tuple(range(1000, 1010))

SIZES = (5, 10, 15, 18, 20, 24, 30, 45, 60)
FEATURES = (1, 5, 10)


@dataclass(frozen=True)
class Case:
    """One situation and one estimator."""

    situation: str
    draw: draws.Draw
    method: str = OURS
    params: Mapping[str, Any] = field(default_factory=dict)  # of the estimator
    cell: str = ""  # which data, if the situation has several
    seeds: tuple[int, ...] = SEEDS
    around_fit: Callable[[], Any] = contextlib.nullcontext  # a context manager


def _list_members():
    for n_members in (1, 5, 18, 20):
        params = {"n_members": n_members}
        draw = partial(draws.draw_line, n=90, d=5)
        yield Case(f"90-rows-{n_members}-members", draw, params=params, seeds=SEEDS[:5])


def _list_small():
    for name, generate in draws.GENERATORS.items():
        for d in FEATURES:
            for n in SIZES:
                draw, cell = partial(generate, n=n, d=d), f"{name}-{d}-{n}"
                for method in (OURS, COMPARISON):
                    yield Case(SMALL, draw, method, cell=cell, seeds=SEEDS[:5])


def _list_few():
    line = draws.draw_line
    yield Case("2-rows", partial(line, n=2, d=5))
    yield Case("3-rows", partial(line, n=3, d=5))
    for method in (OURS, COMPARISON):
        yield Case("18-rows", partial(line, n=18, d=5), method)
    members = {"n_members": 5}
    yield Case("24-rows-5-members", partial(line, n=24, d=5), params=members)
    yield Case("25-rows-5-members", partial(line, n=25, d=5), params=members)
    yield from _list_members()
    yield Case("six-points", draws.draw_six_points, params={"noise": None})


def _list_copies():
    yield Case("repeated", draws.draw_repeated)
    yield Case("weighted", draws.draw_weighted)
    yield Case("nearly-repeated", draws.draw_nearly_repeated)
    yield Case("doubled", draws.draw_doubled)
    yield Case("bootstrap", draws.draw_bootstrap)
    yield Case("ungrouped", draws.draw_ungrouped)
    yield Case("grouped", draws.draw_grouped)
    yield Case("own-validation-rows", draws.draw_own_validation_rows)


def _list_classifiers():
    yield Case("coin-flips", partial(draws.draw_coin_flips, n=18, d=10), CLASSIFIER)
    yield Case("classes", partial(draws.draw_classes, n=100, d=5), CLASSIFIER)
    yield Case("repeated-classes", draws.draw_repeated_classes, CLASSIFIER)
    for name, generate in (("flips", draws.draw_coin_flips), ("classes", draws.draw_classes)):
        for d in (1, 10):
            for n in (4, 6, 10, 20, 40):
                draw, cell = partial(generate, n=n, d=d), f"{name}-{d}-{n}"
                yield Case("small-classes", draw, CLASSIFIER, cell=cell, seeds=SEEDS[:5])


def _list_targets():
    yield Case("log-normal", draws.draw_log_normal, seeds=SEEDS[:5])
    for transform in ("log", "auto"):
        params = {"target_transform": transform}
        name = f"log-normal-{transform}"
        yield Case(name, draws.draw_log_normal, params=params, seeds=SEEDS[:5])
    yield Case("rare-categories", draws.draw_rare_categories, seeds=SEEDS[:5])
    yield Case("rare-levels", draws.draw_rare_levels, params={"n_members": 5}, seeds=SEEDS[:5])
    yield Case("unseen-levels", draws.draw_unseen_levels, seeds=SEEDS[:5])
    yield Case("outlier", draws.draw_outlier, seeds=SEEDS[:5])
    yield Case("counts", draws.draw_counts, seeds=SEEDS[:5])
    yield Case("plain", draws.draw_curve, seeds=SEEDS[:5])
    autocast = partial(torch.autocast, "cpu", dtype=torch.bfloat16)
    yield Case("autocast", draws.draw_curve, seeds=SEEDS[:5], around_fit=autocast)


CASES = (
    *_list_copies(),
    *_list_few(),
    *_list_classifiers(),
    *_list_targets(),
    *_list_small(),
)
SITUATIONS = tuple(dict.fromkeys(case.situation for case in CASES))
