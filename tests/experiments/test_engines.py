"""The engines: the same runs in this process, in processes beside it and on Ray, and what happens when these die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from experiments import fake
from experiments.test_claims import until

from orda.experiments.engine import Ended, Engine, Inline, LocalProcesses, Summary
from orda.experiments.jobs import Job
from orda.experiments.store import State, Store
from orda.experiments.store.claims import claim_path, holder_of

TESTS = Path(__file__).parent.parent


def steps_of(store: Store, job: Job) -> list[int]:
    path = store.folder(job.digest) / "steps.txt"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def begun(store: Store, job: Job) -> int:
    path = store.folder(job.digest) / "begun.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def engine(store: Store) -> Iterator[Engine]:
    with LocalProcesses(store, fake.train, jobs=2, threads=1) as made:
        yield made


def test_processes_do_what_this_process_does(store: Store, jobs: list[Job], engine: Engine, tmp_path: Path) -> None:
    """The same folders with the same results; the run of a worker that was killed is tried again."""
    fake.behave(store.root, coral="die once")
    chosen = [jobs[0], jobs[2]]
    assert fake.sweep(chosen, store, engine).complete
    assert [begun(store, job) for job in chosen] == [1, 2]
    same_as_inline(store, chosen, tmp_path)


@pytest.mark.slow
def test_processes_with_all_kinds_of_runs(store: Store, jobs: list[Job], engine: Engine, tmp_path: Path) -> None:
    fake.behave(store.root, erm="fail", coral="die once")
    all_kinds(fake.sweep(jobs, store, engine), store, jobs, tmp_path)


def all_kinds(summary: Summary, store: Store, jobs: list[Job], tmp_path: Path) -> None:
    """Failures are recorded, and a worker was killed once for each of the others."""
    assert sorted(job.row for job, _ in summary.failed) == ["ERM"] * 4
    assert len(summary.done) == 8
    assert {begun(store, job) for job, _ in summary.done} == {2}
    same_as_inline(store, jobs, tmp_path, erm="fail")


def same_as_inline(store: Store, jobs: list[Job], tmp_path: Path, **behaviour: str) -> None:
    here = Store(tmp_path / "here")
    fake.behave(here.root, **behaviour)
    fake.sweep(jobs, here, Inline(here, fake.train))
    assert [store.read(job.digest) for job in jobs] == [here.read(job.digest) for job in jobs]


@pytest.mark.slow
def test_a_run_whose_process_always_dies_fails_with_the_signal(store: Store, jobs: list[Job], engine: Engine) -> None:
    fake.behave(store.root, erm="die")
    summary = fake.sweep(jobs[:1], store, engine, retries=1)
    (message,) = [message for _, message in summary.failed]
    assert message.startswith("the process was killed by SIGKILL (out of memory?); its last words: ")
    assert message.endswith("log.txt, 2 times")
    assert store.state(jobs[0].digest) is State.FAILED


def test_stopping_leaves_checkpoints_and_nothing_is_repeated(store: Store, jobs: list[Job], engine: Engine) -> None:
    fake.behave(store.root, erm=0.05)

    job = jobs[0]

    def interrupt(summary: Summary, ended: Ended | None) -> None:
        if len(steps_of(store, job)) > 2 and not summary.stopped:
            raise KeyboardInterrupt

    summary = fake.sweep([job], store, engine, tell=interrupt, poll=0.02)
    assert summary.stopped == "interrupted"
    assert store.state(job.digest) is State.QUEUED
    fake.behave(store.root)
    assert fake.sweep([job], store, Inline(store, fake.train)).complete
    assert steps_of(store, job) == list(range(fake.STEPS))


def test_workers_are_dealt_out_over_gpus(store: Store) -> None:
    engine = LocalProcesses(store, fake.train, jobs=4, gpus=("0", "GPU-uuid"))
    dealt = []
    for _ in range(4):
        dealt.append(engine._least_used_gpu())
        engine._workers.append(_Idle(dealt[-1]))  # type: ignore[arg-type]
    assert dealt == ["0", "GPU-uuid", "0", "GPU-uuid"]


class _Idle:
    def __init__(self, gpu: str | None) -> None:
        self.gpu = gpu


SWEEP = """
import sys, pickle
sys.path[:0] = {path!r}
from orda.experiments.engine import LocalProcesses
from orda.experiments.store import Store
from experiments import fake
if __name__ == "__main__":
    jobs = pickle.load(open({jobs!r}, "rb"))
    store = Store({root!r}, beat=0.05)
    with LocalProcesses(store, fake.train, jobs=2, threads=1) as engine:
        summary = fake.sweep(jobs, store, engine, poll=0.05)
    print(len(summary.done), len(summary.failed), summary.complete)
