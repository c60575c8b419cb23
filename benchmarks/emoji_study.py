"""What estimators, samplers and λ do to the accuracy of a small network on the features of images in several styles.

    python benchmarks/emoji_study.py extract --root ROOT --out emoji.npz      # ROOT/style/class/file.png, once
    python benchmarks/emoji_study.py run --features emoji.npz --out runs.jsonl --grid main --jobs 16 --limit-seconds 540
    python benchmarks/emoji_report.py runs.jsonl --figure emoji.png

Images become EfficientNet-Lite0's features. A run trains two layers on a labelled source style and an unlabelled target
style, with orda's own loader and losses, and measures the accuracy on the target style. Images are split by *file
name*: the same emoji stands in every style, and those tested on were seen in none. Runs of one (source, target, seed)
share split and first weights, so all comparisons are of pairs. ``run`` goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

for package, rooms in (("kornia", ("color", "enhance")), ("yaml", ()), ("PIL", ())):  # for images; features need none
    if importlib.util.find_spec(package) is None:
        sys.modules |= {name: MagicMock() for name in (package, *(f"{package}.{room}" for room in rooms))}

import orda  # noqa: E402
from orda import seeds  # noqa: E402

STYLES = ("noto", "twemoji", "fluent", "openmoji")
LAMBDAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
HELD_OUT = 0.3  # of the file names: what accuracy is measured on
HIDDEN, BATCH, STEPS, HORIZON, RATE = 128, 32, 600, 100, 1e-3
PROBES = (250, 550)  # steps, both half way through a plan of M = 100, at which the estimates are compared with D0
Case = dict[str, Any]

ORDERED: dict[str, dict[str, Any]] = {
    "greedy": {"optimiser": "greedy"},
    "assignment": {},
    "embedding": {"objective": "embedding"},
}
VARIANTS = {  # sampler, estimator, draws from a stratum
    "main": [
        *((s, "plug-in", None) for s in ("uniform", "stratified", *ORDERED)),
        *((s, "unbiased", None) for s in ("uniform", "stratified", "assignment")),
        ("assignment", "plug-in", 2),
    ],
    "rest": [("greedy", "unbiased", None), ("embedding", "unbiased", None), ("stratified", "plug-in", 2)],
    "partners": [("assignment", e, None) for e in ("partners", "partners seen")],
}


# ---- features ---------------------------------------------------------------------------------------------------


def extract(root: Path, out: Path, styles: list[str], size: int) -> None:
    """Features of all images of the styles, as float16, with classes and file names."""
    from PIL import Image

    from orda.models import build_model

    model = build_model("efficientnet-lite0", 2, seed=0).eval()
    arrays: dict[str, np.ndarray] = {}
    for style in styles:
        files = sorted((root / style).glob("*/*.png"))
        features = []
        for start in range(0, len(files), 32):
            images = [
                Image.open(file).convert("RGB").resize((size, size), Image.Resampling.BICUBIC)
                for file in files[start : start + 32]
            ]
            x = torch.stack([torch.from_numpy(np.array(image)) for image in images]).permute(0, 3, 1, 2).float()
            with torch.no_grad():
                features.append(model.features((x - 127) / 128).numpy())
            print(f"\r{style} {start + len(images)}/{len(files)}", end="", flush=True)
        arrays[f"{style} x"] = np.concatenate(features).astype(np.float16)
        arrays[f"{style} class"] = np.array([file.parent.name for file in files])
        arrays[f"{style} file"] = np.array([file.name for file in files])
        print()
    np.savez_compressed(out, **arrays)


class Data:
    """All styles: features (n, d) in one scale, labels, and the file names by which they are split."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as arrays:
            self.styles = sorted({name.rsplit(" ", 1)[0] for name in arrays.files})
            x = {style: torch.from_numpy(arrays[f"{style} x"]).float() for style in self.styles}
            names = {style: arrays[f"{style} class"] for style in self.styles}
            self.files = {style: arrays[f"{style} file"] for style in self.styles}
        self.classes = sorted({name for style in self.styles for name in names[style]})
        self.y = {style: torch.from_numpy(np.searchsorted(self.classes, names[style])) for style in self.styles}
        every = torch.cat(list(x.values()))
        self.x = {style: (x[style] - every.mean(0)) / every.std() for style in self.styles}

    def parts(self, style: str, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Which rows train and which are held out: by file name, the same names in every style."""
        names = np.unique(np.concatenate(list(self.files.values())))
        held = seeds.generator(seed, "split").random(len(names)) < HELD_OUT
        out = torch.from_numpy(held[np.searchsorted(names, self.files[style])])
        return ~out, out


# ---- one run ----------------------------------------------------------------------------------------------------


class Net(torch.nn.Module):
    """Two layers: what the first one gives is aligned."""

    def __init__(self, d: int, classes: int, seed: int) -> None:
        super().__init__()
        with seeds.torch_stream(seed, "network"):
            self.body = torch.nn.Sequential(torch.nn.Linear(d, HIDDEN), torch.nn.ReLU())
            self.head = torch.nn.Linear(HIDDEN, classes)


class Partners:
    """‖μ_h‖² by κ(z_h, z̃), z̃ another member of the stratum at the features of the plan, without a second draw.

    Only half of the pair carries a gradient, which is therefore doubled. ``seen``: features are refreshed whenever
    their example is in a minibatch.
    """

    def __init__(self, seen: bool, rng: np.random.Generator) -> None:
        self.seen, self.rng = seen, rng
        self.bank: list[torch.Tensor] = []
        self.labels: list[np.ndarray] = []

    def planned(self, plan: orda.Plan, features: orda.Features) -> None:
        self.bank = [features.source.clone(), features.target.clone()]
        self.labels = [part.strata.labels for part in (plan.source, plan.target) if part.strata]

    def __call__(self, mmd: orda.MMD, z: list[torch.Tensor], batch: orda.Batch) -> torch.Tensor:
        value = mmd(z[0], z[1], batch.source.weight, batch.target.weight)
        for domain, half in enumerate((batch.source, batch.target)):
            rows, labels = half.index.numpy(), self.labels[domain]
            members = [np.flatnonzero(labels == labels[i]) for i in rows]
            others = [m[m != i] if len(m) > 1 else m for m, i in zip(members, rows, strict=True)]
            kept = self.bank[domain][[int(self.rng.choice(other)) for other in others]]
            sizes = torch.tensor([len(m) for m in members])
            pairs = mmd.kernel.gram(z[domain][:, None], kept[:, None])[:, 0, 0]  # type: ignore[union-attr]
            own = mmd.kernel.diagonal(z[domain])  # type: ignore[union-attr]
            square = (1 - 1 / sizes) * (2 * pairs - pairs.detach()) + own / sizes
            value = value + (half.weight**2 * (square - own)).sum()
            if self.seen:
                self.bank[domain][half.index] = z[domain].detach()
        return value


def make_discrepancy(case: Case) -> orda.Discrepancy:
    estimator = "unbiased" if case["estimator"] == "unbiased" else "plug-in"
    if case["algorithm"] == "coral":
        return orda.CORAL(estimator=estimator)
    return orda.MMD(gammas="median", estimator=estimator)


def make_sampler(case: Case, discrepancy: orda.Discrepancy) -> orda.Sampler:
    if case["sampler"] == "uniform":
        return orda.Uniform()
    if case["sampler"] == "stratified":
        return orda.Stratified(discrepancy, draws=case["draws"])
    return orda.Ordered(discrepancy, draws=case["draws"], **ORDERED[case["sampler"]])


def train(case: Case, data: Data, steps: int = STEPS) -> Case:
    """The case with what became of it."""
    horizon = case.get("horizon", HORIZON)
    began, seed = time.process_time(), seeds.child(case["seed"], case["source"], case["target"])
    fit_s, held_s = data.parts(case["source"], case["seed"])
    fit_t, held_t = data.parts(case["target"], case["seed"])
    (xs, ys), xt = (data.x[case["source"]], data.y[case["source"]]), data.x[case["target"]]
    net = Net(xs.shape[1], len(data.classes), seed)
    adam = torch.optim.Adam(net.parameters(), lr=RATE)
    asked = discrepancy = make_discrepancy(case)
    partners = Partners("seen" in case["estimator"], seeds.generator(seed, "partners"))

    def planned(plan: orda.Plan, features: orda.Features | None) -> None:
        nonlocal discrepancy
        features = loader.extract() if features is None else features
        discrepancy = asked.resolved(features)  # the median of today's features, n/(n − 1)
        partners.planned(plan, features)

    loader = orda.AdaptationLoader(
        TensorDataset(xs[fit_s], ys[fit_s]),
        TensorDataset(xt[fit_t]),
        sampler=make_sampler(case, asked),
        batch_size=case.get("batch_size", BATCH),
        horizon=horizon,
        featurizer=net.body,
        seed=seed,
        overlap=case.get("overlap", False),
        on_plan=planned,
    )
    probes: list[dict[str, float]] = []
    for step, batch in enumerate(itertools.islice(loader, steps)):
        z = [net.body(batch.source.x), net.body(batch.target.x)]
        losses = F.cross_entropy(net.head(z[0]), batch.source.y, reduction="none")
        loss = (batch.source.weight * losses).sum()
        if case["lambda"] > 0:
            if case["estimator"].startswith("partners"):
                estimate = partners(discrepancy, z, batch)  # type: ignore[arg-type]
            else:
                estimate = discrepancy(*z, batch.source, batch.target)
            loss = loss + case["lambda"] * estimate
        if step in PROBES and loader.plan is not None:
            probes.append(probe(loader.plan, step % horizon + 1, loader.extract(), discrepancy))
        adam.zero_grad()
        loss.backward()
        adam.step()

    def accuracy(x: torch.Tensor, y: torch.Tensor) -> float:
        with torch.no_grad():
            return float((net.head(net.body(x)).argmax(1) == y).float().mean())

    found = {
        "accuracy": accuracy(xt[held_t], data.y[case["target"]][held_t]),
        "source_accuracy": accuracy(xs[held_s], ys[held_s]),
        "finite": bool(torch.isfinite(loss)),
        "probes": probes,
        "seconds": round(time.process_time() - began, 3),
    }
    return case | found


def probe(plan: orda.Plan, position: int, features: orda.Features, discrepancy: orda.Discrepancy) -> dict[str, float]:
    """D0 of the features as they are now, and what the minibatches still to come make of it (others are fitted to)."""

    def rest(part: orda.DomainPlan) -> orda.DomainPlan:
        names = ("index", "weight", "stratum", "own")
        return replace(part, **{name: getattr(part, name)[position:] for name in names})

    ahead = orda.Plan(rest(plan.source), rest(plan.target))
    assessed = orda.assess(ahead, features.source, features.target, discrepancy)
    return {"d0": assessed.d0, "bias": assessed.bias, "variance": assessed.variance}


# ---- many runs --------------------------------------------------------------------------------------------------


def cases(grid: str, algorithms: list[str], styles: list[str], lambdas: list[float], repeats: int) -> Iterator[Case]:
    """Seeds are the outermost loop: after some of them every variant has as many."""
    pairs = list(itertools.permutations(styles, 2))
    names = ("algorithm", "sampler", "estimator", "draws", "lambda", "source", "target", "seed")
    for seed in range(repeats):
        for source, target in pairs:
            yield dict(zip(names, ("none", "uniform", "plug-in", None, 0.0, source, target, seed), strict=True))
        for algorithm, variant, weight in itertools.product(algorithms, VARIANTS[grid], lambdas):
            for source, target in pairs:
                yield dict(zip(names, (algorithm, *variant, weight, source, target, seed), strict=True))


def key(case: Case) -> str:
    return json.dumps([case[name] for name in sorted(case)])


def read(path: Path) -> list[Case]:
    """The finished runs; a line that a kill cut off is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


WORKER: dict[str, Data] = {}


def start(features: Path) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    WORKER["data"] = Data(features)


def one(case: Case) -> Case:
    return train(case, WORKER["data"])


def run(features: Path, out: Path, todo: list[Case], jobs: int, limit: float) -> None:
    """The cases that are not in ``out`` yet."""
    began = time.perf_counter()
    todo = left_to_do(out, todo)
    start(features)
    for case in {(c["algorithm"], c["sampler"], c["estimator"]): c for c in todo}.values():
        train(case | {"seed": -1}, WORKER["data"], steps=1)  # what is compiled is compiled once, and kept for all
    print(f"compiled after {time.perf_counter() - began:.0f} s", flush=True)
    work(one, todo, out, jobs, limit - (time.perf_counter() - began), start, (features,))


def left_to_do(out: Path, todo: list[Case]) -> list[Case]:
    """The cases that are not in ``out`` yet."""
    names = sorted(todo[0])
    done = {key({name: row[name] for name in names}) for row in read(out)}
    left = [case for case in todo if key(case) not in done]
    print(f"{len(done)} runs done, {len(left)} to do", flush=True)
    return left


def work(
    function: Callable[[Case], Case],
    todo: list[Case],
    out: Path,
    jobs: int,
    limit: float,
    begin: Callable[..., None],
    told: tuple[Any, ...],
) -> None:
    """``function`` of every case, a line of ``out`` each, ``jobs`` at a time, until done or out of time."""
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(jobs, begin, told) as pool, out.open("a") as file:
        if out.stat().st_size and not out.read_bytes().endswith(b"\n"):
            file.write("\n")
        for count, row in enumerate(pool.imap_unordered(function, todo), 1):
            file.write(json.dumps(row) + "\n")
            file.flush()
            spent = time.perf_counter() - began
            if count % 50 == 0:
                print(f"{count}/{len(todo)} in {spent:.0f} s", flush=True)
            if spent > limit:
                print(f"out of time after {count} of {len(todo)}: run again to go on")
                break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    to_extract = commands.add_parser("extract", help="images to features")
    to_extract.add_argument("--root", type=Path, required=True)
    to_extract.add_argument("--out", type=Path, required=True)
    to_extract.add_argument("--styles", nargs="+", default=list(STYLES))
    to_extract.add_argument("--size", type=int, default=144)
    to_run = commands.add_parser("run", help="train")
    to_run.add_argument("--features", type=Path, required=True)
    to_run.add_argument("--out", type=Path, required=True)
    to_run.add_argument("--grid", choices=list(VARIANTS), default="main")
    to_run.add_argument("--algorithms", nargs="+", choices=("mmd", "coral"), default=["mmd", "coral"])
    to_run.add_argument("--samplers", nargs="+", help="only these")
    to_run.add_argument("--lambdas", nargs="+", type=float, default=list(LAMBDAS))
    to_run.add_argument("--pairs", type=int, help="only the first pairs of styles")
    to_run.add_argument("--repeats", type=int, default=3)
    to_run.add_argument("-k", type=int, help=f"batch size instead of {BATCH}; into an --out of its own")
    to_run.add_argument("-M", type=int, help=f"horizon instead of {HORIZON}; into an --out of its own")
    to_run.add_argument("--overlap", action="store_true", help="plans one block old; into an --out of its own")
    to_run.add_argument("--estimators", nargs="+", help="only these")
    to_run.add_argument("--jobs", type=int, default=1)
    to_run.add_argument("--limit-seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    if options.command == "extract":
        extract(options.root, options.out, options.styles, options.size)
    else:
        styles = Data(options.features).styles
        todo = list(cases(options.grid, options.algorithms, styles, options.lambdas, options.repeats))
        other = {"batch_size": options.k, "horizon": options.M, "overlap": options.overlap}
        todo = [case | {name: value for name, value in other.items() if value} for case in todo]
        if options.estimators:
            todo = [case for case in todo if case["estimator"] in options.estimators and case["draws"] is None]
        if options.samplers:
            todo = [case for case in todo if case["sampler"] in options.samplers]
        if options.pairs:
            wanted = list(itertools.permutations(styles, 2))[: options.pairs]
            todo = [case for case in todo if (case["source"], case["target"]) in wanted]
        run(options.features, options.out, todo, options.jobs, options.limit_seconds)


if __name__ == "__main__":
    main()
