"""The figure of the study ``bias``: colour and marker say the sampler, the line the estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orda.experiments.simulate.statistics import band, column, where
from orda.experiments.simulate.study import Table
from orda.plots import ESTIMATES, curve, estimates_key, finish, letter, log_ticks, new_figure, plain_ticks

if TYPE_CHECKING:
    from orda.experiments.simulate.bias import Bias

SERIES = ("uniform", "stratified", "greedy", "assignment")
DOTTED = ("stratified", "assignment")  # whose plug-in estimate with two draws is drawn too; the table has all
TITLES = {"mmd": "MMD", "coral": "CORAL"}
AXES = {"k": "minibatch size k (examples)", "d": "features d", "lambda": "trade-off λ in training"}
GIVEN = {  # rows of the figure, against k and d
    "relative bias": r"bias / $D_0$",
    "relative deviation": r"st. deviation / $D_0$",
    "direction error": "1 − cos, a minibatch",
    "direction error of the plan": "1 − cos, a plan",
}
TRAINED = (  # the last two, against λ
    ("relative bias", r"bias / $D_0$", "d0", r"$D_0$ at spread 1"),
    ("spread", "spread / untrained", "accuracy", "target accuracy (%)"),
)
LEAST = 0.1  # of a signed logarithmic axis: in between it is linear


def bias_figure(study: Bias, table: Table) -> Any:
    figure, axes = new_figure(len(GIVEN) + len(TRAINED), 4, height=8.4)
    for half, discrepancy in enumerate(TITLES):
        here = where(table, discrepancy=discrepancy)
        for row, (statistic, label) in enumerate(GIVEN.items()):
            for side, axis in enumerate(("k", "d")):
                draw(axes[row, 2 * half + side], where(here, axis=axis, statistic=statistic), statistic)
            axes[row, 2 * half].set_ylabel(label if half == 0 else "")
        for row, pair in enumerate(TRAINED, len(GIVEN)):
            for side in (0, 1):
                statistic, label = pair[2 * side : 2 * side + 2]
                panel = axes[row, 2 * half + side]
                draw(panel, where(here, axis="lambda", statistic=statistic), statistic)
                panel.set_ylabel(label)
    for row in range(len(axes)):
        for number, panel in enumerate(axes[row]):
            axis = ("k", "d")[number % 2] if row < len(GIVEN) else "lambda"
            ticks = {"k": study.batch_sizes, "d": study.dimensions, "lambda": study.penalties}[axis]
            panel.set_xscale("log")
            plain_ticks(panel.xaxis, ticks if len(ticks) < 6 else ticks[::2])
            if row in (len(GIVEN) - 1, len(axes) - 1):
                panel.set_xlabel(AXES[axis])
            letter(panel, tuple(TITLES.values())[number // 2] if row in (0, len(GIVEN)) else "", 4 * row + number)
    estimates_key(axes[0, 0])
    finish(
        figure,
        "Estimates with bias and without",
        f"Rows 1–4: ten clusters of unequal sizes, n = {study.n_source:,} and {study.n_target:,}; k = "
        f"{study.batch_size} and d = {study.d} where they are not the axis, M = {study.horizon}. 1 − cos: between the "
        "gradients of D̂ and of D₀ with respect to a linear map of the features, for one minibatch, and for the sum "
        "over a plan, in which noise averages out and a bias does not. Rows 5–6: features of a two-layer network after "
        f"{study.steps} steps of source cross-entropy + λ D̂ on clusters of equal sizes; bias and D₀ of fresh plans on "
        "them, brought to a spread of 1; spread: mean squared distance from the domain's mean. MMD with median γ, "
        f"CORAL as a mean over entries. {study.repeats} repeats; bands: 95 % bootstrap intervals.",
    )
    return figure


def draw(panel: Any, table: Table, statistic: str) -> None:
    for estimate in ESTIMATES:
        for series in SERIES if estimate != "plug-in, two draws" else DOTTED:
            found = where(table, series=series, estimate=estimate)
            values = column(found, "value") if estimate == "plug-in, two draws" else band(found)
            curve(panel, column(found, "at"), values, series, estimate=estimate)
    if statistic == "relative bias":
        panel.axhline(0, color="#777777", linewidth=0.8)
        panel.set_yscale("symlog", linthresh=LEAST, linscale=0.5)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    elif statistic != "accuracy":
        panel.set_yscale("log")
        if statistic != "relative deviation":  # which has many decades
            log_ticks(panel.yaxis)