"""


@pytest.fixture
def sweep_script(tmp_path: Path, store: Store, jobs: list[Job]) -> Path:
    """A program that does all jobs in two processes."""
    import pickle

    kept = tmp_path / "jobs.pickle"
    kept.write_bytes(pickle.dumps(jobs))
    script = tmp_path / "sweep.py"
    script.write_text(SWEEP.format(path=[str(TESTS)], jobs=str(kept), root=str(store.root)))
    return script


def start(script: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)


def running(store: Store, jobs: list[Job]) -> list[Job]:
    return [job for job in jobs if store.state(job.digest) is State.RUNNING]


@pytest.mark.slow
@pytest.mark.parametrize("kill", ["the sweep", "everything"])
def test_a_killed_sweep_goes_on_where_it_was(store: Store, jobs: list[Job], sweep_script: Path, kill: str) -> None:
    fake.behave(store.root, erm=0.05, coral=0.05)
    first = start(sweep_script)
    until(lambda: any(store.state(job.digest) is State.DONE for job in jobs), 60)
    until(lambda: any(2 < len(steps_of(store, job)) < 18 for job in running(store, jobs)), 60)
    holders = [holder_of(claim_path(store.folder(job.digest), 1).read_bytes()) for job in running(store, jobs)]
    workers = [holder.pid for holder in holders if holder is not None]
    assert workers
    first.kill()
    if kill == "everything":
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
    first.communicate()
    finished = {job.digest for job in jobs if store.state(job.digest) is State.DONE}
    second = start(sweep_script)
    out, _ = second.communicate(timeout=200)
    assert second.returncode == 0
    assert out.split()[1:] == ["0", "True"]
    assert all(store.state(job.digest) is State.DONE for job in jobs)
    for job in jobs:
        steps = steps_of(store, job)
        assert sorted(set(steps)) == list(range(fake.STEPS))
        assert len(steps) - fake.STEPS <= 5  # at most those since the last checkpoint
        if job.digest in finished:
            assert steps == list(range(fake.STEPS))


@pytest.mark.slow
def test_two_sweeps_on_one_folder_at_once(store: Store, jobs: list[Job], sweep_script: Path) -> None:
    fake.behave(store.root, erm=0.02, coral=0.02)
    both = [start(sweep_script), start(sweep_script)]
    for sweep in both:
        out, _ = sweep.communicate(timeout=200)
        assert out.split()[1:] == ["0", "True"]  # each sees all of them done
    assert {begun(store, job) for job in jobs} == {1}
    assert {tuple(steps_of(store, job)) for job in jobs} == {tuple(range(fake.STEPS))}


# ---- Ray ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray() -> Iterator[object]:
    ray = pytest.importorskip("ray", reason="Ray is an extra: pip install 'orda[ray]'")
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    yield ray
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_ray_does_what_this_process_does(ray: object, store: Store, jobs: list[Job], tmp_path: Path) -> None:
    from orda.experiments.engine.cluster import RayTasks

    fake.behave(store.root, erm="fail", coral="die once")
    with RayTasks(store, fake.train, cpus=0.5) as engine:
        assert engine.slots >= 4
        summary = fake.sweep(jobs, store, engine)
    all_kinds(summary, store, jobs, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_ray_stops_in_order(ray: object, store: Store, jobs: list[Job]) -> None:
    from orda.experiments.engine.cluster import RayTasks

    fake.behave(store.root, erm=0.05)
    job = jobs[0]

    def interrupt(summary: Summary, ended: Ended | None) -> None:
        if len(steps_of(store, job)) > 2 and not summary.stopped:
            raise KeyboardInterrupt

    with RayTasks(store, fake.train) as engine:
        summary = fake.sweep([job], store, engine, tell=interrupt, poll=0.05)
    assert summary.stopped == "interrupted"
    time.sleep(0.2)
    assert store.state(job.digest) is State.QUEUED
    fake.behave(store.root)
    assert fake.sweep([job], store, Inline(store, fake.train)).complete
    assert steps_of(store, job) == list(range(fake.STEPS))


@pytest.mark.parametrize(("cpus", "gpus", "wanted"), [(1, 0, 8), (2, 0, 4), (1, 0.25, 8), (1, 1, 2), (0, 0.5, 4)])
def test_what_fits_on_a_cluster(cpus: float, gpus: float, wanted: int) -> None:
    pytest.importorskip("ray")
    from orda.experiments.engine.cluster import capacity

    assert capacity({"CPU": 8.0, "GPU": 2.0}, cpus, gpus) == wanted


NODES = [{"CPU": 2.0}, {"CPU": 16.0, "GPU": 1.0}]


def test_a_request_that_no_node_meets_is_refused_or_waited_for() -> None:
    from orda.errors import OrdaWarning, SettingError
    from orda.experiments.engine.cluster import check_request

    check_request(NODES, 16, 0.5, may_grow=False)
    with pytest.raises(SettingError, match="8 CPUs and 2 GPUs asked for of nodes with 2 CPUs and 0 GPUs or 16 CPUs"):
        check_request(NODES, 8, 2, may_grow=False)
    with pytest.warns(OrdaWarning, match="no node of the cluster can take a run yet"):
        check_request(NODES, 8, 2, may_grow=True)
