"""What all runs of a sweep need, had once before they begin: so that it is missed once and not run by run."""

from __future__ import annotations

from collections.abc import Iterable

from orda.data import open_data
from orda.data.registry import find_task
from orda.experiments.jobs import Job
from orda.models import build_model
from orda.training import DataConfig


def prepare(jobs: Iterable[Job], progress: bool | None = None) -> None:
    """Decode the images that the jobs' tasks need, where they are not decoded yet, and fetch the weights."""
    wanted: dict[DataConfig, dict[str, None]] = {}
    weights: dict[tuple[str, str | None], None] = {}
    for job in jobs:
        wanted.setdefault(job.base.data, {})[job.task] = None
        weights[str(job.base.model.name), job.base.model.weights] = None
    for data, names in wanted.items():
        tasks = [find_task(data.name, [name], None, data.root) for name in names]
        domains = {domain: None for task in tasks for domain in (*task.sources, task.target)}
        open_data(
            data.name,
            data.root,
            domains=list(domains),
            size=data.size,
            resize=data.resize,
            cache_dir=data.cache_dir,
            skip_damaged=data.skip_damaged,
            complete=data.complete,
            progress=progress,
        )
    for name, source in weights:
        build_model(name, 2, weights=source)
