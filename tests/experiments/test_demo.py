"""The demo's numbers and words, on results that are made up."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from experiments import fake
from scipy import stats

from orda.experiments.demo import Shown, comparisons, demo_grid, demo_protocol, in_words, shown
from orda.experiments.jobs import Job, expand
from orda.experiments.store import Store
from orda.experiments.tables import Comparison, Results, load_results

ACCURACIES = {"erm": [0.70, 0.72, 0.71], "coral": [0.75, 0.78, 0.74]}
D0, ERRORS = 0.5, {"uniform": 0.04, "stratified": 0.01, "ordered": 1e-6}


def write(job: Job, store: Store) -> None:
    """A result whose every number is known."""
    config = job.config().resolved()
    accuracy = ACCURACIES[config.algorithm.name][job.repeat] + 0.01 * (config.sampler.name == "ordered")
    plans = {"count": 6} if config.algorithm.name == "erm" else {"d0": D0, "mean_squared_error": 0.0}
    if "d0" in plans:
        plans["mean_squared_error"] = ERRORS[str(config.sampler.name)] * (1 + job.repeat)
    seconds = {"plan": 0.5, "load": 0.25, "step": 4.0 + job.repeat, "assess": 7.0}
    if config.sampler.name == "ordered":
        seconds |= {"extract": 1.0, "stratify": 2.0, "order": 3.0}
    result = fake.make_result(config, target_accuracy=accuracy, plans=plans, seconds={**seconds, "total": 100.0})
    folder = store.folder(job.digest)
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(result.to_json())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(tmp_path_factory.mktemp("demo"))
    protocol = demo_protocol(seeds=3)
    jobs = expand(protocol)
    made.save_sweep(protocol, jobs)
    for job in jobs:
        write(job, made)
    return made


@pytest.fixture(scope="module")
def results(store: Store) -> Results:
    return load_results(store)[0]


def line(results: Results, store: Store, name: str) -> Shown:
    return next(found for found in shown(results, store) if found.name == name)


def test_the_accuracy_and_its_interval(results: Results, store: Store) -> None:
    found = line(results, store, "CORAL")
    low, high = stats.t.interval(0.95, 2, loc=0.7566666666666667, scale=stats.sem(ACCURACIES["coral"]))
    assert found.accuracy.mean == pytest.approx(np_mean(ACCURACIES["coral"]))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def np_mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_the_error_of_the_estimates_is_a_share_of_d0(results: Results, store: Store) -> None:
    """Over the seeds the mean squared error is 0.04 (1 + 2 + 3)/3."""
    assert line(results, store, "ERM").off is None
    assert line(results, store, "CORAL").off == pytest.approx(math.sqrt(0.08) / 0.5)
    assert line(results, store, "CORAL + ORDERED (greedy)").off == pytest.approx(math.sqrt(2e-6) / 0.5)


def test_seconds_are_of_planning_and_of_training(results: Results, store: Store) -> None:
    found = [(found.planning, found.training) for found in shown(results, store)]
    assert found == [*[(0.5, 5.25)] * 3, *[(6.5, 5.25)] * 2]


def test_the_table(results: Results, store: Store) -> None:
    grid = demo_grid(shown(results, store), "title")
    texts = [[row.label, *(cell.text for cell in row.cells)] for section in grid.sections for row in section]
    assert texts[0] == ["ERM", "71.0", "68.5 to 73.5", "", "0.5", "5.2"]
    assert texts[1] == ["CORAL", "75.7", "70.5 to 80.8", "57%", "0.5", "5.2"]
    assert texts[4][0] == "+ ORDERED (assignment)"
    assert [len(section) for section in grid.sections] == [1, 4]


def test_who_is_compared_with_whom(results: Results) -> None:
    found = {(item.row, item.against): item for item in comparisons(results)}
    assert list(found) == [
        ("CORAL", "ERM"),
        ("CORAL + VaRDASS", "CORAL"),
        ("CORAL + ORDERED (greedy)", "CORAL"),
        ("CORAL + ORDERED (assignment)", "CORAL"),
        ("CORAL + ORDERED (assignment)", "ERM"),
    ]
    assert in_words(found["CORAL", "ERM"]) == (
        "better",
        "+4.7 points, 95% interval +0.9 to +8.5, ahead in 3 of 3 seeds",
    )


def item(*differences: float) -> Comparison:
    from orda.experiments.tables.statistics import mean_and_error, t_interval

    low, high = t_interval(differences)
    wins, losses = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    values = dict(enumerate(differences))
    mean = mean_and_error(differences)[0]
    return Comparison("A", "a", "b", values, 3, mean, low, high, wins, 0, losses, None)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ((0.02, 0.021, 0.019), "better"),
        ((-0.02, -0.021, -0.019), "worse"),
        ((0.05, -0.01, 0.02), "no difference that 3 seeds can tell from chance"),
        ((0.0, 0.0, 0.0), "no difference that 3 seeds can tell from chance"),
        ((0.5,), "not known"),
        ((), "not known"),
    ],
)
def test_a_verdict_promises_no_more_than_its_interval(differences: tuple[float, ...], verdict: str) -> None:
    assert in_words(item(*differences))[0] == verdict


def test_the_protocol_is_as_the_shipped_one_unless_asked() -> None:
    assert (demo_protocol().repeats, {row.config.steps for row in demo_protocol().rows}) == (5, {300})
    assert (demo_protocol(quick=True).repeats, {row.config.steps for row in demo_protocol(quick=True).rows}) == (
        2,
        {100},
    )
    assert demo_protocol(seeds=7, quick=True).repeats == 7


WARM = """
import sys
from pathlib import Path
from orda.experiments.demo import demo_protocol, warm_up
from orda.experiments.jobs import expand
from orda.training import train
if __name__ == "__main__":
    warm_up()
    kept = set(Path(sys.argv[1]).rglob("*.nbc"))
    for job in expand(demo_protocol(seeds=1)):
        train(job.config().updated({"steps": 2}), Path(sys.argv[2]) / job.digest, progress=False)
    print(len(kept), sorted(path.name for path in set(Path(sys.argv[1]).rglob("*.nbc")) - kept))
"""


@pytest.mark.slow
def test_warming_up_compiles_all_that_the_demo_needs(tmp_path: Path) -> None:
    """Nothing is compiled after it, in runs of every method on a machine that has compiled nothing."""
    kept, environment = tmp_path / "kept", {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    command = [sys.executable, "-c", WARM, str(kept), str(tmp_path / "runs")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    number, _, more = done.stdout.partition(" ")
    assert int(number) > 10
    assert more.strip() == "[]"
