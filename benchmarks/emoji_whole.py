"""The question of ``emoji_study.py`` for a network that is trained throughout, by orda's own training loop.

    python benchmarks/emoji_whole.py --root ROOT --cache CACHE --out whole.jsonl --jobs 2
    python benchmarks/emoji_report.py whole.jsonl --figure emoji-whole.png

ROOT holds style/class/file.png. EfficientNet-Lite0 from ImageNet's weights, all of it learning (batch normalisation
frozen), 64 pixels, 200 steps of Adam at 1e-4, k = 32, M = 50; MMD with median-scaled γ. Images are split by *file
name*. Runs of one (source, target, seed) share splits and first weights. One thread a run; about a minute each. It goes
on where it was stopped.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import torch
from emoji_study import ORDERED, STYLES, Case, cases, left_to_do, work

from orda.training import Lines, RunPaths, TrainConfig, train

SETTINGS = {
    "data.name": "folder",
    "data.size": 64,
    "data.split_by": "name",
    "model.name": "efficientnet-lite0",
    "algorithm.settings.lr": 1e-4,
    "steps": 200,
    "eval_every": 200,
    "horizon": 50,
    "machine.channels_last": True,  # a third of the seconds less, also on a CPU
    "machine.assess": True,
    "machine.checkpoint_every": 0,
    "machine.keep": "nothing",
}
SAMPLERS = ("uniform", "stratified", "assignment")
LAMBDAS = {"mmd": (0.3, 1.0, 3.0), "coral": (1.0, 10.0, 100.0)}
WORKER: dict[str, Path] = {}


def config_of(case: Case, root: Path, cache: Path) -> TrainConfig:
    """The run of a case."""
    algorithm = "erm" if case["algorithm"] == "none" else case["algorithm"]
    changes: dict[str, Any] = {
        "data.root": str(root),
        "data.cache_dir": str(cache),
        "data.sources": [case["source"]],
        "data.target": case["target"],
        "algorithm.name": algorithm,
        "sampler.name": "ordered" if case["sampler"] in ORDERED else case["sampler"],
        "seed": case["seed"],
    }
    if algorithm != "erm":
        changes["algorithm.settings.penalty"] = case["lambda"]
    if algorithm == "mmd":
        changes["algorithm.settings.gammas"] = "median"
    changes |= {f"sampler.settings.{key}": value for key, value in ORDERED.get(case["sampler"], {}).items()}
    return TrainConfig().updated(SETTINGS | changes)


def start(root: Path, cache: Path, runs: Path) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    WORKER.update(root=root, cache=cache, runs=runs)


def one(case: Case) -> Case:
    """The case with what became of it after the last step; ``probes`` are of every plan when it came into use."""
    config = config_of(case, WORKER["root"], WORKER["cache"])
    folder = WORKER["runs"] / config.digest()
    result = train(config, folder, progress=False)
    plans = [line["assessment"] for line in Lines(RunPaths(folder).plans).read()]
    return case | {
        "accuracy": result.final_target_accuracy,
        "source_accuracy": result.final_source_validation,
        "probes": [{name: plan[name] for name in ("d0", "bias", "variance")} for plan in plans[1:]],
        "seconds": round(result.seconds["total"], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where decoded images are kept")
    parser.add_argument("--runs", type=Path, default=Path("runs/emoji-whole"), help="the runs' folders")
    parser.add_argument("--algorithms", nargs="+", choices=list(LAMBDAS), default=["mmd"])
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS))
    parser.add_argument("--lambdas", nargs="+", type=float, help="instead of the algorithm's own")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit-seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    todo: list[Case] = []
    for algorithm in options.algorithms:
        found = cases("main", [algorithm], list(STYLES), list(options.lambdas or LAMBDAS[algorithm]), options.repeats)
        wanted = [c for c in found if c["estimator"] == "plug-in" and c["draws"] is None]
        todo += [c for c in wanted if c["algorithm"] == "none" or c["sampler"] in options.samplers]
    todo = [case for i, case in enumerate(todo) if case not in todo[:i]]  # without alignment is the same run for all
    told = options.root, options.cache, options.runs
    work(one, left_to_do(options.out, todo), options.out, options.jobs, options.limit_seconds, start, told)


if __name__ == "__main__":
    main()
