"""What a training step costs by part, under uniform and under ordered minibatches.

    python benchmarks/steps.py [--data digits | made] [--model resnet18] [--size 224] [--images 2048] [--steps 30]
                               [-k 32] [-M 100] [--algorithm coral] [--device auto] [--threads N]

    read       gather both minibatches from the cache            extract    features of all examples, for the plan
    augment    to the device, augment, normalise                 stratify   k strata of each domain
    forward    networks and losses; backward; optimiser          order      pools into minibatches: prepare and arrange

What is right of the gap happens once in M steps and is divided by M; the plan that counts is the second one, which
starts from the strata of the first, as all but one do. Steps of both samplers alternate, so that what else the machine
does meets both alike; the median of each part counts. "made" are images made for the occasion, --images of a domain.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import torch
from decode import write_images

from orda import seeds
from orda.records import Batch, DomainBatch, DomainPlan, Plan
from orda.training import TrainConfig
from orda.training.assemble import Parts, assemble
from orda.training.clock import Clock
from orda.training.machine import pick_device
from orda.training.plans import plan_seconds

SAMPLERS = ("uniform", "ordered")
ONCE = ("extract", "stratify", "order", "rest of the plan")
EVERY = ("read", "augment", "forward", "backward", "optimiser")


class Side:
    """One sampler's run: its parts, its plan, and the seconds of each part of every step."""

    def __init__(self, config: TrainConfig, device: torch.device) -> None:
        self.parts: Parts = assemble(config.resolved(), device, Clock(device), progress=False)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.device = device
        self.make_plan()
        self.seconds.clear()
        self.plan = self.make_plan()  # from the strata of the first
        self.parts.algorithm.train()

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def make_plan(self) -> Plan:
        loader, began = self.parts.loader, self.now()
        features = loader.extract() if loader.sampler.needs_features or self.parts.algorithm.wants_features else None
        extracted = self.now()
        plan = loader.make_plan(features)
        planned = self.now()
        loader.adopt(plan)
        self.parts.algorithm.resolve(loader.sizes, features)
        named = plan_seconds(plan)
        self.seconds["extract"].append(extracted - began)
        for part in ("stratify", "order"):
            self.seconds[part].append(named.get(part, 0.0))
        self.seconds["rest of the plan"].append(planned - extracted - sum(named.values()))
        return plan

    def step(self, m: int, number: int) -> None:
        """Minibatch ``m`` of the plan, part by part, as the loader and ``Algorithm.update`` go about it."""
        parts, times = self.parts, [self.now()]
        read = [
            domain.gather(half.index[m])
            for domain, half in ((parts.domains.train, self.plan.source), (parts.domains.adapt, self.plan.target))
        ]
        times.append(self.now())
        xs, xt = (parts.images(x, seeds.child(0, name, number)) for name, (x, _) in zip("st", read, strict=True))
        batch = Batch(self.half(self.plan.source, m, xs, read[0][1]), self.half(self.plan.target, m, xt, None))
        times.append(self.now())
        losses = parts.algorithm.losses(batch, number)
        times.append(self.now())
        parts.algorithm.backward(losses["loss"])
        times.append(self.now())
        parts.algorithm.step_optimisers()
        times.append(self.now())
        for part, before, after in zip(EVERY, times, times[1:], strict=False):
            self.seconds[part].append(after - before)

    def half(self, plan: DomainPlan, m: int, x: torch.Tensor, y: torch.Tensor | None) -> DomainBatch:
        weight, stratum, index = (t[m].to(self.device) for t in (plan.weight, plan.stratum, plan.index))
        return DomainBatch(x, None if y is None else y.to(self.device), weight, stratum, index)

    def milliseconds(self) -> dict[str, float]:
        """Each part of a step, what happens once divided among the steps of a plan."""
        horizon = self.plan.horizon
        once = {part: 1e3 * median(self.seconds[part]) / horizon for part in ONCE}
        return {**{part: 1e3 * median(self.seconds[part]) for part in EVERY}, **once}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("digits", "made"), default="made")
    parser.add_argument("--model", help="default: small-cnn for digits, else resnet18")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("-k", type=int, default=32)
    parser.add_argument("-M", type=int, help="default: 100; digits: 25")
    parser.add_argument("--algorithm", default="coral")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        report(args, Path(folder))


def report(args: argparse.Namespace, root: Path) -> None:
    asked = {"batch_size": args.k, "horizon": args.M, "algorithm.name": args.algorithm, "model.weights": "random"}
    asked |= {"model.name": args.model} if args.model else {}
    if args.data == "made":
        for number, domain in enumerate(("one", "other")):
            write_images(root, args.images, domain, args.size, seed=number)
        asked |= {"data.name": "folder", "data.root": str(root), "data.size": args.size, "data.cache_dir": str(root)}
        asked |= {"data.sources": ["one"], "data.target": "other"}
    device = pick_device(args.device)
    config = TrainConfig().updated(asked)
    sides = {name: Side(config.updated({"sampler.name": name}), device) for name in SAMPLERS}
    for number in range(args.steps + 2):
        if number == 2:  # the first two only warm up
            for side in sides.values():
                for part in EVERY:
                    side.seconds[part].clear()
        for side in sides.values():
            side.step(number % side.plan.horizon, number)
    columns = [side.milliseconds() for side in sides.values()]
    parts = sides["ordered"].parts
    n = len(parts.domains.train) + len(parts.domains.adapt)
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    print(f"{parts.config.model.name}, 2·{args.k} images of {parts.data.image_size} pixels, {n} examples, {where}\n")
    print("| ms a step | " + " | ".join(SAMPLERS) + " |\n|---|---|---|")
    for part in (*EVERY, *ONCE):
        print(f"| {part} | " + " | ".join(f"{column[part]:.2f}" for column in columns) + " |")
    totals = [sum(column.values()) for column in columns]
    print("| together | " + " | ".join(f"{total:.2f}" for total in totals) + " |")
    planning = sum(columns[1][part] for part in ONCE) / totals[1]
    print(f"\nplanning is {planning:.0%} of an ordered step; ordered against uniform: {totals[1] / totals[0]:.2f} ×")


if __name__ == "__main__":
    main()
