"""The embedded digits: how far apart the domains are, and how the weight λ of CORAL was chosen for them.

    python benchmarks/digits.py                        the table in orda.data.digits (seconds)
    python benchmarks/digits.py penalties [--runs DIR] [--steps 300] [--seeds 3]    λ (a minute a run, resumable)

The table: logistic regression on pixels; 80 % of a domain train, the rest of it is the held-out column.

λ: printed to handwritten under uniform and under ordered minibatches, each λ with the same seeds. The choice goes by
the accuracy on held-out *printed* digits; the handwritten ones are shown beside it and decide nothing.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from orda.data.digits import DOMAINS, open_digits
from orda.training import TrainConfig, train

PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4)


def separation() -> None:
    start = time.perf_counter()
    domains = open_digits()
    print(f"made in {time.perf_counter() - start:.1f} s\n")
    pixels = {name: np.asarray(d.images).reshape(len(d), -1) / 255 for name, d in domains.items()}
    print("trained on | held out | " + " | ".join(DOMAINS))
    for source in DOMAINS:
        labels = domains[source].labels
        order = np.random.default_rng(0).permutation(len(labels))
        fit, held = np.split(order, [len(order) * 8 // 10])
        model = LogisticRegression(max_iter=300).fit(pixels[source][fit], labels[fit])
        scores = [model.score(pixels[source][held], labels[held])]
        scores += [model.score(pixels[target], domains[target].labels) for target in DOMAINS]
        print(f"{source} | " + " | ".join(f"{100 * score:.1f}" for score in scores))


def penalties(runs: Path, steps: int, seeds: int) -> None:
    torch.set_num_threads(1)  # for so small a network two only wait for each other
    print(f"{steps} steps, {seeds} seeds: mean ± standard error in %\n")
    print("| sampler | λ | source validation | target |\n|---|---|---|---|")
    for sampler in ("uniform", "ordered"):
        for penalty in PENALTIES:
            asked = {"algorithm.settings.penalty": penalty, "sampler.name": sampler, "steps": steps, "horizon": 50}
            found = [
                train(TrainConfig().updated({**asked, "seed": seed}), runs / f"{sampler}-{penalty:g}-{seed}")
                for seed in range(seeds)
            ]
            columns = np.array([(result.source_validation, result.target_accuracy) for result in found])
            mean, error = 100 * columns.mean(0), 100 * columns.std(0, ddof=1) / seeds**0.5
            cells = " | ".join(f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, error, strict=True))
            print(f"| {sampler} | {penalty:g} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("separation", "penalties"), default="separation")
    parser.add_argument("--runs", type=Path, default=Path("runs/penalties"))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    if args.what == "separation":
        separation()
    else:
        penalties(args.runs, args.steps, args.seeds)


if __name__ == "__main__":
    main()
