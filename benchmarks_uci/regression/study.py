"""The regression study as a value."""

from __future__ import annotations

import tomllib
from pathlib import Path

from benchmarks_uci import datasets
from benchmarks_uci.engine.study import Study
from benchmarks_uci.regression.methods import ABLATIONS, METHODS, PRESETS
from benchmarks_uci.regression.metrics import CURVES, METRICS, SECONDS
from benchmarks_uci.regression.protocols import PROTOCOLS
from benchmarks_uci.regression.published import find_beside


def _load(name, sources):
    return datasets.load(name, sources)  # looked up on each call, so that tests can replace it


def _score(task, model, split, dataset):
    from benchmarks_uci.regression.scores import fit_and_score  # imports torch

    return fit_and_score(model, STUDY.method(task.method).requires, split, dataset)


def _write_sections(run, protocol):
    from benchmarks_uci.regression.report import write_sections  # imports pandas

    return write_sections(run, protocol)


SENTENCES = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))

STUDY = Study(
    module=__name__,
    data=tuple(datasets.NAMES),
    load=_load,
    methods=METHODS,
    variants=ABLATIONS,
    protocols=PROTOCOLS,
    presets=PRESETS,
    metrics=METRICS,
    curves=CURVES,
    score=_score,
    references=("deltauq-5", "deltauq"),
    costs=SECONDS,
    overview=("nll", "rmse", "crps", "coverage", "width", "fit_seconds"),
    defaults={
        "data": "boston,wine",  # with two splits, about a minute on two cores
        "methods": "marginal,deltauq,deltauq-5,mcdropout,deepensemble,bnn",
        "protocol": "random80",
    },
    published=find_beside,
    sections=_write_sections,
    sentences=SENTENCES,
    readme={
        "deltauq-5": "Delta-UQ, 5 members",
        "deltauq": "Delta-UQ",
        "deepensemble": "deep ensemble",
        "mcdropout": "MC dropout",
        "bnn": "BNN",
    },
)
