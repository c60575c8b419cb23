"""What the paper's 17,100 runs cost, run by run: every k that the protocols draw, every sampler, every plan.

    python benchmarks/scale.py [--step eager] [--plans plans.json]      the tables of docs/scale.md (seconds)
    python benchmarks/scale.py --measure plans.json                     seconds of plans on one core (minutes)

    run = 3000 × step(k) × passes + plans × (images × feature + plan) + evaluations × images × feature

Steps and features are inputs, measured once on an H200 with plain PyTorch (STEP, FEATURE); a step's time is taken for
linear in k between k = 32 and k = 128. Plans are measured here: processor seconds of one core at the size of each data
set and k = 42, the mean of what the protocols draw. Loading from the cache and writing checkpoints are not in it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from plan import clustered

import orda
from orda.experiments.estimate import in_words
from orda.experiments.jobs import Job, expand
from orda.experiments.protocol import Protocol

STEP = {"float32": (24.5, 85), "tf32": (8.3, 28), "eager": (8.2, 20), "compiled": (5.5, 18)}  # ms at 2·32, 2·128 images
FEATURE = 0.5 / 18_664  # seconds an image, bfloat16 eager
PASSES = {"erm": 0.5, "cdan-sdat": 2.0}  # of both domains' minibatches through the network; ERM sees one domain
SAMPLERS = {
    "uniform": lambda loss: orda.Uniform(),
    "kmeans++": lambda loss: orda.KMeansPlusPlus(),
    "dpp": lambda loss: orda.DPP(),
    "anticlustering": lambda loss: orda.Anticlustering(),
    "stratified": orda.Stratified,
    "ordered": lambda loss: orda.Ordered(loss, optimiser="greedy"),
}
LOSSES = {"coral": orda.CORAL, "mmd": orda.MMD}
OFFICE_HOME = {"Art": 2_427, "Clipart": 4_365, "Product": 4_439, "Real": 4_357}


def images(job: Job) -> tuple[int, int]:
    """Images that a plan looks at (training and adaptation), and that an evaluation does (the rest)."""
    if job.base.data.name == "spawrious":
        source, target = 25_344, 25_344
    else:
        source, target = (OFFICE_HOME[name] for name in job.task.split("->"))
    data = job.base.data
    held, seen = data.holdout * source, data.target_fraction * target
    return round(source - held + seen), round(held + target - seen)


def cost(job: Job, step: tuple[float, float], plans: Mapping[str, float]) -> dict[str, float]:
    """Seconds of a run by part."""
    config = job.config()
    low, high = step
    k, count = config.batch_size or 32, config.steps / config.horizon
    planned, evaluated = images(job)
    key = f"{config.data.name}, {config.algorithm.name}, {config.sampler.name}"
    looks = config.sampler.name != "uniform" or config.algorithm.settings.get("gammas") == "median"
    return {
        "steps": config.steps * (low + (high - low) * (k - 32) / 96) / 1000 * PASSES.get(config.algorithm.name, 1.0),
        "features": count * planned * FEATURE * looks,
        "plans": count * plans.get(key, 0.0),
        "evaluations": config.steps / config.eval_every * evaluated * FEATURE,
    }


def aligned(job: Job, sampler: str) -> bool:
    """Is it a run of one of the paper's two discrepancies with this sampler?"""
    config = job.config()
    return config.algorithm.name in LOSSES and config.sampler.name == sampler


def measure(file: Path) -> None:
    """Processor seconds of a warm plan on one thread, by data set, loss and sampler."""
    import torch

    torch.set_num_threads(1)
    found = {}
    for data, sizes in {"spawrious": (20_275, 12_672), "office-home": (3_118, 1_949)}.items():
        rng = np.random.default_rng(0)
        centres = 0.7 * rng.normal(size=(40, 512))
        zs, zt = (clustered(n, 512, rng, centres, shift) for n, shift in zip(sizes, (0.0, 0.3), strict=True))
        moved = [z + 0.05 * rng.normal(size=z.shape).astype(np.float32) for z in (zs, zt)]
        for loss, make in LOSSES.items():
            for name, sampler in SAMPLERS.items():
                plan = orda.plan(zs, zt, sampler=sampler(make()), batch_size=42, horizon=100)
                began = time.process_time()
                orda.plan(*moved, sampler=sampler(make()), batch_size=42, horizon=100, seed=1, previous=plan)
                found[f"{data}, {loss}, {name}"] = time.process_time() - began
                print(f"{data}, {loss}, {name}: {found[f'{data}, {loss}, {name}']:.2f}", flush=True)
                file.write_text(json.dumps(found, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", choices=list(STEP), default="eager", help="how a step is computed")
    parser.add_argument("--plans", type=Path, help="measured plans; without them plans cost nothing")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="measure plans into FILE")
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    plans = json.loads(options.plans.read_text()) if options.plans else {}
    every = 0.0
    for name in ("paper-spawrious", "paper-office-home"):
        sums: dict[str, float] = defaultdict(float)
        jobs = expand(Protocol.load(name))
        for job in jobs:
            for part, seconds in cost(job, STEP[options.step], plans).items():
                sums[part] += seconds
        total = sum(sums.values())
        every += total
        mean_k = sum(job.config().batch_size or 32 for job in jobs) / len(jobs)
        parts = ", ".join(f"{part} {seconds / len(jobs):.1f}" for part, seconds in sums.items())
        print(f"{name}: {len(jobs):,} runs, mean k {mean_k:.1f}, {total / len(jobs):.1f} s a run ({parts})")
        for sampler in SAMPLERS:
            costs = [sum(cost(job, STEP[options.step], plans).values()) for job in jobs if aligned(job, sampler)]
            print(f"    CORAL and MMD, {sampler:16}{sum(costs) / len(costs):7.1f} s a run")
    print(f"together {every / 3600:,.0f} hours: one at a time {in_words(every)}, eight {in_words(every / 8)}")


if __name__ == "__main__":
    main()
