"""The whole study with two functions, one seed, and tiny networks."""

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks_uci.__main__ import cli
from benchmarks_uci.engine.plan import find_finished, plan
from benchmarks_uci.engine.records import read
from benchmarks_uci.engine.store import Store
from benchmarks_uci.optimisation.methods import METHODS
from benchmarks_uci.optimisation.searches import SobolSearch
from benchmarks_uci.optimisation.study import STUDY
from sk_deltauq.optimize import Optimizer


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("optimisation") / "results"
    command = ["optimisation", "run", "--data", "branin,ackley-4", "--methods"]
    command += ["sobol,gp,vbll,deltauq", "--preset", "tiny", "--splits", "1", "--jobs", "1"]
    done = CliRunner().invoke(cli, [*command, "--results", str(folder)])
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_every_search_finishes(results):
    folder, output = results
    records = read(folder, STUDY)
    assert len(records) == 8
    assert all(record["status"] == "done" for record in records)
    assert all(0 <= record["auc"] < 1 for record in records)
    assert all(record["progress"] == sorted(record["progress"]) for record in records)
    assert "seconds per step" in output


def test_methods_share_starting_points_and_differ_in_proposals(results):
    records = read(results[0], STUDY)
    for data in ("branin", "ackley-4"):
        here = [r for r in records if r["data"] == data]
        assert len({r["split_hash"] for r in here}) == 1
    problem = STUDY.load("branin", None)
    start = problem.X[problem.order[: problem.n_initial]]
    searches = [STUDY.methods[name].make("tiny", 0, 0) for name in ("sobol", "gp", "deltauq")]
    values = [search.search(problem, start)[0].tolist() for search in searches]
    assert all(found[: len(start)] == values[0][: len(start)] for found in values)
    proposed = {tuple(found[len(start) :]) for found in values}
    assert len(proposed) == len(searches)
    assert {len(found) for found in proposed} == {2}


def test_sobol_has_points_for_more_steps_than_the_problem_asks_for():
    problem = STUDY.load("branin", None)
    start = problem.X[problem.order[: problem.n_initial]]
    values, seconds = SobolSearch(n_steps=40, random_state=0).search(problem, start)
    assert len(seconds) == 40
    assert len(np.unique(values)) == len(start) + 40


def test_it_resumes(results):
    folder, _ = results
    problems = {name: STUDY.load(name, None) for name in ("branin", "ackley-4")}
    tasks, left_out = plan(STUDY, "search", "tiny", problems, ["sobol", "deltauq"], 1)
    assert not left_out
    assert len(find_finished(STUDY, tasks, problems, Store(folder, STUDY))) == len(tasks) == 4


def test_the_report_compares_with_the_paper(results, tmp_path):
    command = ["optimisation", "report", str(results[0]), "--compact", str(tmp_path)]
    done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "page")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page" / "report.md").read_text()
    assert "Better than GP on" in page
    assert "paper's Delta-UQ column on" in page
    assert "paper: GP" in page
    assert len(read(tmp_path / "search-tiny.csv", STUDY)) == 8


@pytest.mark.parametrize("name", METHODS)
def test_networks_share_embedding_width_and_noise(name):
    search = STUDY.methods[name].make("default", 5, 0)
    if name in ("sobol", "gp", "vbll"):
        assert search.n_steps is None
        return
    surrogate, reference = search.surrogate, METHODS["deltauq"].make("default", 5, 0).surrogate
    for parameter in ("hidden_layer_sizes", "embedding", "noise", "batch_size"):
        assert getattr(surrogate, parameter) == getattr(reference, parameter)


def test_delta_uq_is_the_default_surrogate_of_the_optimizer():
    search, calibrated = (
        STUDY.methods[name].make("default", 0, 0).surrogate
        for name in ("deltauq", "deltauq-calibrated")
    )
    default = Optimizer([(0, 1)])._surrogates
    assert search.get_params() == default.alone.get_params()
    assert calibrated.get_params() == default.in_batch.get_params()


def test_the_plain_network_trains_as_the_recommended_surrogate():
    plain, anchored = (
        STUDY.methods[name].make("default", 0, 0).surrogate.get_params()
        for name in ("plain", "deltauq")
    )
    names = {"hidden_layer_sizes", "embedding", "batch_size", "learning_rate_init", "noise"}
    names |= {"early_stopping", "max_iter", "n_iter_no_change", "n_members", "target_transform"}
    assert {name: plain[name] for name in names} == {name: anchored[name] for name in names}
