"""How far a GPU is from where it should be: one table, every row measured, with its reach and whether it was met.

    python benchmarks/gpu.py [--only a b …] [--compile] [--json FILE] [--device cuda] [--quick] [--budget 420]

    a   uniform minibatches, k = 32, 3,000 steps: seconds
    b   a plan, features given, k = 32 and 128: seconds of a first one, and of the next, which starts from its strata
    c   ordered over uniform, k = 8, 32 and 128, without overlap and with it: the ratio of their seconds
    d   a whole ordered run, k = 32, 3,000 steps, evaluations included: seconds, by the code of ``orda train``
    e   two and four runs at once on the one device: their steps a second over those of one at a time

ResNet-18, 18,664 random images of 224 pixels in all, d = 512, random weights, M = 100. Rows are printed as they come; a
section that fails says so and the others go on; one that would begin after --budget seconds is left out and says that.
--quick, and any CPU, take small sizes: they show that the script works, and are not judged. Where the packages of
``orda train`` are missing (kornia is not needed), d is the bench's own loop, with all images evaluated every 300 steps.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from runs import at_once, whole_run

from orda.bench.clock import timed
from orda.bench.data import clustered, drifted
from orda.bench.plans import ORDERED, plan
from orda.bench.run import machine
from orda.bench.steps import trained
from orda.bench.workshop import OVERLAP, Course, Training, Workshop, at_speed, described
from orda.devices import pick_device
from orda.records import Features

GREEDY, ASSIGNMENT = "ordered, greedy", "ordered, assignment"
REPEATS = 3  # of a plan; the median counts


@dataclass(frozen=True)
class Sizes:
    """What is measured, and how much of it."""

    training: Training
    d: int
    k: int  # of a, d and e
    steps: int  # of a and d
    evaluate_every: int
    plans: dict[int, float]  # k: the reach in seconds
    ratios: dict[int, float]  # k: the reach without overlap
    at_once: tuple[int, ...]
    judged: bool


WHOLE = Sizes(
    training=Training("resnet18", 224, 9332, horizon=100, blocks=3, augmentation="domainbed"),
    d=512,
    k=32,
    steps=3000,
    evaluate_every=300,
    plans={32: 0.15, 128: 0.6},
    ratios={8: 3.0, 32: 1.8, 128: 1.4},
    at_once=(2, 4),
    judged=True,
)
QUICK = Sizes(
    training=Training("small-cnn", 28, 300, horizon=5, blocks=1),
    d=16,
    k=4,
    steps=20,
    evaluate_every=10,
    plans={4: 0.15, 8: 0.6},
    ratios={4: 1.8, 8: 1.4},
    at_once=(2,),
    judged=False,
)


@dataclass(frozen=True)
class Row:
    """One figure and what it should be: at most ``reach``, or at least, where ``least``."""

    section: str
    what: str
    measured: float
    unit: str
    reach: float
    least: bool = False
    more: dict[str, Any] | None = None

    def met(self) -> bool:
        return self.measured >= self.reach if self.least else self.measured <= self.reach

    def text(self, judged: bool) -> str:
        verdict = ("met" if self.met() else "NOT MET") if judged else "not judged"
        sign = "≥" if self.least else "≤"
        return (
            f"{self.section}  {self.what:<52} {self.measured:>9.3f} {self.unit}  reach {sign} {self.reach:g}  {verdict}"
        )


class Bench:
    """The sections; what several of them need is made once."""

    def __init__(self, device: torch.device, sizes: Sizes) -> None:
        self.device, self.sizes = device, sizes
        self._shop: Workshop | None = None

    def shop(self) -> Workshop:
        if self._shop is None:
            self._shop = Workshop(self.device, self.sizes.training)
        return self._shop

    def parts(self) -> list[tuple[str, Callable[[], Iterable[Row]]]]:
        """What can fail by itself."""
        s = self.sizes
        return [
            ("a", self.uniform),
            *[("b", lambda k=k: self.plans(k)) for k in s.plans],
            *[("c", lambda k=k: self.ratios(k)) for k in s.ratios],
            ("d", self.run),
            ("e", self.runs),
        ]

    def uniform(self) -> Iterator[Row]:
        s = self.sizes
        with at_speed(self.device):
            course = Course(self.shop(), s.k, "uniform")
            course.go(s.training.horizon)
            seconds, _ = timed(lambda: course.go(s.steps), self.device)
        yield Row("a", f"uniform, k = {s.k}, {s.steps:,} steps", seconds, "s", 20.0)

    def plans(self, k: int) -> Iterator[Row]:
        s = self.sizes
        features = clustered(s.training.n, s.d, self.device)
        later = drifted(features)
        for name, make in ORDERED.items():
            sampler, reach = make(), s.plans[k]
            made = plan(features, sampler, k, s.training.horizon)  # libraries are loaded here

            def seconds(z: Features, previous: Any, sampler: Any = sampler) -> list[float]:
                once = lambda: plan(z, sampler, k, s.training.horizon, previous)  # noqa: E731
                return sorted(timed(once, self.device)[0] for _ in range(REPEATS))

            for which, found in (("first", seconds(features, None)), ("next", seconds(later, made))):
                what = f"plan, {name}, k = {k}, {which}"
                more = {"all": found, "parts": made.diagnostics.get("seconds") if which == "first" else None}
                yield Row("b", what, found[REPEATS // 2], "s", reach, more=more)

    def ratios(self, k: int) -> Iterator[Row]:
        names = ("uniform", GREEDY, GREEDY + OVERLAP, ASSIGNMENT, ASSIGNMENT + OVERLAP)
        rows = trained(self.shop(), k, names)
        uniform = next(rows)
        for row in rows:
            reach = 1.3 if row["sampler"].endswith(OVERLAP) else self.sizes.ratios[k]
            more = {"steps/s": row["steps/s"], "uniform": uniform["steps/s"]}
            yield Row("c", f"{row['sampler']} over uniform, k = {k}", row["over uniform"], "×", reach, more=more)

    def run(self) -> Iterator[Row]:
        s = self.sizes
        found = whole_run(self.shop(), s.k, s.steps, s.evaluate_every)
        what = f"a whole {GREEDY} run, k = {s.k}, {s.steps:,} steps"
        yield Row("d", what, found["seconds"], "s", 40.0, more=found)

    def runs(self) -> Iterator[Row]:
        s, name = self.sizes, str(self.device)
        self.let_go()
        alone = at_once(1, name, s.training, s.k, GREEDY)
        for count in s.at_once:
            together = at_once(count, name, s.training, s.k, GREEDY)
            what = f"{count} {GREEDY} runs at once over one at a time, k = {s.k}"
            yield Row("e", what, together / alone, "×", 2.0, True, {"steps/s": together, "alone": alone})

    def let_go(self) -> None:
        """Of what fills the device."""
        self._shop = None
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def measure(bench: Bench, sections: Sequence[str], budget: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every figure as it comes, as a line and as plain values."""
    began, judged = time.perf_counter(), bench.sizes.judged
    for section, part in bench.parts():
        if section not in sections:
            continue
        spent = time.perf_counter() - began
        if spent > budget:
            yield (
                f"{section}  left out: {spent:.0f} s are spent of {budget:.0f}",
                {"section": section, "left out": spent},
            )
            continue
        try:
            for row in part():
                yield row.text(judged), {**asdict(row), "met": row.met() if judged else None}
        except Exception as error:  # whatever it is, the others can still be measured
            reason = f"{type(error).__name__}: {error}"
            yield f"{section}  failed: {reason.splitlines()[0]}", {"section": section, "failed": reason}
            bench.let_go()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list("abcde"), default=list("abcde"), metavar="a…e")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--compile", action="store_true", help="the network that is trained, by torch.compile")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--budget", type=float, default=420.0, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    device = pick_device(options.device, ("cpu", "cuda"))
    sizes = QUICK if options.quick or device.type == "cpu" else WHOLE
    sizes = replace(sizes, training=replace(sizes.training, compile=options.compile))
    about = machine(device)
    print(f"{about['device']}, torch {about['torch']}: {described(sizes.training, device)}", flush=True)
    found: dict[str, Any] = {"machine": about, "settings": asdict(sizes), "rows": []}
    for text, row in measure(Bench(device, sizes), options.only, options.budget):
        print(text, flush=True)
        found["rows"].append(row)
        if options.json:  # after every row: who is stopped keeps what is there
            options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
