"""The regression study as a value."""

from __future__ import annotations

from benchmarks_uci import datasets
from benchmarks_uci.engine.study import Study
from benchmarks_uci.regression.ablations import ABLATIONS
from benchmarks_uci.regression.methods import METHODS
from benchmarks_uci.regression.metrics import CURVES, METRICS, SECONDS
from benchmarks_uci.regression.networks import PRESETS
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


SENTENCES = {
    "scores": (
        "Mean ± standard error over the splits; (19/20) means 19 splits out of 20. NLL is the "
        "negative log-likelihood of a Gaussian with the predicted mean and standard deviation, "
        "in nats. Lower NLL, RMSE and CRPS are better. The right coverage is 0.9; at equal "
        "coverage narrower intervals are better. RMSE, CRPS and width are in units of the "
        "target. Each fit uses one thread."
    ),
    "ranks": (
        "Average rank: over all sets, 1 is best, ties share their mean rank. Only methods that "
        "finished every split of every set are ranked, and only complete cells can be bold."
    ),
    "random80": (
        "Columns of the paper: its own figures on other 80/20 splits, and its average ranks "
        "among its five methods. Its figures for MC dropout and PBP are from 90/10 splits. Its "
        "naval figures for deep ensemble and BNN have another target, the decay of the turbine, "
        "which is easier."
    ),
    "hl90": (
        "Other columns: figures of the literature for the same 90/10 splits; "
        "`benchmarks_uci/reference` has them and their sources."
    ),
    "published": "best in paper",
    "readme": (
        "Mean NLL in nats over 20 random 80/20 splits; lower is better. Bold: the lowest of each "
        "row, at two decimals. Best in paper: the lowest figure of any method in the paper's "
        "table, measured on other splits."
    ),
}

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
