"""Tables and a figure of the runs of ``emoji_study.py``, as Markdown.

    python benchmarks/emoji_report.py runs.jsonl [--figure emoji.png]

Of a variant (sampler, estimator, draws from a stratum) one λ counts, and there are two ways to choose it:

    target     the λ with the best mean accuracy on the target: what is to be had, not what one could know
    source     for every pair of styles and seed the λ with the best accuracy on held-out *source* names (of equals the
               smallest), which uses nothing of the target

Differences are of runs with the same styles and seed. Intervals are 95 % t-intervals over the means of the pairs of
styles: seeds of one pair are not independent problems. Variants that have all runs at no λ are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from emoji_study import Case as Run
from emoji_study import read
from scipy import stats

from orda.plots import ESTIMATES, finish, look, new_figure, style

Unit = tuple[str, str, int]  # source, target, seed
Variant = dict[float, dict[Unit, Run]]  # λ -> unit -> run
UNIFORM = "uniform plug-in"
PAIRS = (
    ("assignment plug-in", "stratified plug-in"),
    ("greedy plug-in", "stratified plug-in"),
    ("assignment plug-in", "greedy plug-in"),
    ("embedding plug-in", "assignment plug-in"),
    ("assignment plug-in, draws=2", "assignment plug-in"),
    ("assignment unbiased", "uniform unbiased"),
    ("assignment unbiased", "stratified unbiased"),
    ("assignment unbiased", "assignment plug-in"),
    ("assignment partners", "assignment unbiased"),
    ("assignment partners seen", "assignment unbiased"),
)
STYLES = {"embedding": "assignment embedding"}


def name_of(run: Run) -> str:
    return f"{run['sampler']} {run['estimator']}" + ("" if run["draws"] is None else f", draws={run['draws']}")


def variants(rows: Iterable[Run], algorithm: str) -> dict[str, Variant]:
    found: dict[str, Variant] = {}
    for run in rows:
        if run["algorithm"] == algorithm:
            unit = run["source"], run["target"], run["seed"]
            found.setdefault(name_of(run), {}).setdefault(run["lambda"], {})[unit] = run
    return found


def whole(found: dict[str, Variant], none: dict[Unit, Run]) -> dict[str, Variant]:
    """Without the variants that have not all pairs and seeds at any λ."""
    return {name: v for name, v in found.items() if any(none.keys() <= runs.keys() for runs in v.values())}


def mean(runs: Mapping[Unit, Run], key: str = "accuracy") -> float:
    return 100 * float(np.mean([run[key] for run in runs.values()])) if runs else float("nan")


# ---- one λ of many ----------------------------------------------------------------------------------------------


def best_on_target(variant: Variant, units: set[Unit]) -> tuple[dict[Unit, Run], str]:
    by_lambda = {w: {unit: runs[unit] for unit in units} for w, runs in variant.items() if units <= runs.keys()}
    weight = max(by_lambda, key=lambda w: mean(by_lambda[w]))
    return by_lambda[weight], f"{weight:g}"


def best_on_source(variant: Variant, units: set[Unit]) -> tuple[dict[Unit, Run], str]:
    complete = [runs for _, runs in sorted(variant.items()) if units <= runs.keys()]
    chosen = {unit: max((runs[unit] for runs in complete), key=lambda run: run["source_accuracy"]) for unit in units}
    weights = sorted(run["lambda"] for run in chosen.values())
    return chosen, f"{weights[len(weights) // 2]:g} ({weights[0]:g}–{weights[-1]:g})"


def difference(one: Mapping[Unit, Run], other: Mapping[Unit, Run]) -> str:
    """Mean difference of target accuracy in percentage points ± half its interval."""
    by_pair: dict[Any, list[float]] = {}
    for unit in one.keys() & other.keys():
        by_pair.setdefault(unit[:2], []).append(100 * (one[unit]["accuracy"] - other[unit]["accuracy"]))
    means = np.array([np.mean(values) for values in by_pair.values()])
    if len(means) < 2:
        return f"{means.mean():+.2f}" if len(means) else "–"
    half = stats.t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / len(means) ** 0.5
    return f"{means.mean():+.2f} ± {half:.2f}"


# ---- tables -----------------------------------------------------------------------------------------------------


def table(heads: list[str], lines: Iterable[list[str]]) -> None:
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for line in lines:
        print("| " + " | ".join(line) + " |")


def share(runs: Mapping[Unit, Run], of: str) -> str:
    """The median over runs and probes of bias/D0, or of the part of the mean squared error that is bias."""
    probes = [probe for run in runs.values() for probe in run["probes"] if probe["d0"] > 0]
    if not probes:
        return "–"
    if of == "bias":
        return f"{np.median([p['bias'] / p['d0'] for p in probes]):.2f}"
    return f"{100 * np.median([p['bias'] ** 2 / (p['bias'] ** 2 + p['variance'] + 1e-300) for p in probes]):.0f} %"


def report(algorithm: str, found: dict[str, Variant], none: dict[Unit, Run]) -> None:
    weights = sorted({weight for variant in found.values() for weight in variant})
    heads = ["", *(f"λ = {weight:g}" for weight in weights)]
    print(f"\n## {algorithm.upper()}\n\ntarget accuracy in %; number of runs\n")
    table(heads, [[n, *(accuracy(v, w) for w in weights)] for n, v in found.items()])
    for of, title in (("bias", "bias of D̂ over D0"), ("error", "part of the squared error of D̂ that is bias")):
        print(f"\n{title}, half way through a plan, median\n")
        table(heads, [[n, *(share(v.get(w, {}), of) for w in weights)] for n, v in found.items()])
    units = {unit for unit in none if all(any(unit in runs for runs in v.values()) for v in found.values())}
    target = {n: best_on_target(v, units) for n, v in found.items()}
    source = {n: best_on_source(v, units) for n, v in found.items()}
    print(f"\none λ of many, {len(units)} runs\n")
    heads = ["", "λ by the target", "%", "− no alignment", "− uniform", "λ by the source", "%", "− uniform"]
    table(
        heads,
        [
            [
                name,
                *(target[name][1], f"{mean(target[name][0]):.1f}", difference(target[name][0], none)),
                difference(target[name][0], target[UNIFORM][0]),
                *(source[name][1], f"{mean(source[name][0]):.1f}", difference(source[name][0], source[UNIFORM][0])),
            ]
            for name in sorted(target, key=lambda name: -mean(target[name][0]))
        ],
    )
    print()
    table(
        ["paired differences", "λ by the target", "λ by the source"],
        [
            [f"{a} − {b}", *(difference(by[a][0], by[b][0]) for by in (target, source))]
            for a, b in PAIRS
            if {a, b} <= found.keys()
        ],
    )


def accuracy(variant: Variant, weight: float) -> str:
    runs = variant.get(weight)
    return f"{mean(runs):.1f}; {len(runs)}" if runs else "–"


# ---- figure -----------------------------------------------------------------------------------------------------


def draw(rows: list[Run], algorithms: list[str], none: dict[Unit, Run], path: Path) -> None:
    with look():
        figure, grid = new_figure(1, len(algorithms), height=3.4, share_y=True)
        for axes, algorithm in zip(grid[0], algorithms, strict=True):
            for name, variant in variants(rows, algorithm).items():
                sampler, estimate = name.split(" ", 1)
                how = style(STYLES.get(sampler, sampler))
                line = ESTIMATES.get(estimate.replace("draws=2", "two draws"))
                weights = sorted(variant)
                axes.plot(
                    weights,
                    [mean(variant[w]) for w in weights],
                    "-." if line is None else line.line,
                    color=how.colour,
                    marker=None if line is None or line.marker == "none" else how.marker,
                    markerfacecolor="white" if line is not None and line.marker == "hollow" else how.colour,
                    label=f"{how.label}: {estimate}",
                )
            axes.axhline(mean(none), color="#777777", linewidth=1, label="no alignment")
            axes.set(xscale="log", xlabel="λ", title=algorithm.upper())
        grid[0, 0].set_ylabel("target accuracy (%)")
        finish(
            figure,
            "Accuracy on the target against λ",
            "Means over pairs of styles and seeds. Solid: plug-in; dashed: unbiased; dotted: plug-in, two draws.",
            columns=2,
        )
        figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    rows = read(options.runs)
    none = {(r["source"], r["target"], r["seed"]): r for r in rows if r["algorithm"] == "none"}
    source = mean(none, "source_accuracy")
    print(f"no alignment: target {mean(none):.1f} %, held-out source names {source:.1f} % ({len(none)} runs)")
    algorithms = sorted({row["algorithm"] for row in rows} - {"none"})
    for algorithm in algorithms:
        report(algorithm, whole(variants(rows, algorithm), none), none)
    if options.figure:
        draw(rows, algorithms, none, options.figure)


if __name__ == "__main__":
    main()
