"""What this machine has to do runs with, and how many fit on it at once."""

from __future__ import annotations

import os

from orda.data.build import available_cores
from orda.errors import SettingError


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES takes."""
    import torch

    count = torch.cuda.device_count()
    given = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return tuple(given[:count] or map(str, range(count)))


def jobs_at_once(gpus: int, cpus_per_run: float | None, gpus_per_run: float | None) -> int:
    """How many runs fit: by the shares of a GPU that they ask for (one each); without GPUs, by cores (one each)."""
    if not gpus:
        return max(1, int(available_cores() / (cpus_per_run or 1)))
    share = 1.0 if gpus_per_run is None else gpus_per_run
    if not 0 < share <= 1:
        raise SettingError("a run uses one GPU or a part of one", f"--gpus-per-run {share:g}", "0.25 puts four on one")
    return gpus * int(1 / share + 1e-9)


def threads_each(jobs: int, cpus_per_run: float | None) -> int:
    """Threads for each of ``jobs`` processes: what they ask for, or an equal share of the cores."""
    return max(1, int(available_cores() // jobs if cpus_per_run is None else cpus_per_run))
