"""Maps of the features: both domains on the two directions in which they vary most, before training and after.

With Z the features of both domains, centred, and Z = U Σ Vᵀ, the place of an example is (z·v₁, z·v₂).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import torch

from orda.discrepancies import MMD
from orda.experiments.report.draw import cloud, colour_class, element, legend, tip
from orda.experiments.report.html import figure
from orda.experiments.report.snapshot import Snapshot
from orda.plots import STYLES
from orda.records import Features, FloatArray, IntArray

SIZE, EDGE = 320.0, 12.0
POINTS = 350  # of a domain that are drawn
CLASSES = 12  # of which the names are written where their examples are


def maps_figure(snapshots: Sequence[Snapshot]) -> str:
    """A map before training, of the first run, and one after it of each."""
    first = snapshots[0]
    panels = [] if first.before is None else [("Before training", _map(first, first.before, "before training"))]
    panels += [(shot.run.row, _map(shot, shot.after, _after(shot))) for shot in snapshots]
    named = "; letters and numbers in the map: where the mean of a class is, in the colour of its domain"
    classes = named if len(first.source.classes) <= CLASSES else ""
    return figure(
        f"Features of up to {POINTS} training examples of a domain, {first.run.task}, repeat {first.run.repeat}, on "
        f"the first two principal components of both domains together; each map has its own axes{classes}. MMD: the "
        "discrepancy of the two clouds in all dimensions, with kernels as wide as the features are apart, so that "
        "the maps can be compared.",
        panels,
        legend([("source", STYLES["source"]), ("target", STYLES["target"])], "mark"),
    )


def principal_plane(features: Features) -> tuple[FloatArray, FloatArray, float]:
    """Both domains on their first two principal components, and the share of the variance that these have."""
    z = torch.cat([features.source, features.target]).double()
    z = z - z.mean(0)
    _, sigma, v = torch.linalg.svd(z, full_matrices=False)
    plane = v[:2] if len(v) > 1 else torch.cat([v, torch.zeros_like(v)])
    largest = plane.gather(1, plane.abs().argmax(1, keepdim=True))
    plane = plane * torch.where(largest < 0, -1.0, 1.0)  # a direction has no sign of its own
    places = (z @ plane.T).numpy()
    total = float(sigma.square().sum())
    share = float(sigma[:2].square().sum()) / total if total > 0 else 1.0
    return places[: len(features.source)], places[len(features.source) :], share


def _map(shot: Snapshot, features: Features, when: str) -> str:
    source, target, share = principal_plane(features)
    every = np.concatenate([source, target])
    middle, reach = (every.max(0) + every.min(0)) / 2, float((every.max(0) - every.min(0)).max()) or 1.0

    def place(points: FloatArray) -> FloatArray:
        scaled = (points - middle) / reach * (SIZE - 2 * EDGE)
        return np.stack([SIZE / 2 + scaled[:, 0], SIZE / 2 - scaled[:, 1]], axis=1)

    drawn = [element("rect", x=0.5, y=0.5, width=SIZE - 1, height=SIZE - 1, cls="grid", rx=4)]
    sides = (("source", source, shot.source.labels), ("target", target, shot.target.labels))
    for name, points, _ in sides:
        some = place(points[:: max(1, -(-len(points) // POINTS))])
        drawn.append(cloud(map(tuple, some.tolist()), STYLES[name]))
    if len(shot.source.classes) <= CLASSES:
        for name, points, labels in sides:
            drawn += _names(name, place(points), labels, shot.source.classes)
    d0 = MMD(gammas="median").resolved(features).reference(features)
    told = f"{when}: MMD {d0:.3g}; {share:.0%} of the variance is in this plane"
    picture = element(
        "svg",
        tip(f"Map of the features {told}.") + "".join(drawn),
        viewBox=f"0 0 {SIZE:.0f} {SIZE:.0f}",
        role="img",
        cls="panel",
    )
    return picture + f'<p class="under">{escape(told[0].upper() + told[1:])}</p>'


def _names(domain: str, places: FloatArray, labels: IntArray, classes: Sequence[str]) -> list[str]:
    """The name of each class at the mean of its examples."""
    found = []
    for number, name in enumerate(classes):
        own = places[labels == number]
        if len(own):
            x, y = own.mean(0).tolist()
            cls = f"class {colour_class(STYLES[domain])}"
            found.append(element("text", escape(name[:10]), x=x, y=y + 4, cls=cls, text_anchor="middle"))
    return found


def _after(shot: Snapshot) -> str:
    accuracy = shot.run.result.target_accuracy
    right = "" if accuracy is None else f", target accuracy {100 * accuracy:.1f} %"
    return f"after step {shot.step:,}{right}"
