"""What a folder of 100,320 runs costs to look at: seconds to expand, to list, to go on, to read for tables.

    python benchmarks/store.py [--quick] [--folder DIR] [--json FILE]

The runs are fake: a result, a configuration, a claim, and the few other files of a real one, for every run of a
protocol of 19 rows, 12 tasks, 10 draws and 44 repeats. Writing them takes minutes; --folder keeps them for another
time. "Cold" drops the kernel's cache of files first, where this process may. The second column is the seconds of
processors, which neighbours on the machine disturb less than those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orda.experiments.engine import survey
from orda.experiments.estimate import pace_of
from orda.experiments.jobs import Job, expand, sweep_digest
from orda.experiments.protocol import Protocol
from orda.experiments.store import Store
from orda.experiments.tables import Results, make_tables, write_tables

RESULT = {
    "format": 1,
    "status": "finished",
    "run": {"data": "digits", "sources": ["rendered"], "target": "handwritten", "horizon": 100},
    "steps": 3000,
    "selected_step": 2700,
    "source_validations": {"rendered": 0.9},
    "plans": {"count": 30, "d0": 0.1, "mean": 0.11, "bias": 0.01, "variance": 1e-4, "mean_squared_error": 2e-4},
    "sizes": {"train": 3200, "validation": {"rendered": 800}, "adapt": 898, "evaluate": 899, "classes": 10},
    "weights_sha256": "a575c818c96077916532dae7936ed69bd0747672965bad3cc21091a8db64fde0",
    "environment": {"device": "cpu", "precision": "float32", "threads": 1, "torch": "2.13.0", "numpy": "2.4.6"},
    "message": None,
}


def fake(job: Job, store: Store) -> None:
    """The folder of a run that is done, without doing it."""
    folder = store.folder(job.digest)
    folder.mkdir(parents=True)
    share = int(job.digest, 16) % 10_000 / 10_000
    accuracies = dict.fromkeys(
        ("source_validation", "target_accuracy", "final_source_validation", "final_target_accuracy"), share
    )
    seconds = {"extract": 1.0, "plan": 2.0, "step": 20.0 + share, "total": 23.0 + share}
    result = {**RESULT, **accuracies, "digest": job.digest, "seconds": seconds}
    (folder / "result.json").write_text(json.dumps(result, indent=2))
    (folder / "config.yaml").write_text("# as long as a real one\n" * 40)
    (folder / "claim-1").write_text('{"host": "node7", "machine": "m", "pid": 1, "began": "2"}\n....\nreleased\n')
    for name in ("log.txt", "lock"):
        (folder / name).touch()


class Times:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        began, busy = time.perf_counter(), time.process_time()
        yield
        row = {"what": what, "seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - busy}
        self.rows.append(row)
        print(f"{what:58}{row['seconds']:8.2f} s {row['cpu_seconds']:8.2f} s", flush=True)


def drop_caches() -> bool:
    """Forget what the kernel remembers of files; only root may."""
    try:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True


def measure(store: Store, protocol: Protocol, times: Times) -> None:
    with times.of("expand the protocol"):
        jobs = expand(protocol)
    if not store.root.exists():
        with times.of("(write the fake runs)"):
            for job in jobs:
                fake(job, store)
    with times.of("keep the sweep (jobs.jsonl)"):
        store.save_sweep(protocol, jobs)
    for kind in ("cold", "warm") if drop_caches() else ("warm",):
        with times.of(f"orda sweep --dry-run after expanding, {kind}"):
            summary = survey(jobs, store)
            pace_of(summary.records)
        assert summary.complete, summary.todo[0]
    with times.of("read the sweep back"):
        _, places = store.load_sweep(protocol.name)
    with times.of("read all records, warm"):
        records = store.records(places)
    assert len(records) == len(jobs)
    with times.of("make all tables of them, as text"):
        results = Results(protocol, tuple(records), sweep_digest(places))
        write_tables(make_tables([results]), "text")
    with times.of("state of 1,000 runs, as a sweep asks before each"):
        for job in jobs[:1000]:
            store.state(job.digest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="4,560 runs: seconds instead of minutes")
    parser.add_argument("--folder", type=Path, help="keep the runs here")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    digits = Protocol.load("digits")
    protocol = replace(
        digits,
        name="scale",
        tasks=(),
        headings={},
        repeats=2 if options.quick else 44,
        search=replace(digits.search, draws=10),
    )
    times = Times()
    with tempfile.TemporaryDirectory() as scratch:
        measure(Store(options.folder or Path(scratch) / "runs"), protocol, times)
    if options.json:
        options.json.write_text(json.dumps(times.rows, indent=1))


if __name__ == "__main__":
    main()
